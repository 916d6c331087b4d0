"""Many versions of a model on one tree: each has the values of the model on its own graph."""

from __future__ import annotations

import numpy as np
import pytest

from rhoplan._old.exact import Plan
from rhoplan._old.graph import Graph
from rhoplan.advice.sensitivity import flips
from rhoplan.advice.variations import parameters
from rhoplan.agents.agent import decide, make_agent
from rhoplan.errors import RhoplanError
from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
from rhoplan.planning.batch import BatchLookahead, DecisionTree, ParameterBatch


def random_model(seed, *, budget=None, most_tests=None):
    """Two to four states, three tests with groups, waiting and repeats at random, zeros in some likelihoods."""
    draw = np.random.default_rng(seed)
    states = int(draw.integers(2, 5))

    def rows(outcomes):
        made = draw.dirichlet(np.ones(outcomes), size=states)
        if outcomes > 2 and draw.random() < 0.5:
            made[0, 0] = 0.0
        return made / made.sum(axis=1, keepdims=True)

    tests = []
    for number in range(3):
        outcomes = int(draw.integers(2, 4))
        waits = ("test-0",) if number == 2 and draw.random() < 0.5 else ()
        group = "shared" if draw.random() < 0.5 else ""
        tests.append(
            Test(
                f"test-{number}", float(draw.uniform(0.1, 2)), tuple(map(str, range(outcomes))), rows(outcomes),
                repeatable=bool(draw.random() < 0.3), group=group, after=waits,
            )
        )  # fmt: skip
    commits = [Decision(f"commit-{number}", draw.normal(0, 10, states)) for number in range(3)]
    groups = {"shared": float(draw.uniform(0.1, 2))} if any(test.group for test in tests) else {}
    return DiagnosticProblem(
        name=f"random {seed}", states=tuple(f"s{n}" for n in range(states)), tests=tests, decisions=commits,
        prior=draw.dirichlet(np.ones(states)), horizon=3, groups=groups, budget=budget, max_tests=most_tests,
    )  # fmt: skip


RULES = [{}, {"budget": 3.0}, {"most_tests": 2}, {"budget": 2.5, "most_tests": 3}]


def evidence(model, seed):
    """Nothing, or a test that may be run with an outcome that can happen."""
    draw = np.random.default_rng(seed)
    actions = [action for action in model.menu(model.start) if action.kind == "test"]
    if seed % 2 or not actions:
        return []
    action = actions[int(draw.integers(len(actions)))]
    chances = model.prior @ action.likelihood
    return [(action.name, action.outcomes[int(draw.choice(len(chances), p=chances))])]


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("seed", range(4))
def test_versions_have_the_values_of_models_on_their_own(seed, rules):
    model = random_model(seed, **rules)
    agent = make_agent("planning-ig", model, weight=0.7)
    given = evidence(model, seed)
    for prices in (False, True):
        tree = DecisionTree(model, given, agent.horizon, prices_vary=prices)
        changed = []
        for number, parameter in enumerate(parameters(model, agent)):
            is_price = parameter.kind in ("cost", "first-price")
            if parameter.kind != "weight" and (prices or not is_price or model.flat.budget is None):
                share = (0.3, 0.9)[(number + prices) % 2]  # each in one of the two layouts
                at = share if parameter.quantity == "probability" else parameter.value * share + 0.5
                changed.append(parameter.change(at)[0])
        batch = BatchLookahead(tree, ParameterBatch.stacked(changed), weight=agent.weight_per_nat)
        every, _ = batch.first_actions()
        for place, problem in enumerate(changed):
            graph = Graph(problem)
            try:
                node = graph.node(problem.belief(given=given))
            except RhoplanError:  # beyond the budget
                assert batch.mass[place] == 0
                continue
            own = graph.menus[graph.observable[node]].going
            values = Plan(graph, agent.rho).action_values(np.array([node]), agent.horizon)[1][0][: len(own)]
            assert batch.mass[place] > 0
            found = dict(zip(tree.names, every[place] / batch.mass[place], strict=True))
            commits = [found.pop(name) for name in tree.names[: tree.endings]]
            assert {name for name, value in found.items() if np.isfinite(value)} == {action.name for action in own}
            assert [found[action.name] for action in own] == pytest.approx(values.tolist(), abs=1e-9)
            expected = graph.ending_rewards(np.array([node]), int(graph.observable[node]))[0]
            assert commits == pytest.approx(expected.tolist(), abs=1e-9)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("seed", range(2))
def test_flips_are_real_and_what_is_called_nearest_hides_nothing(seed, rules):
    """Against many values in between, planned one by one: beyond rounding no other action is better before a flip."""
    model = random_model(seed + 100, **rules)
    agent = make_agent("planning-ig", model, weight=0.7)
    given = evidence(model, seed)
    every = {parameter.id: parameter for parameter in parameters(model, agent)}
    draw = np.random.default_rng(seed)
    examined = 0
    for flip in flips(model, agent, given, budget=60):
        change = every[flip.id].change

        def first(value, change=change):
            problem, changed = change(value)
            return decide(problem, changed, problem.belief(given=given))

        for side, edge in ((-1, flip.down), (1, flip.up)):
            assert edge.status != "not examined"
            if edge.status == "flips":
                assert first(edge.before).choice == flip.now
                assert first(edge.beyond).choice == edge.then != flip.now
                assert (edge.value - flip.value) * side >= 0
            if not edge.is_nearest or draw.random() < 0.6:
                continue
            end = edge.before if edge.status == "flips" else edge.limit
            for share in draw.uniform(0.0001, 0.9999, 5):
                try:
                    decision = first(flip.value + (end - flip.value) * share)
                except RhoplanError:
                    continue
                examined += 1
                best = max(action.value for action in decision.actions)
                mine = next(action.value for action in decision.actions if action.name == flip.now)
                assert mine >= best - 1e-7 * max(1.0, abs(best)), (flip.id, side, share)
    assert examined > 20
