"""What is given instead of a problem or an agent is told in one line, as every other fault is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rhoplan
from bridge import make_agent, simulate_episodes, write_pomdp
from bridge import solve_bounds as solve

TIGER = rhoplan.make("tiger")
EFE = make_agent("efe", TIGER)


@pytest.mark.parametrize(
    "verb",
    [
        lambda problem: solve(problem),
        lambda problem: make_agent("efe", problem),
        lambda problem: rhoplan.decide(problem, EFE),
        lambda problem: rhoplan.evaluate(problem, EFE),
        lambda problem: rhoplan.simulate(problem, EFE),
        lambda problem: simulate_episodes(problem, EFE),
    ],
)
def test_a_name_is_no_problem(verb: Callable[[Any], Any]) -> None:
    with pytest.raises(rhoplan.RhoplanError, match=r"expected a problem, as rhoplan\.make gives it; found 'tiger'$"):
        verb("tiger")
    with pytest.raises(TypeError, match="found None"):
        verb(None)


@pytest.mark.parametrize("verb", [rhoplan.decide, rhoplan.evaluate, rhoplan.simulate, simulate_episodes])
def test_a_name_is_no_agent(verb: Callable[..., Any]) -> None:
    with pytest.raises(rhoplan.RhoplanError, match=r"expected an agent, as rhoplan\.make_agent gives it; found 'efe'$"):
        verb(TIGER, "efe")


def test_a_problem_is_named_or_the_path_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(rhoplan.ProblemError, match=r"must be named, or be the path of a file; it is 5$"):
        rhoplan.make(5)  # type: ignore[arg-type]
    path = tmp_path / "tiger.pomdp"
    path.write_text(write_pomdp(TIGER))
    assert rhoplan.make(path).name == rhoplan.make(str(path)).name == "tiger"
