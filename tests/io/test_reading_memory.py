"""What reading takes grows with what is kept: ways are gone through, one action at a time, and counted before."""

from __future__ import annotations

import tracemalloc
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from rhoplan.belief_math.transitions import Ways
from rhoplan.errors import ModelFileError
from rhoplan.io import pomdpx
from rhoplan.io.assemble import Rounding, assembled
from rhoplan.io.pomdp import parse_pomdp
from rhoplan.model.pomdp import Action


def most_memory(work: Callable[[], object]) -> int:
    """The most bytes that `work` holds at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("told", [True, False])
def test_an_action_with_many_outcomes_takes_memory_by_its_ways_alone(told: bool) -> None:
    states, outcomes = 4, 1000
    shows = np.full((states, outcomes), 1 / outcomes)
    if told:
        shows[0, 0] += 0.5 / outcomes
        shows[0, 1] -= 0.5 / outcomes
    ways = Ways.of(np.full((states, states), 1 / states), shows)
    assert len(ways.chance) == states * states * outcomes
    names, targets = ("o",) * outcomes, ("here",) * outcomes
    assert most_memory(lambda: Action.from_ways("go", ways, names, targets)) < 150 * len(ways.chance)


def test_ways_of_an_action_are_gone_when_those_of_the_next_are_made() -> None:
    there: list[weakref.ref[Ways]] = []

    def ways() -> Iterator[tuple[str, Ways]]:
        for number in range(3):
            assert all(one() is None for one in there)
            made = Ways.of(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]]))
            there.append(weakref.ref(made))
            yield f"a{number}", made
            del made

    problem = assembled(
        "p",
        states=("a", "b"),
        outcomes=("o", "p"),
        ways=ways(),
        prior=np.array([0.5, 0.5]),
        discount=0.9,
        rounding=Rounding(),
    )
    assert len(problem.menu(problem.start)) == len(there) == 3


def test_a_dense_file_takes_memory_for_one_action_at_a_time() -> None:
    def text(actions: int) -> str:
        count, seen = 40, 20
        matrix = "\n".join(" ".join([str(1 / count)] * count) for _ in range(count))
        shows = "\n".join(" ".join(str((1 + (s == o)) / (seen + 1)) for o in range(seen)) for s in range(seen))
        head = f"discount: 0.9\nvalues: reward\nstates: {count}\nactions: {actions}\nobservations: {seen}\n"
        return f"{head}T: *\n{matrix}\nO: *\n{shows}\n{shows}\nR: * : 0 : * : * 1\n"

    few, many = (most_memory(lambda: parse_pomdp(text(actions))) for actions in (2, 6))  # noqa: B023
    kept = 16 * 40 * 40 * 20  # of each action, to the end
    assert many - few < 2 * 4 * kept


def test_ways_are_counted_before_they_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve variables that change by themselves, and a million numbers allowed: 16 million ways."""
    monkeypatch.setattr(pomdpx, "FACTORED", 1_000_000)
    names = [f"v{number}" for number in range(12)]

    def table(name: str, parent: str, rows: str) -> str:
        entries = f"<Entry><Instance>{rows}</Instance><ProbTable>uniform</ProbTable></Entry>"
        parameter = f'<Parameter type="TBL">{entries}</Parameter>'
        return f"<CondProb><Var>{name}</Var><Parent>{parent}</Parent>{parameter}</CondProb>"

    variables = "".join(
        f'<StateVar vnamePrev="{name}_0" vnameCurr="{name}_1"><NumValues>2</NumValues></StateVar>' for name in names
    )
    text = (
        f'<pomdpx version="1.0"><Discount>0.9</Discount><Variable>{variables}<ActionVar vname="u"><NumValues>2'
        '</NumValues></ActionVar><RewardVar vname="w"/></Variable><InitialStateBelief>'
        + "".join(table(f"{name}_0", "null", "-") for name in names)
        + "</InitialStateBelief><StateTransitionFunction>"
        + "".join(table(f"{name}_1", f"{name}_0", "* -") for name in names)
        + "</StateTransitionFunction><RewardFunction><Func><Var>w</Var><Parent>u</Parent><Parameter>"
        "<Entry><Instance>a0</Instance><ValueTable>1</ValueTable></Entry></Parameter></Func></RewardFunction></pomdpx>"
    )

    def read() -> None:
        with pytest.raises(ModelFileError, match="may stand for"):
            pomdpx.parse_pomdpx(text)

    assert most_memory(read) < 25_000_000
