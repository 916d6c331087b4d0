"""Problems that look first: where one begins is drawn and seen at once, so that what follows is not discounted."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import rhoplan
from rhoplan.agents.agent import make_agent
from rhoplan.api import evaluate, simulate
from rhoplan.belief_math.information import information
from rhoplan.errors import AgentError, ProblemError
from rhoplan.evaluation.plan_score import score_solved
from rhoplan.io.pomdp import parse_pomdp
from rhoplan.io.pomdp_writer import write_pomdp
from rhoplan.io.pomdpx import parse_pomdpx
from rhoplan.io.writer import write_model
from rhoplan.model.horizon import horizon_of, with_horizon
from rhoplan.model.pomdp import Menu, Observable
from rhoplan.model.validate import check_problem
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.routing.full_information import full_information_bound
from rhoplan.present.policy_plot import plot_policy
from test_pomdpx_files import table, whole

HALL, GIVEN = 0.3, {"hall": (0.2, 0.8), "attic": (0.6, 0.4)}
"""The chance to begin in the hall, and that of each lamp in each room."""


def lamp_where(room: str) -> str:
    return table("lamp_0", "null", ("-", " ".join(map(str, GIVEN[room]))))


@pytest.fixture(scope="module")
def drawn() -> rhoplan.POMDP:
    rooms = table("room_0", "null", ("-", f"{HALL} {1 - HALL} 0"))
    lamps = table(
        "lamp_0", "room_0", ("* -", "uniform"), *((f"{room} -", " ".join(map(str, row))) for room, row in GIVEN.items())
    )
    return parse_pomdpx(whole(start=rooms + lamps), file="lamp.pomdpx")


@pytest.fixture(scope="module")
def apart() -> list[tuple[float, rhoplan.POMDP]]:
    """The problems that begin in the one room and in the other, with their chances."""
    told = {"hall": (HALL, "1 0 0"), "attic": (1 - HALL, "0 1 0")}
    return [
        (chance, parse_pomdpx(whole(start=table("room_0", "null", ("-", row)) + lamp_where(room))))
        for room, (chance, row) in told.items()
    ]


def learned(problem: rhoplan.POMDP) -> float:
    """What the first look tells, in nats."""
    (look,) = problem.menu(problem.start)
    return float(information(problem.prior[None, :], look)[0])


def test_a_first_value_that_is_drawn_is_seen_by_a_look_that_takes_no_time(drawn):
    (look,) = drawn.menu(drawn.start)

    assert drawn.looks_first
    assert drawn.start == "first look"
    assert "the first value of room_1 is drawn" in drawn.note
    assert (look.outcomes, look.leads_to) == (("hall", "attic"), ("hall", "attic"))
    assert drawn.prior == pytest.approx(HALL * np.array(GIVEN["hall"]) + (1 - HALL) * np.array(GIVEN["attic"]))
    assert drawn.belief().update("look", "hall").beliefs[0] == pytest.approx(GIVEN["hall"])
    assert [drawn.time_taken(steps) for steps in range(4)] == [0, 0, 1, 2]


@pytest.mark.parametrize("weight", [0.0, 1.5])
@pytest.mark.parametrize("discount", [0.9, 0.5])
def test_it_is_worth_the_mean_of_what_it_can_begin_with(drawn, apart, weight, discount):
    told = []
    found = solve(drawn, weight=weight, discount=discount, gap=1e-4, check=True, progress=lambda *at: told.append(at))

    parts = [(chance, solve(one, weight=weight, discount=discount, gap=1e-6)) for chance, one in apart]
    lower, upper = (
        sum(chance * bound(one) for chance, one in parts) for bound in (lambda s: s.lower, lambda s: s.upper)
    )
    more = weight * learned(drawn)
    assert lower + more - 1e-4 <= found.lower <= upper + more
    assert found.own == found.lower
    assert lower + more <= found.upper <= upper + more + 1e-4
    assert (found.gap, found.stopped_by, found.first) == (1e-4, "gap", "look")
    assert found.certificate.holds
    assert told[-1][0] == pytest.approx(found.lower, abs=1e-3)


def test_its_policy_says_what_the_look_is_worth(drawn):
    found = solve(drawn, weight=1.0, gap=1e-4)
    start = drawn.belief()
    hall = start.update("look", "hall")

    low, high = found.policy.value(start)
    assert found.lower - 1e-6 <= low <= high <= found.upper + 1e-3
    (bounds,) = found.policy.actions(start).values()
    assert bounds[0] <= found.upper
    assert bounds[1] >= found.lower
    rooms = [found.policy.value(start.update("look", room)) for room in ("hall", "attic")]
    later = [HALL * one + (1 - HALL) * other for one, other in zip(*rooms, strict=True)]
    assert bounds == pytest.approx([learned(drawn) + value for value in later], abs=1e-3)
    assert found.policy.action(hall) in ("look", "move", "leave")


@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_a_plan_does_not_discount_what_follows_it(drawn, apart, weight):
    (shown,) = rhoplan.decide(drawn, make_agent("planning-ig", drawn, weight=weight, horizon=3)).actions

    agents = [make_agent("planning-ig", one, weight=weight, horizon=2) for _, one in apart]
    best = [
        max(act.value for act in rhoplan.decide(p, agent).actions) for (_, p), agent in zip(apart, agents, strict=True)
    ]
    later = sum(chance * value for (chance, _), value in zip(apart, best, strict=True))
    assert (shown.name, shown.reward) == ("look", 0.0)
    assert shown.continuation == pytest.approx(later)
    assert shown.value == pytest.approx(weight * learned(drawn) + later)


@pytest.mark.parametrize("planner", ["mcts", "pomcp"])
def test_tree_searches_do_not_discount_what_follows_it(drawn, planner):
    """The same search where a look takes a step finds the same, but for the discount: same tree, same seed."""
    slow = replace(drawn, looks_first=False)
    (seen,), (late,) = (
        rhoplan.decide(one, make_agent("planning-ig", one, planner=planner, weight=1.0, simulations=300)).actions
        for one in (drawn, slow)
    )

    assert seen.continuation == pytest.approx(late.continuation / drawn.discount)
    assert seen.value == pytest.approx(seen.weighted_information + seen.continuation)


def test_scores_do_not_discount_what_follows_it(drawn, apart):
    agent = make_agent("planning", drawn, horizon=3)

    score = evaluate(drawn, agent)

    parts = [(chance, evaluate(one, make_agent("planning", one, horizon=3))) for chance, one in apart]
    assert score.discounted == pytest.approx(sum(chance * one.discounted for chance, one in parts))
    assert score.reward == pytest.approx(sum(chance * one.reward for chance, one in parts))
    assert score.steps == pytest.approx(1 + sum(chance * one.steps for chance, one in parts))
    drawn_by_lot = simulate(drawn, agent, episodes=2000)
    assert abs(drawn_by_lot.discounted - score.discounted) <= 5 * drawn_by_lot.se["discounted"]


def test_following_the_solution_earns_what_it_promises(drawn):
    found = solve(drawn, gap=1e-4)

    earned = score_solved(found.policy)

    assert earned.kind == "exact"
    assert found.lower - 1e-6 <= earned.discounted <= found.upper + 1e-6


def test_a_horizon_does_not_count_it(drawn, apart):
    limited = with_horizon(drawn, 2)

    assert horizon_of(limited) == 2
    found = solve(drawn, horizon=2, gap=1e-5)
    parts = sum(chance * solve(one, horizon=2, gap=1e-6).lower for chance, one in apart)
    assert found.lower == pytest.approx(parts, abs=2e-5)


def test_its_ceiling_is_the_mean_of_theirs(drawn, apart):
    assert full_information_bound(drawn).value == pytest.approx(
        sum(chance * full_information_bound(one).value for chance, one in apart)
    )


def test_a_model_file_says_so_and_is_read_back(drawn, tmp_path):
    path = tmp_path / "lamp.yaml"
    path.write_text(write_model(drawn))

    again = rhoplan.make(str(path))

    assert again.looks_first
    assert solve(again, gap=1e-4).lower == pytest.approx(solve(drawn, gap=1e-4).lower, abs=2e-4)


def test_a_pomdp_file_says_that_it_cannot_say_so(drawn):
    text = write_pomdp(drawn)

    assert "# The first look takes no time" in text
    assert f"# values are {drawn.discount!r} times what they are." in text
    there = solve(parse_pomdp(text), gap=1e-5, method="points")
    assert there.lower / drawn.discount == pytest.approx(solve(drawn, gap=1e-5).lower, abs=1e-4)


def test_there_is_nothing_to_draw_at_a_first_look(drawn, tmp_path):
    with pytest.raises(ProblemError, match="'lamp' starts with a look, and nothing to choose"):
        plot_policy(solve(drawn).policy, tmp_path / "plan.svg")


def test_other_methods_than_points_refuse_it(drawn):
    with pytest.raises(
        AgentError, match="method grids is not for problems that look first; 'lamp' does: use method points"
    ):
        solve(drawn, method="grids")


def test_a_first_look_must_be_one(drawn):
    (look,) = drawn.menu(drawn.start)
    wrong = [(), (look, look), (replace(look, reward=np.ones(2)),), (replace(look, leads_to=("hall", drawn.start)),)]
    wrong += [(replace(look, leads_to=(rhoplan.END, rhoplan.END)),), (replace(look, transition=np.full((2, 2), 0.5)),)]
    for first in wrong:
        with pytest.raises(
            ProblemError, match="'lamp' has an initial observation: its start 'first look' must"
        ) as told:
            check_problem(replace(drawn, menu=Offered(first, drawn.start, drawn.menu)))
        assert told.value.field == ("looks_first",)
    check_problem(drawn)


@dataclass(frozen=True)
class Offered:
    """Menus with another one at the start."""

    first: tuple[rhoplan.Action, ...]
    start: Observable
    menu: Menu

    def __call__(self, observable: Observable) -> tuple[rhoplan.Action, ...]:
        return self.first if observable == self.start else self.menu(observable)
