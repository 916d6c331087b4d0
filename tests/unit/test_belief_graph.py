"""The belief graph: equal beliefs are one node, its arrays are consistent, ties go to the first, limits hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rhoplan
from bridge import BoundAgent, make_agent
from rhoplan.belief_math.information import FLOOR, update
from rhoplan.budget import Budget, Progress
from rhoplan.graph import row_index
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.graph.belief_set import BeliefSet, rounded
from rhoplan.graph.row_index import RowIndex
from rhoplan.graph.ties import first_best
from rhoplan.model.pomdp import END, POMDP, Action, Factor, FixedMenu
from rhoplan.planning.lookahead import LookaheadOnGraph

SPECS = ("tiger", "diagnosis", "chest-pain", "drilling", "navigation", "rocksample:n=5,k=3", "inspection:n=3")


def grown_graph(spec: str, depth: int = 3) -> BeliefGraph:
    graph = BeliefGraph(rhoplan.make(spec))
    layer = np.array([graph.root])
    for _ in range(depth):
        graph.expand(layer)
        layer = graph.children(layer)
    return graph


def expanded(graph: BeliefGraph) -> np.ndarray:
    """Nodes of the graph, all of which have arcs now."""
    nodes = np.arange(graph.size)
    graph.expand(nodes)
    return nodes


# -- rows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [0, 1, 3, 64])
@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=60), max_size=8))
def test_rows_have_one_id_however_poor_the_keys(bits: int, batches: list[list[tuple[int, int]]]) -> None:
    kept = np.empty((0, 2), dtype=np.uint64)
    mask, row_keys = np.uint64(2**bits - 1), row_index.row_keys
    index = RowIndex(lambda ids: kept[ids])
    known: dict[tuple[int, int], int] = {}
    for batch in batches:
        rows = np.array(batch, dtype=np.uint64)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(row_index, "row_keys", lambda rows: row_keys(rows) & mask)
            ids, fresh = index.identify(rows)
        kept = np.concatenate([kept, rows[fresh]])
        # A dictionary gives ids in order of first appearance, too.
        assert ids.tolist() == [known.setdefault(row, len(known)) for row in batch]
    assert index.size == len(known) == len(kept)


def test_beliefs_are_equal_up_to_rounding_errors_only() -> None:
    known, belief = BeliefSet(2), np.array([[0.3, 0.7]])

    ids = known.intern(np.concatenate([belief, belief * (1 + 1e-15), belief * (1 + 1e-10), belief[:, ::-1]]))

    assert ids.tolist() == [0, 0, 1, 2]
    assert (known.beliefs[0] == belief[0]).all()
    assert known.entropy[0] == pytest.approx(-0.3 * np.log(0.3) - 0.7 * np.log(0.7))


def test_dyadic_beliefs_are_different() -> None:
    """Uniform beliefs over subsets differ in few bits of their floats only."""
    subsets = np.random.default_rng(1).integers(0, 2, (4000, 64)).astype(float)
    subsets[:, 0] = 1
    beliefs = subsets / 2.0 ** np.ceil(np.log2(subsets.sum(axis=1)))[:, None]

    assert BeliefSet(64).intern(beliefs).max() + 1 == len(np.unique(rounded(beliefs), axis=0))


def test_symmetric_beliefs_share_a_node() -> None:
    problem = rhoplan.make("tiger")
    plain, folded = BeliefGraph(problem), BeliefGraph(problem, canonical=lambda beliefs: np.sort(beliefs, axis=1))
    for graph in (plain, folded):
        layer = np.array([graph.root])
        for _ in range(4):
            graph.expand(layer)
            layer = graph.children(layer)
    agent = make_agent("efe", problem)
    values = [LookaheadOnGraph(graph, agent.objective, 4).value(np.array([graph.root])) for graph in (plain, folded)]

    assert (plain.size, folded.size) == (9, 5)
    assert values[0] == pytest.approx(values[1], rel=1e-12)


# -- arcs and branches --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", SPECS)
def test_arcs_are_ranges_that_cover_menus_and_outcomes(spec: str) -> None:
    graph = grown_graph(spec)
    nodes = expanded(graph)
    arcs = graph.arcs(nodes, every_terminal=True)

    assert (arcs.start == np.searchsorted(arcs.owner, nodes)).all()
    branches = graph.branches(arcs)
    assert len(np.unique(branches)) == len(branches)
    for node in np.random.default_rng(0).choice(nodes, 20).tolist():
        mine = np.flatnonzero(arcs.node == node)
        menu = graph.problem.menu(graph.situation(node).observable)
        names = [graph.action(node, place).name for place in arcs.place[mine].tolist()]
        wanted = sorted(menu, key=lambda action: not action.ends_episode)
        assert names == [action.name for action in wanted]
        assert arcs.width[mine].tolist() == [0 if a.ends_episode else len(a.outcomes) for a in wanted]


@pytest.mark.parametrize("spec", SPECS)
def test_branches_are_what_bayes_and_the_menu_say(spec: str) -> None:
    graph = grown_graph(spec)
    arcs = graph.arcs(expanded(graph), every_terminal=True)
    for arc in np.random.default_rng(0).choice(len(arcs.node), 40).tolist():
        node = int(arcs.node[arc])
        situation, action = graph.situation(node), graph.action(node, int(arcs.place[arc]))
        belief = situation.beliefs[action.factor]
        assert arcs.reward[arc] == pytest.approx(belief @ action.reward)
        assert arcs.absolute[arc] == pytest.approx(belief @ np.abs(action.reward))
        if action.ends_episode:
            continue
        branches = np.arange(arcs.branch[arc], arcs.branch[arc] + arcs.width[arc])
        assert graph.probability[branches].sum() == pytest.approx(1)
        chances, posteriors = update(belief[None], action)
        assert graph.probability[branches] == pytest.approx(chances[0])
        for outcome, child in enumerate(graph.child[branches].tolist()):
            if chances[0, outcome] == 0 or action.leads_to[outcome] is END:
                assert child == -1
                continue
            after = graph.situation(child)
            assert after.observable == action.leads_to[outcome]
            assert after.beliefs[action.factor] == pytest.approx(posteriors[0, outcome], rel=1e-10)
            others = [f for f in range(len(after.beliefs)) if f != action.factor]
            assert all((after.beliefs[f] == situation.beliefs[f]).all() for f in others)


def test_information_adds_up_along_two_tests() -> None:
    """Two tests in a row tell what both tell together: H(b) - E H(b'') is the sum along the way."""
    graph = grown_graph("diagnosis", 2)
    arcs = graph.arcs(expanded(graph))
    told = {(n, p): i for n, p, i in zip(arcs.node.tolist(), arcs.place.tolist(), arcs.information, strict=True)}
    branch = {(n, p): b for n, p, b in zip(arcs.node.tolist(), arcs.place.tolist(), arcs.branch, strict=True)}
    tests = sorted({place for place, width in zip(arcs.place.tolist(), arcs.width, strict=True) if width})
    for one in tests:
        for two in tests:
            ends, total = 0.0, told[graph.root, one]
            for k in range(2):
                chance, child = (a[branch[graph.root, one] + k] for a in (graph.probability, graph.child))
                total += chance * told[child, two]
                for j in range(2):
                    last, leaf = (a[branch[child, two] + j] for a in (graph.probability, graph.child))
                    ends += chance * last * graph.entropy(np.array([leaf]))[0]
            assert total == pytest.approx(graph.entropy(np.array([graph.root]))[0] - ends, abs=1e-12)


def test_an_arc_that_is_added_alone_is_the_one_of_a_whole_expansion() -> None:
    problem = rhoplan.make("rocksample:n=5,k=3")
    whole, single = BeliefGraph(problem), BeliefGraph(problem)
    whole.expand(np.array([whole.root]))
    wanted = whole.arcs(np.array([whole.root]))
    for arc in reversed(range(len(wanted.node))):
        found = single.taken(np.array([single.root]), wanted.place[arc : arc + 1])
        assert (found.reward[0], found.information[0]) == (wanted.reward[arc], wanted.information[arc])
        mine = [
            [(p, -1 if c < 0 else graph.situation(c).observable) for p, c in zip(*pair, strict=True)]
            for graph, pair in (
                (whole, [a[wanted.branch[arc] :][: wanted.width[arc]] for a in (whole.probability, whole.child)]),
                (single, [a[found.branch[0] :][: found.width[0]] for a in (single.probability, single.child)]),
            )
        ]
        assert mine[0] == mine[1]
    assert single.size == whole.size


# -- limits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [{"nodes": 50}, {"memory": 30_000}, {"seconds": 0.0}])
def test_limits_are_errors_that_name_the_limit(limit: dict[str, float]) -> None:
    problem = rhoplan.make("diagnosis:n=16")
    graph = BeliefGraph(problem, budget=Budget(**limit))
    (name,) = limit

    with pytest.raises(rhoplan.LimitError) as caught:
        LookaheadOnGraph(graph, make_agent("efe", problem).objective, 8).value(np.array([graph.root]))
    assert caught.value.field == (name,)


def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    now, seen = iter(range(1000)), list[Progress]()
    monkeypatch.setattr("time.monotonic", lambda: float(next(now)))
    budget = Budget(progress=seen.append)

    for nodes in range(4):
        budget.check(nodes, 100)

    assert [(one.nodes, one.memory, one.seconds) for one in seen] == [(n, 100, n + 1.0) for n in range(4)]


# -- beliefs that nearly vanish -----------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(st.floats(0.51, 1 - 1e-9), st.floats(1e-12, 0.5))
def test_two_thousand_observations_rule_no_possible_state_out(right: float, prior: float) -> None:
    action = Action("look", np.zeros(3), np.array([[right, 1 - right], [1 - right, right], [0.5, 0.5]]), ("a", "b"),
                    ("there", "there"))  # fmt: skip
    belief = np.array([1 - prior, prior, 0.0])
    for _ in range(2000):
        belief = update(belief[None], action)[1][0, 0]
        assert (belief[:2] >= FLOOR).all()
        assert belief[2] == 0
    assert belief.sum() == pytest.approx(1)
    for _ in range(2000):
        belief = update(belief[None], action)[1][0, 1]
    assert belief[1] > 0.5 if right > 0.9 else belief[0] < 1


def test_a_state_kept_by_the_floor_survives_a_change_of_state() -> None:
    swap = np.array([[1 - 1e-200, 1e-200], [1e-200, 1 - 1e-200]])
    action = Action("wait", np.zeros(2), np.ones((2, 1)), ("-",), ("there",), transition=swap)

    after = update(np.array([[1.0, 0.0], [1.0, 1e-300]]), action)[1][:, 0]

    assert (after > 0).all()
    assert after[:, 0] == pytest.approx(1)


# -- ties ---------------------------------------------------------------------------------------------------------


def winners(values: list[list[float]], absolute: list[list[float]]) -> list[int]:
    start = np.cumsum([0, *map(len, values[:-1])])
    return (first_best(np.concatenate(values), np.concatenate(absolute), start) - start).tolist()


def test_best_wins_and_ties_go_to_the_first() -> None:
    values = [[1.0, 1.0 + 1e-14, 0.5], [0.0, 1.0, 1.0 - 1e-14], [-np.inf, -np.inf], [-np.inf, 1.0, 2.0]]

    assert winners(values, [[abs(v) if np.isfinite(v) else 0.0 for v in row] for row in values]) == [0, 1, 0, 2]


def test_ties_are_measured_by_the_larger_absolute_return_of_the_two() -> None:
    assert winners([[0.0, 3e-13]], [[0.0, 0.0]]) == [1]
    assert winners([[0.0, 3e-13]], [[0.0, 10.0]]) == [0]
    assert winners([[1.0, 1.5, -9.0]], [[1.0, 1.5, 1e13]]) == [1]
    assert winners([[1.0, 1.5, -9.0]], [[1e13, 1.5, 9.0]]) == [0]
    assert winners([[1.0, 1.5, -9.0]], [[1.0, 1e13, 9.0]]) == [0]


def choice(problem: rhoplan.POMDP, agent: BoundAgent, horizon: int = 1) -> str:
    graph = BeliefGraph(problem)
    place = LookaheadOnGraph(graph, agent.objective, horizon).places(np.array([graph.root]))
    return graph.action(graph.root, int(place[0])).name


def diagnostic(prior: list[float], test: tuple[float, np.ndarray], **commits: list[float]) -> rhoplan.POMDP:
    outcomes = tuple(f"o{k}" for k in range(test[1].shape[1]))
    return rhoplan.DiagnosticProblem(
        name="case",
        states=tuple(f"s{k}" for k in range(len(prior))),
        prior=np.array(prior),
        tests=(rhoplan.Test("test", test[0], outcomes, test[1], repeatable=False),),
        decisions=tuple(rhoplan.Decision(name, np.array(rewards)) for name, rewards in commits.items()),
    )


@pytest.mark.parametrize("weight", [0.0, 1.0, 50.0])
def test_a_free_useless_test_loses_against_a_terminal_action(weight: float) -> None:
    problem = diagnostic([0.3, 0.7], (0.0, np.full((2, 2), 0.5)), A=[1, 1], B=[1, 1])

    assert choice(problem, make_agent("planning-ig", problem, weight=weight), 3) == "A"


def test_twin_tests_tie_and_the_first_one_runs() -> None:
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])
    problem = rhoplan.DiagnosticProblem(
        name="twins",
        states=("a", "b"),
        tests=tuple(rhoplan.Test(f"t{k}", 0.1, ("n", "p"), rows) for k in range(3)),
        decisions=(rhoplan.Decision("A", np.array([5.0, -5.0])), rhoplan.Decision("B", np.array([-5.0, 5.0]))),
    )

    assert choice(problem, make_agent("efe", problem), 3) == "t0"


def test_terminal_actions_about_several_factors_are_compared() -> None:
    """The best terminal action may concern any factor; its reward is that of the factor's belief."""
    one = np.ones((2, 1))
    factors = (Factor("x", ("0", "1"), np.array([0.5, 0.5])), Factor("y", ("0", "1"), np.array([0.1, 0.9])))
    menu = FixedMenu((
        Action("look", np.zeros(2), np.eye(2), ("0", "1"), ("here", "here"), factor=1),
        Action("say-x", np.array([0.0, 1.0]), one, ("-",), (END,), factor=0),
        Action("say-y", np.array([0.0, 1.0]), one, ("-",), (END,), factor=1),
    ))  # fmt: skip
    graph = BeliefGraph(POMDP("two", factors, "here", menu))
    graph.expand(np.array([graph.root]))
    nodes = np.arange(graph.size)

    assert [graph.action(node, graph.stop_place[node]).name for node in nodes] == ["say-y", "say-x", "say-y"]
    assert graph.stop_reward[nodes] == pytest.approx([0.9, 0.5, 1.0])
