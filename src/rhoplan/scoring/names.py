"""Whether an agent can act in another world than its model: the world must offer what the model names.

The numbers may differ: prior, likelihoods, costs, rewards, how the hidden state changes. What has a name must be there:
the hidden factors with their states and, in every visible state that is met, the actions of the model with their
outcomes, which lead where the model says. The world may offer more actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rhoplan.errors import ProblemError
from rhoplan.model.problem import Action, Problem, Visible


def check_world(problem: Problem, world: Problem) -> None:
    """Raise ProblemError unless an agent whose model is `problem` can begin in `world`.

    Of an observe-then-commit problem that is all there is to check; elsewhere `check_menu` checks what is met later.
    """
    if problem.is_flat != world.is_flat:
        kinds = ("an observe-then-commit problem", "a problem with visible states of its own")
        wanted, found = kinds if problem.is_flat else kinds[::-1]
        raise _fault(f"world '{world.name}' must be {wanted} like '{problem.name}'; it is {found}")
    _check_factors(problem, world)
    if problem.is_flat:
        _check_actions(world, problem.flat.everything, world.flat.everything)
        _check_rules(problem, world)
        return
    if problem.start != world.start:
        raise _fault(
            f"world '{world.name}' must start where '{problem.name}' does, in {problem.start!r}; it starts in "
            f"{world.start!r}"
        )
    check_menu(problem, world, problem.start)


def check_menu(problem: Problem, world: Problem, visible: Visible) -> None:
    """Raise ProblemError unless `world` offers in `visible` what `problem` offers there, leading to the same places."""
    where = f" in visible state {visible!r}"
    theirs = {action.name: action for action in world.menu(visible)}
    _check_actions(world, problem.menu(visible), theirs.values(), where)
    for action in problem.menu(visible):
        other = theirs[action.name]
        if other.factor != action.factor:
            factor = problem.factors[action.factor].name
            raise _fault(
                f"'{action.name}' of world '{world.name}'{where} must be about {factor}, as in '{problem.name}'"
            )
        if _targets(other) != _targets(action):
            raise _fault(
                f"'{action.name}' of world '{world.name}'{where} must lead where it leads in '{problem.name}': only "
                "what is hidden may differ"
            )


def _targets(action: Action) -> dict[str, Visible]:
    return dict(zip(action.outcomes, action.leads_to, strict=True))


def _check_factors(problem: Problem, world: Problem) -> None:
    names = [factor.name for factor in problem.factors]
    if names != [factor.name for factor in world.factors]:
        raise _fault(f"world '{world.name}' must have the hidden factors of '{problem.name}': {_listed(names)}")
    for mine, other in zip(problem.factors, world.factors, strict=True):
        if sorted(mine.states) != sorted(other.states):
            which = "" if len(names) == 1 else f" for {mine.name}"
            raise _fault(
                f"world '{world.name}' must have the states of '{problem.name}'{which}: {_listed(mine.states)}"
            )


def _check_actions(world: Problem, mine: Iterable[Action], theirs: Iterable[Action], where: str = "") -> None:
    known = {action.name: sorted(action.outcomes) for action in theirs}
    for action in mine:
        if known.get(action.name) != sorted(action.outcomes):
            outcomes = f" with outcomes {_listed(action.outcomes)}" if action.kind == "test" else ""
            raise _fault(f"world '{world.name}' must have {action.kind} '{action.name}'{outcomes}{where}")


def _check_rules(problem: Problem, world: Problem) -> None:
    """Groups, orders and caps are the same, and what the model repeats can be repeated."""
    if world.flat.rules != problem.flat.rules:
        raise _fault(f"world '{world.name}' must have the rules of '{problem.name}' on groups, orders and caps")
    once = {test.name for test in world.flat.tests if not test.repeatable}
    for test in problem.flat.tests:
        if test.repeatable and test.name in once:
            raise _fault(f"world '{world.name}' lets test '{test.name}' run once; '{problem.name}' repeats it")


def _fault(message: str) -> ProblemError:
    return ProblemError(message, field=("world",))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
