"""Actions with parts: the compiled problem does to beliefs what enumerating all hidden states together does."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import rhoplan
from parted import HERE, Case, drawn
from rhoplan.agents.agent import make_agent
from rhoplan.belief_math.transitions import paid
from rhoplan.errors import ProblemError
from rhoplan.model.factored import FactoredAction, FactoredProblem, JointPrior, LocalModel, tied
from rhoplan.model.pomdp import END, POMDP, Array, Factor

SURE = np.array([[1.0, 0.0], [0.0, 1.0]])
WEAR = np.array([[0.8, 0.2], [0.0, 1.0]])


def factor(name: str, prior: tuple[float, ...] = (0.5, 0.5)) -> Factor:
    return Factor(name, tuple(f"{name}{number}" for number in range(len(prior))), np.array(prior))


def look(name: str, *about: str) -> FactoredAction:
    return FactoredAction(name, (HERE,), tuple(LocalModel((one,), None, ("0", "1"), SURE) for one in about))


def made(names: str, *actions: FactoredAction, **said: object) -> POMDP:
    return FactoredProblem("p", [factor(name) for name in names], start=HERE, menus={HERE: actions}, **said)


# -- an oracle that knows nothing of blocks -------------------------------------------------------------------------


class Oracle:
    """All hidden states together, one by one, in plain Python."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.names = [one.name for one in case.factors]
        self.sizes = {one.name: len(one.states) for one in case.factors}
        tied_by = {name: table for table in case.joint for name in table.factors}
        self.belief: dict[tuple[int, ...], float] = {}
        for state in product(*(range(size) for size in self.sizes.values())):
            chance = 1.0
            for table in case.joint:
                chance *= float(table.table[self.number(state, table.factors)])
            for place, one in enumerate(case.factors):
                chance *= 1.0 if one.name in tied_by else float(one.prior[state[place]])
            self.belief[state] = chance

    def number(self, state: tuple[int, ...], scope: tuple[str, ...]) -> int:
        found = 0
        for name in scope:
            found = found * self.sizes[name] + state[self.names.index(name)]
        return found

    def with_scope(self, state: tuple[int, ...], scope: tuple[str, ...], number: int) -> tuple[int, ...]:
        after = list(state)
        for name in reversed(scope):
            number, after[self.names.index(name)] = divmod(number, self.sizes[name])
        return tuple(after)

    def changed(self, state: tuple[int, ...], part: LocalModel, outcome: int) -> list[tuple[tuple[int, ...], float]]:
        if part.change is None:
            return [(state, 1.0)]
        table = part.change if part.change.ndim == 2 else part.change[outcome]
        row = table[self.number(state, part.factors)]
        return [(self.with_scope(state, part.factors, k), float(p)) for k, p in enumerate(row) if p > 0]

    def step(self, action: FactoredAction) -> dict[str, tuple[float, float, dict[tuple[int, ...], float]]]:
        """For every outcome: its chance, what it pays then (times the chance), and the belief after it."""
        found = {}
        shown = [part.outcomes or ("",) for part in action.parts]
        for picks in product(*(range(len(names)) for names in shown)):
            told = [names[k] for names, k in zip(shown, picks, strict=True) if names != ("",)]
            after: dict[tuple[int, ...], float] = {}
            total, worth = 0.0, 0.0
            for state, held in self.belief.items():
                chance = held
                for part, pick in zip(action.parts, picks, strict=True):
                    if part.likelihood is not None:
                        chance *= float(part.likelihood[self.number(state, part.factors), pick])
                total += chance
                ways = [(state, chance)]
                for part, pick in zip(action.parts, picks, strict=True):
                    ways = [(t, p * q) for s, p in ways for t, q in self.changed(s, part, pick)]
                for target, share in ways:
                    worth += share * (action.reward + self.pay(action, picks, state, target))
                for part in self.case.passive:
                    ways = [(t, p * q) for s, p in ways for t, q in self.changed(s, part, 0)]
                for target, share in ways:
                    after[target] = after.get(target, 0.0) + share
            if total > 0:
                found[", ".join(told) or "done"] = (total, worth, {s: p / total for s, p in after.items()})
        return found

    def pay(
        self, action: FactoredAction, picks: tuple[int, ...], before: tuple[int, ...], after: tuple[int, ...]
    ) -> float:
        total = 0.0
        for part, pick in zip(action.parts, picks, strict=True):
            if part.reward is not None:
                here, there = self.number(before, part.factors), self.number(after, part.factors)
                if part.reward.ndim == 1:
                    total += float(part.reward[here])
                else:
                    total += float(part.reward[here, pick] if part.reward.ndim == 2 else part.reward[pick, here, there])
        return total

    def shares(self) -> dict[str, list[float]]:
        found = {name: [0.0] * size for name, size in self.sizes.items()}
        for state, chance in self.belief.items():
            for name, value in zip(self.names, state, strict=True):
                found[name][value] += chance
        return found


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9))
def test_beliefs_outcomes_and_rewards_are_those_of_the_joint_enumeration(seed: int) -> None:
    case = drawn(seed)
    problem, oracle = case.problem(), Oracle(case)
    situation, rng = problem.belief(), np.random.default_rng(seed)
    for _ in range(3):
        action = case.actions[rng.integers(len(case.actions))]
        compiled = next(one for one in problem.menu(HERE) if one.name == action.name)
        expected = oracle.step(action)
        branches = {one.observation: one for one in situation.branches(compiled)}
        for outcome, (chance, _, _) in expected.items():
            assert (branches[outcome].probability if outcome in branches else 0.0) == pytest.approx(chance, abs=1e-12)
        reward = float(situation.beliefs[compiled.factor] @ compiled.reward)
        assert reward == pytest.approx(sum(worth for _, worth, _ in expected.values()), abs=1e-12)
        outcome = max(expected, key=lambda one: expected[one][0])
        paid_then = payment(problem, situation.beliefs[compiled.factor], compiled, outcome)
        assert paid_then == pytest.approx(expected[outcome][1], abs=1e-12)
        situation, oracle.belief = branches[outcome].belief, expected[outcome][2]
        for name, shares in situation.diagnoses().items():
            assert list(shares.values()) == pytest.approx(oracle.shares()[name], abs=1e-12)


def payment(problem: POMDP, belief: Array, action: rhoplan.Action, outcome: str) -> float:
    """What is paid where `outcome` comes, times its chance, from the compiled record alone."""
    number = action.outcomes.index(outcome)
    masses = belief * action.likelihood[:, number]
    if action.pays is None:
        return float(masses @ action.reward)
    if action.pays.ndim == 2:
        return float(masses @ np.asarray(action.pays)[:, number])
    change = np.asarray(action.transition)
    change = change if change.ndim == 2 else change[number]
    before, after = np.nonzero(change)
    return float(
        masses[before] * change[before, after] @ paid(action.pays, np.full(len(before), number), before, after)
    )


# -- which factors belong together ----------------------------------------------------------------------------------


def test_factors_that_nothing_ties_stay_small() -> None:
    problem = made("abc", look("look-a", "a"), look("look-b", "b"), FactoredAction("walk", (HERE,), (), -1.0))
    assert [one.name for one in problem.factors] == ["a", "b", "c"]
    assert [action.factor for action in problem.menu(HERE)] == [0, 1, 0]


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        ((look("both", "a", "c"),), {}),
        ((FactoredAction("both", (HERE,), (LocalModel(("c", "a"), np.zeros(4)),)),), {}),
        ((look("look-b", "b"),), {"joint": [JointPrior(("c", "a"), np.array([0.4, 0.1, 0.1, 0.4]))]}),
        ((look("look-a", "a"),), {"passive": [LocalModel(("c",), change=WEAR)]}),
    ],
    ids=["one action", "one part", "a joint prior", "a passive change during an action"],
)
def test_factors_are_joined_by(actions: tuple[FactoredAction, ...], said: dict[str, object]) -> None:
    problem = made("abc", *actions, **said)
    assert sorted(one.name for one in problem.factors) == ["a, c", "b"]
    assert problem.factors[0].states == ("a0, c0", "a0, c1", "a1, c0", "a1, c1")
    assert [one.name for one in problem.factors[0].joins] == ["a", "c"]


def test_a_passive_change_does_not_tie_what_ends() -> None:
    ends = FactoredAction("stop", (END,), (LocalModel(("a",), np.array([1.0, 0.0])),))
    problem = made("ab", ends, passive=[LocalModel(("b",), change=WEAR)])
    assert [one.name for one in problem.factors] == ["a", "b"]
    assert problem.menu(HERE)[0].transition is None


def test_ties_reach_through_others() -> None:
    assert tied("abcde", [("a", "c"), ("d",), ("e", "c")]) == [("a", "c", "e"), ("b",), ("d",)]


def test_outcomes_combine_and_silent_parts_add_nothing() -> None:
    parts = (
        LocalModel(("a",), None, ("fine", "bad"), SURE),
        LocalModel(("b",), np.array([1.0, 2.0])),
        LocalModel(("c",), None, ("calm", "loud"), SURE),
    )
    action = made("abc", FactoredAction("all", (HERE,), parts)).menu(HERE)[0]
    assert action.outcomes == ("fine, calm", "fine, loud", "bad, calm", "bad, loud")
    assert action.reward.tolist() == [1, 1, 2, 2, 1, 1, 2, 2]


def test_decisions_show_factors_not_blocks() -> None:
    joint = [JointPrior(("a", "b"), np.array([0.4, 0.1, 0.2, 0.3]))]
    stop = FactoredAction("stop", (END,), (LocalModel(("b",), np.array([1.0, 0.0])),))
    problem = made("ab", look("look", "a"), stop, joint=joint)
    decision = rhoplan.decide(problem, make_agent("planning", problem))
    assert decision.beliefs["a"] == pytest.approx({"a0": 0.5, "a1": 0.5})
    assert decision.beliefs["b"] == pytest.approx({"b0": 0.6, "b1": 0.4})


def test_large_changes_are_sparse_and_the_same() -> None:
    names = "abcdefgh"
    wear = [LocalModel((one,), change=WEAR) for one in names]
    problem = made(names, FactoredAction("wait", (HERE,), ()), passive=wear)
    change = problem.menu(HERE)[0].transition
    assert isinstance(change, csr_array)
    after = problem.belief().branches(problem.menu(HERE)[0])[0].belief
    for shares in after.diagnoses().values():
        assert list(shares.values()) == pytest.approx([0.4, 0.6], abs=1e-12)


# -- faults -----------------------------------------------------------------------------------------------------------

FLAT = np.full((2, 2), 0.5)


def going(*parts: LocalModel) -> FactoredAction:
    return FactoredAction("go", (HERE,), parts)


@pytest.mark.parametrize(
    ("message", "action", "said"),
    [
        ("'x' is not one of a, b", look("look", "x"), {}),
        ("every factor once; 'a' stands there twice", going(LocalModel(("a", "a"))), {}),
        ("both outcomes and likelihood or neither", going(LocalModel(("a",), None, ("x",))), {}),
        ("likelihood of 'go' on a must have the shape",
         going(LocalModel(("a",), None, ("x",), FLAT)), {}),
        ("sums to 0.9", going(LocalModel(("a",), None, ("x", "y"), FLAT * 0.9)), {}),
        ("some are below 0", going(LocalModel(("a",), change=np.array([[2.0, -1], [0, 1]]))), {}),
        ("change of 'go' on a must have the shape", going(LocalModel(("a",), change=np.eye(3))), {}),
        ("reward of 'go' on a must have", going(LocalModel(("a",), np.zeros(3))), {}),
        (
            "changes of 'go' must have every factor once",
            going(LocalModel(("a",), change=FLAT), LocalModel(("a", "b"), change=np.eye(4))), {},
        ),
        ("may pay by the state after it only", going(LocalModel(("a",), np.zeros((1, 2, 2)))), {}),
        ("must lead to one observable state", FactoredAction("go", (HERE, HERE)), {}),
        ("joint priors must have every factor once", look("look", "a"),
         {"joint": [JointPrior(("a", "b"), np.full(4, 0.25)), JointPrior(("b",), np.full(2, 0.5))]}),
        ("joint prior of a, b must have the shape", look("look", "a"),
         {"joint": [JointPrior(("a", "b"), np.full(3, 1 / 3))]}),
        ("joint prior of a, b must have rows that sum to 1", look("look", "a"),
         {"joint": [JointPrior(("a", "b"), np.full(4, 0.2))]}),
        ("a passive change must pay and show nothing", look("look", "a"),
         {"passive": [LocalModel(("b",), np.zeros(2), change=WEAR)]}),
    ],
)  # fmt: skip
def test_faults_are_named(message: str, action: FactoredAction, said: dict[str, object]) -> None:
    with pytest.raises(ProblemError, match=message.replace("(", r"\(")) as caught:
        made("ab", action, **said)
    assert caught.value.field


def test_too_many_combinations_are_refused() -> None:
    names = [f"f{number}" for number in range(15)]
    factors = [factor(name) for name in names]
    with pytest.raises(ProblemError, match="32,768 combinations"):
        FactoredProblem("p", factors, start=HERE, menus={HERE: [look("all", *names)]})
    assert len(FactoredProblem("p", factors, start=HERE, menus={HERE: [look("one", "f0")]}).factors) == 15
