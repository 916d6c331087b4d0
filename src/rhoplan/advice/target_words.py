"""The answer to targets in words: what keeps them, what that costs, what errors would have to be worth for it."""

from __future__ import annotations

from rhoplan.advice.targets import Answer, Numbers, Price, target_words
from rhoplan.advice.words import chance, counted, money, percent, unit_of
from rhoplan.io.constraints import AT_LEAST

ERRORS = {
    "miss": "a case of {} that is missed",
    "sensitive": "a case of {} that is missed",
    "false-alarm": "a false alarm for {}",
    "specific": "a false alarm for {}",
    "wrong": "a wrong decision",
}

LETTERS = 26
"""Plans that a letter can tell apart."""

EXACT = 1e-9
"""Share of a cost below which a gap is rounding."""


def answer_words(answer: Answer) -> list[str]:
    """The whole answer, a sentence or two for each thing that it says."""
    unit = answer.problem.unit
    asked = "; ".join(target_words(target, unit) for target in answer.targets)
    far = "" if answer.whole else f" Pathways have at most {counted(answer.depth, 'test')} here."
    words = [
        f"Targets: {asked}. Made as small as can be: {answer.counts}.{far}",
        mixture_words(answer),
        certain_words(answer),
    ]
    return words + [price_words(answer, price) for price in answer.prices]


def mixture_words(answer: Answer) -> str:
    """What keeps the targets at the least cost."""
    unit, whole = answer.problem.unit, answer.together
    cost = _cost(answer, whole)
    sure = f"no plan and no mix costs less (certified, gap {money(answer.gap, unit)})"
    if len(answer.mixture) == 1:
        return f"Cheapest: one plan, first {answer.mixture[0].numbers.first}: {cost}; {sure}."
    parts = [
        f"{percent(part.share)} of cases follow {plan_name(place)} (first {part.numbers.first}, "
        f"tests {money(part.numbers.spend)})"
        for place, part in enumerate(answer.mixture)
    ]
    return f"Cheapest: a mix drawn by lot, {', '.join(parts)}: {cost}; {sure}."


def certain_words(answer: Answer) -> str:
    """The nearest plan without chance."""
    unit, found = answer.problem.unit, answer.certain
    if found is None:
        if answer.proven:
            return "Without drawing lots no single plan keeps the targets."
        return "A single plan that keeps the targets was not found; whether there is one is not known."
    if len(answer.mixture) == 1 and found.numbers.cost <= answer.together.cost * (1 + EXACT):
        return "It is one plan: nothing is left to chance."
    extra = found.numbers.cost - answer.together.cost
    more = f"{money(extra, unit)} more than" if extra > EXACT * abs(found.numbers.cost) else "no more than"
    told = f"Without drawing lots: one plan, first {found.numbers.first}, {_cost(answer, found.numbers)}"
    if answer.proven:
        return f"{told}; {more} the mix, and no single plan that keeps the targets costs less."
    return f"{told}; {more} the mix. No single plan costs less than {money(answer.certain_least, unit)}."


def _cost(answer: Answer, numbers: Numbers) -> str:
    """What a plan costs, and what of that is for tests; beside it where tests do not count."""
    how = "of which tests" if "tests" in answer.counts else "beside what tests cost,"
    return f"{money(numbers.cost, answer.problem.unit)} per case, {how} {money(numbers.spend)}"


def price_words(answer: Answer, price: Price) -> str:
    """What keeping a target acts as if."""
    unit, target = answer.problem.unit, price.target
    name = target_words(target, unit)
    if price.price <= EXACT * price.own[1]:
        return f"'{name}' is kept without being aimed at: it costs nothing."
    if target.kind == "spend":
        one = f"1 {unit_of('1', unit)}"
        return f"'{name}': {one} more to spend would save {money(price.price, unit)} of what is made small."
    error = ERRORS[target.kind].format(target.state)
    low, high = price.own
    own = money(low, unit) if high - low <= EXACT * high else f"{money(low)} to {money(high, unit)}"
    return f"Keeping '{name}' acts as if {error} cost {money(price.price, unit)}; the model's own price is {own}."


def number_cells(answer: Answer, numbers: Numbers) -> list[str]:
    """The cells of a plan in a table: its first action, tests, each target, wrong decisions, their loss, the cost."""
    cells = [numbers.first, money(numbers.spend)]
    for target, reached in zip(answer.targets, numbers.reached, strict=True):
        if target.is_share:
            cells.append(percent(reached) if target.kind in AT_LEAST else chance(reached))
    return [*cells, percent(numbers.wrong), money(numbers.loss), money(numbers.cost)]


def number_heads(answer: Answer) -> list[str]:
    """What stands above `number_cells`."""
    short = {
        "miss": "missed: {}",
        "sensitive": "sensitive: {}",
        "false-alarm": "false alarms: {}",
        "specific": "specific: {}",
    }
    heads = ["first", "tests cost"]
    heads += [
        short.get(target.kind, "wrong, target").format(target.state) for target in answer.targets if target.is_share
    ]
    return [*heads, "wrong", "lost by it", "counted"]


def plan_name(place: int) -> str:
    """What the plan at `place` of a mixture is called: by a letter, as long as there are letters."""
    return f"plan {chr(ord('A') + place) if place < LETTERS else place + 1}"


def labelled(answer: Answer) -> list[tuple[str, Numbers]]:
    """The plans of an answer by what they are called."""
    rows: list[tuple[str, Numbers]] = []
    if len(answer.mixture) > 1:
        rows = [
            (f"{plan_name(place)}, {percent(part.share)} of cases", part.numbers)
            for place, part in enumerate(answer.mixture)
        ]
    rows.append(("the mix", answer.together) if rows else ("one plan", answer.mixture[0].numbers))
    if answer.certain and len(answer.mixture) > 1:
        rows.append(("without chance", answer.certain.numbers))
    return [*rows, ("by the model's own prices", answer.plain.numbers)]
