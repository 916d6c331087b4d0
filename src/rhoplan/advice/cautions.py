"""What a reader of a recommendation should be warned about, found by computation rather than by rule of thumb.

Tests that change what they measure need no warning here: a flat problem, and so every model file, has tests that leave
the state alone, and `report.check_reportable` refuses all other problems and names the action that is in the way.
"""

from __future__ import annotations

import time

from rhoplan._old.followed import Plans
from rhoplan.advice.case import check_fixed
from rhoplan.advice.compare import MOST_NODES, Row, alike, cost_only, deepest
from rhoplan.advice.doubts import USELESS, Caution, doubts
from rhoplan.advice.idle import idle_tests
from rhoplan.advice.outlay import look_ahead
from rhoplan.advice.variations import counts_losses
from rhoplan.advice.words import money, percent
from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.fitting import MEMORY, size_of
from rhoplan.errors import LimitError
from rhoplan.model.pomdp import POMDP

DOMINANT = 0.5
"""Share of what testing is worth above which the information term is called dominant."""

NEGLIGIBLE = 1e-9
"""Share of cases below which what a plan does is of no interest here."""


def cautions(
    problem: POMDP, agent: BoundAgent, *, seconds: float = 5.0, plain: Row | None = None, plans: Plans | None = None
) -> tuple[Caution, ...]:
    """What to be careful about when `agent` advises on `problem`: doubts about its numbers, then about the plan.

    kind: that of a doubt, or `cut off` (cases that go on beyond the cap pay no final action); `inert weight`, `dominant
    weight`, `cost-only better` (of plans none of whose cases is cut off); `short horizon`, or `horizon not checked`
    where deeper plans were too much to compute; `idle test` (cannot change the decision, whatever else is seen),
    `barred test` (the rules never let it run), or `unused test` (this plan never runs it, though it can change the
    decision).

    seconds: for plans deeper than the agent's. plain: the cost-only row of `compare`, where that was made before;
    plans: followed already.
    Not covered: agents whose choices are not fixed (see `pathway`).
    """
    check_fixed(agent)
    plans = plans or Plans(problem, node_limit=MOST_NODES)
    plain = plain if plain is not None else cost_only(problem, agent, seconds=seconds, plans=plans)[0]
    words = look_ahead(plans.follow(agent)).cut_off
    doubtful = doubts(problem)
    found = [*doubtful, *([Caution("cut off", f"{words}.")] if words else [])]
    found += [*_weight(plans, agent), *_cost_only(plans, agent, plain), *_depth(plans, agent, seconds)]
    told = {one.about for one in doubtful if one.kind in USELESS}
    return (*found, *(one for one in _tests(plans, agent, plain, seconds) if one.about not in told))


def _weight(plans: Plans, agent: BoundAgent) -> list[Caution]:
    if not agent.plans_for_information or not agent.commits_count or agent.weight_per_nat == 0:
        return []
    graph, problem, found, mine = plans.graph, plans.problem, [], plans.follow(agent)
    weight = f"{agent.weight:g} {problem.unit} per {agent.unit.removesuffix('s')}"
    if mine.choices(NEGLIGIBLE) == plans.follow(agent.changed(weight=0.0)).choices(NEGLIGIBLE):
        text = f"The weight of {weight} changes nothing: the plan at weight 0 is the same in every case."
        found.append(Caution("inert weight", text))
    ahead = look_ahead(mine)
    gain = max(ahead.reward - float(graph.stop_reward[graph.root]), 0.0)
    informed = agent.weight_per_nat * mine.information
    if informed > DOMINANT * (gain + informed):
        share = percent(informed / (gain + informed))
        text = (
            f"Information makes up {share} of what testing counts for at the weight of {weight} (above "
            f"{percent(DOMINANT)} we call it dominant): the plan pays for knowledge rather than for a better decision."
        )
        found.append(Caution("dominant weight", text))
    return found


def _cost_only(plans: Plans, agent: BoundAgent, plain: Row) -> list[Caution]:
    problem, mine = plans.problem, plans.follow(agent)
    ahead = look_ahead(mine)
    if plain.reward is None or plain.is_cut or ahead.cut_off:
        return []  # what cases that are cut off would still lose is in neither
    if plain.reward <= ahead.reward or alike(plain.reward, ahead.reward):
        return []
    better = money(plain.reward - ahead.reward, problem.unit)
    word, sign = ("loss", -1) if counts_losses(problem) else ("reward", 1)
    text = (
        f"The cost-only plan (weight 0, horizon {plain.horizon}) is better by {better} per case: "
        f"{word} {money(sign * plain.reward, problem.unit)} against {money(sign * ahead.reward, problem.unit)}."
    )
    if plain.first and plain.first != mine.first:
        text += f" It begins with {plain.first}."
    return [Caution("cost-only better", text)]


def _depth(plans: Plans, agent: BoundAgent, seconds: float) -> list[Caution]:
    """Whether a plan one, two or more tests deeper, at the same weight, does something else."""
    if not agent.planner.plans or agent.planner.is_bounded:  # neither has a horizon
        return []
    problem, end = plans.problem, time.monotonic() + seconds
    most, mine = deepest(problem), plans.follow(agent)
    took = 0.0
    for horizon in range(agent.horizon + 1, (most or agent.horizon + 2) + 1):
        begin = time.monotonic()
        deeper = agent.changed(horizon=horizon)
        try:
            if begin + 3 * took > end:
                raise LimitError("there is no time for a deeper plan")
            with plans.graph.limited(MOST_NODES):
                other = plans.follow(deeper)
        except LimitError:
            text = f"Whether a plan that looks {horizon} tests ahead differs was not computed: it takes too long."
            return [Caution("horizon not checked", text)]
        took = time.monotonic() - begin
        if other.choices(NEGLIGIBLE) != mine.choices(NEGLIGIBLE):
            now, then = look_ahead(mine), look_ahead(other)
            begins = other.first
            text = f"Horizon {agent.horizon} is short: a plan that looks {horizon} tests ahead does something else"
            text += f", beginning with {begins}" if begins != mine.first else ", after the first action"
            size = abs(then.reward - now.reward)
            if now.cut_off or then.cut_off:
                return [Caution("short horizon", f"{text}; with cases cut off the two cannot be compared.")]
            if alike(then.reward, now.reward):
                return [Caution("short horizon", f"{text}; both cost the same.")]
            change = "better" if then.reward > now.reward else "worse"
            return [Caution("short horizon", f"{text}, and is {change} by {money(size, problem.unit)} per case.")]
    return []


def _tests(plans: Plans, agent: BoundAgent, plain: Row, seconds: float) -> list[Caution]:
    """Tests that cannot change the decision, that never may run, and that this plan never runs: three things."""
    graph, problem, mine = plans.graph, plans.problem, plans.follow(agent)
    limit = deepest(problem)
    most = limit if limit is not None else max(agent.horizon, plain.horizon or 0)
    with graph.limited(min(MOST_NODES, size_of(problem, agent.horizon, repeats=True).most_nodes(MEMORY)), seconds):
        idle = idle_tests(graph, most_tests=most, seconds=seconds)
    run = {mine.action(node) for node, slot in mine.choices(NEGLIGIBLE).items() if slot >= 0}
    reach = "whatever other tests show" if limit is not None else f"whatever up to {most - 1} other results show"
    found = []
    for test in (one.name for one in problem.flat.tests):
        if test in idle.barred:
            text = f"{test}: can never run, since the cap or the tests that it waits for rule it out."
            found.append(Caution("barred test", text, test))
        elif test in idle.powerless:
            text = f"{test}: cannot change the decision; {reach}, no result of it changes the best final action"
            text += f" ({idle.situations:,} situations looked at)."
            also = " This plan runs it all the same, for its information or to choose what to test next."
            found.append(Caution("idle test", text + (also if test in run else ""), test))
        elif test not in run:
            known = test not in idle.unclear
            can = "After some results it would change the decision" if known else "Whether it could was not examined"
            text = f"{test}: never run by this plan. {can}; in no case that comes up does this plan find it worth it."
            found.append(Caution("unused test", text, test))
    return found
