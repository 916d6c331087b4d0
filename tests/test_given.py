"""What is given instead of a problem or an agent is told in one line, as every other fault is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rhoplan
from bridge import make_agent, write_pomdp
from bridge import solve_bounds as solve

TIGER = rhoplan.make("tiger")

PUBLIC = {
    "decide": rhoplan.decide,
    "evaluate": rhoplan.evaluate,
    "simulate": lambda problem, agent: rhoplan.simulate(problem, agent, episodes=3),
    "episodes": lambda problem, agent: rhoplan.episodes(problem, agent, episodes=3),
    "episode": rhoplan.episode,
}


@pytest.mark.parametrize("name", PUBLIC)
def test_names_of_problems_and_agents_are_accepted_and_other_things_refused(name: str) -> None:
    PUBLIC[name]("tiger", "efe")
    with pytest.raises(rhoplan.WrongKind, match="it is None"):
        PUBLIC[name](None, "efe")
    with pytest.raises(TypeError, match="it is None"):
        PUBLIC[name](TIGER, None)


@pytest.mark.parametrize("take", [solve, lambda problem: make_agent("efe", problem)], ids=["solve", "make_agent"])
def test_the_engine_takes_problems_only(take: Callable[[Any], Any]) -> None:
    with pytest.raises(rhoplan.RhoplanError, match=r"expected a problem, as rhoplan\.make gives it; found 'tiger'$"):
        take("tiger")


def test_a_problem_is_named_or_the_path_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(rhoplan.ProblemError, match=r"must be named, or be the path of a file; it is 5$"):
        rhoplan.make(5)  # type: ignore[arg-type]
    path = tmp_path / "tiger.pomdp"
    path.write_text(write_pomdp(TIGER))
    assert rhoplan.make(path).name == rhoplan.make(str(path)).name == "tiger"
