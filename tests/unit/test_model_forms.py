"""Models written with lists and mappings are those written with tuples and arrays; what is malformed is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import rhoplan as rp

ROWS = [[0.7, 0.3], [0.2, 0.8], [0.4, 0.6]]


def ward(**changes: Any) -> rp.POMDP:
    """Three hidden states, two of them subtypes; a test that is available in a panel only; groups and caps."""
    tests: Any = [
        rp.Test("crp", cost=7, outcomes=["low", "high"], likelihood=ROWS, repeatable=False, group="blood"),  # type: ignore[arg-type]
        rp.Test("ecg", cost=3, outcomes=["no", "yes"], likelihood=ROWS, repeatable=True, after="crp"),  # type: ignore[arg-type]
        rp.Test("kit", cost=0, outcomes=["no", "yes"], likelihood=ROWS, repeatable=False, only_in_panels=True),  # type: ignore[arg-type]
    ]
    given: dict[str, Any] = {
        "prior": {"well": 0.8, "ill": 0.2},
        "tests": tests,
        "decisions": {"treat": [-10, 0, 0], "wait": [0, -40, -40]},
        "panels": [rp.Panel("both", cost=8, tests=["crp", "kit"], group="blood")],  # type: ignore[arg-type]
        "groups": {"blood": 2},
        "partition": {"ill": ["a", "b"]},
        **changes,
    }
    return rp.DiagnosticProblem(["well", "ill"], **given)


def test_a_diagnostic_problem_takes_lists_and_mappings() -> None:
    problem = ward(max_tests=3, budget=20, unit="EUR", horizon=2)
    assert (problem.name, problem.unit, problem.horizon) == ("problem", "EUR", 2)
    assert problem.states == ("well", "ill (a)", "ill (b)")
    assert problem.prior.tolist() == pytest.approx([0.8, 0.1, 0.1])
    assert problem.actions == ("crp", "ecg", "both", "treat", "wait")
    assert problem.belief().actions == ("crp", "both", "treat", "wait")
    after = problem.belief(given=[("both", "crp high and kit yes")])
    assert after.actions == ("ecg", "treat", "wait")
    chances = np.array([0.8, 0.1, 0.1]) * np.array(ROWS)[:, 1] ** 2
    assert after.to_array() == pytest.approx(chances / chances.sum())
    prices = {action.name: float(action.reward[0]) for action in problem.menu(problem.start)[:2]}
    assert prices == {"crp": -9, "both": -10}


def test_the_order_of_arguments_is_states_prior_tests_decisions() -> None:
    listen = rp.Test("listen", 1, ["left", "right"], [[0.85, 0.15], [0.15, 0.85]])  # type: ignore[arg-type]
    tiger = rp.DiagnosticProblem(["left", "right"], [0.5, 0.5], [listen], {"go": [10, -100], "back": [-100, 10]})
    assert rp.evaluate(tiger, "efe").reward == pytest.approx(rp.evaluate("tiger", "efe").reward)


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"prior": {"well": 0.8, "sick": 0.2}}, "unknown-state", ("prior", "sick")),
        ({"prior": {"well": 0.8}}, "prior-sum", ("prior",)),
        ({"prior": ["much", "little", "none"]}, "number-expected", ("prior",)),
        ({"prior": [[0.5], [0.5, 0.5]]}, "number-expected", ("prior",)),
        ({"decisions": {"go": [1, 2]}}, "reward-shape", ("commits", "go")),
        ({"decisions": {"go": ["good", 1, 2]}}, "number-expected", ("commits", "go")),
        ({"panels": [rp.Panel("both", 8, ("crp", "x-ray"))]}, "unknown-test", ("panels", "both", "tests")),
        ({"panels": [rp.Panel("both", 8, ("crp",))]}, "panel-size", ("panels", "both")),
        ({"panels": [rp.Panel("ecg", 8, ("crp", "kit"))]}, "duplicate-name", ("tests",)),
        ({"panels": [rp.Panel("both", -8, ("crp", "kit"))]}, "negative-number", ("tests", "both", "cost")),
        ({"partition": {"ill": []}}, "subtype-name", ("subtypes", "ill")),
    ],
)
def test_what_is_malformed_has_its_code_and_field(changes: dict[str, Any], code: str, field: tuple[str, ...]) -> None:
    with pytest.raises(rp.ProblemError) as caught:
        ward(**changes)
    assert (caught.value.code, caught.value.field) == (code, field)


def test_tests_of_a_panel_need_a_row_per_state() -> None:
    flat: Any = rp.Test("flat", 1, ["a", "b"], [0.5, 0.5])  # type: ignore[arg-type]
    with pytest.raises(rp.ProblemError) as caught:
        ward(tests=[flat, flat], panels=[rp.Panel("both", 8, ("flat", "flat"))])
    assert caught.value.code == "likelihood-shape"


def both_forms(of: Callable[[Any], Any]) -> list[rp.POMDP]:
    """A problem made with lists, and with arrays. of: how arrays are passed."""
    look = rp.LocalModel(of(("pump",)), None, of(("fine", "bad")), of(np.array([[0.9, 0.1], [0.2, 0.8]])))
    wear = rp.LocalModel(of(("pump",)), change=of(np.array([[0.8, 0.2], [0.0, 1.0]])))
    factors = [rp.Factor(name, of(("ok", "worn")), of(np.array([0.5, 0.5]))) for name in ("pump", "seal")]
    joint = rp.JointPrior(of(("pump", "seal")), of(np.array([0.4, 0.1, 0.2, 0.3])))
    stop = rp.FactoredAction("stop", of((rp.END,)), of((rp.LocalModel(of(("seal",)), of(np.array([5.0, -5.0]))),)))
    menu = {"here": [rp.FactoredAction("look", of(("here",)), of((look,)), -1), stop]}
    made = rp.FactoredProblem("plant", factors, start="here", menus=menu, joint=[joint], passive=[wear])
    action = rp.Action(
        "act", of(np.zeros(2)), of(np.full((2, 2), 0.5)), of(("a", "b")), of(("here", rp.END)),
        transition=of(np.array([[0.5, 0.5], [0.0, 1.0]])), pays=of(np.array([[1.0, -1.0], [2.0, -2.0]])),
    )  # fmt: skip
    plain = rp.POMDP("plain", of((factors[0],)), "here", lambda _: (action,))
    rp.check_problem(plain)
    return [made, plain]


def listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else list(value)


def test_factors_actions_and_local_models_take_lists() -> None:
    for one, other in zip(both_forms(listed), both_forms(lambda value: value), strict=True):
        assert one.prior.tolist() == other.prior.tolist()
        for mine, its in zip(one.menu("here"), other.menu("here"), strict=True):
            for name in ("name", "outcomes", "leads_to"):
                assert getattr(mine, name) == getattr(its, name)
            for name in ("reward", "likelihood", "transition", "pays"):
                np.testing.assert_array_equal(getattr(mine, name), getattr(its, name))


def test_a_sparse_transition_stays_sparse() -> None:
    action = rp.Action("act", np.zeros(2), np.ones((2, 1)), ("o",), ("here",), transition=csr_array(np.eye(2)))
    assert isinstance(action.transition, csr_array)
