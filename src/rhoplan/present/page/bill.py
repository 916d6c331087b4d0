"""The first box of a report on a learned model: the verdict, and what a case costs that played no part in learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rhoplan.advice.words import amounts, money, percent
from rhoplan.learning.bill import CARRIES, Bill, Estimate, sentence
from rhoplan.present.page.parts import SCROLLED, safe

POLICY = "learned policy"


def verdict(learned: Mapping[str, Any]) -> str:
    """The verdict in a sentence."""
    return sentence(Bill.of(learned), str(learned["unit"]))


def bill_box(learned: Mapping[str, Any]) -> str:
    """The box: verdict, the figures that matter, and everything else that was scored on the same cases."""
    bill, unit = Bill.of(learned), safe(learned["unit"])
    one, gain = bill.heldout, bill.gain
    scored = round(sum(fold["cases"] for fold in learned["folds"]) / max(learned["split"]["repeats"], 1))
    facts = [
        ("cost of a case not seen", money(one.mean, unit), f"95%: {_range(one)}"),
        ("planned by the model itself", money(bill.planned, unit), planned_words(bill)),
        (f"gain over {safe(bill.over)}", money(gain.mean, unit), f"95%: {_range(gain)}"),
        ("tests, on average", f"{bill.tests:.2f}", f"for {money(bill.spend, unit)}"),
        ("wrong final action", percent(bill.errors), "of cases not seen"),
        ("scored on", f"{scored:,} cases", f"in {bill.splits} splits, none seen in learning"),
    ]
    items = "".join(f"<li><span>{name}</span><b>{value}</b><span>{more}</span></li>" for name, value, more in facts)
    kind = "carries" if bill.verdict == CARRIES else "not"
    return (
        f"<div class='first bill {kind}'><p class='do'>{safe(verdict(learned))}</p><ul class='facts'>{items}</ul>"
        f"{_table(bill, unit)}{_updates(learned)}</div>"
    )


def planned_words(bill: Bill) -> str:
    """How far the planned cost is from the held-out one, in words."""
    if not bill.heldout.mean:
        return ""
    away = bill.planned / bill.heldout.mean - 1
    return (
        "as much as it cost"
        if abs(away) < 0.005
        else f"{abs(away):.0%} {'above' if away > 0 else 'below'} what it cost"
    )


def _range(one: Estimate) -> str:
    return " to ".join(amounts([one.low, one.high]))


def _table(bill: Bill, unit: str) -> str:
    """Every policy with its interval as number and line, on one scale, the cheapest first."""
    found = {POLICY: bill.heldout, **bill.baselines}
    low, high = min(one.low for one in found.values()), max(one.high for one in found.values())
    low = min(0.0, low)

    def at(value: float) -> float:
        return 100 * (value - low) / ((high - low) or 1.0)

    order = sorted(found, key=lambda name: found[name].mean)
    means = amounts(found[name].mean for name in order)
    rows = []
    for name, mean in zip(order, means, strict=True):
        one = found[name]
        line = (
            "<svg class='line' viewBox='0 0 100 12' preserveAspectRatio='none' aria-hidden='true'>"
            f"<path d='M{at(bill.heldout.mean):.2f},0 V12' stroke='#b9c3cc' stroke-width='1' "
            "vector-effect='non-scaling-stroke' stroke-dasharray='2 2'/>"
            f"<path d='M{at(one.low):.2f},6 H{at(one.high):.2f}' stroke='#0072b2' stroke-width='2' "
            "vector-effect='non-scaling-stroke'/>"
            f"<path d='M{at(one.mean):.2f},1.5 V10.5' stroke='#0072b2' stroke-width='4' "
            "vector-effect='non-scaling-stroke'/></svg>"
        )
        mine = " class=mine" if name == POLICY else ""
        rows.append(
            f"<tr{mine}><td>{safe(name)}</td><td class='n'>{mean}</td><td class='n'>{_range(one)}</td>"
            f"<td class='drawn'>{line}</td></tr>"
        )
    return (
        f"{SCROLLED}<table class='tight whole'><thead><tr><th>on the same cases</th><th class='n'>{unit} a "
        "case</th><th class='n'>95% interval</th><th class='drawn'><span class='soft'>dashed: the learned policy</span>"
        f"</th></tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _updates(learned: Mapping[str, Any]) -> str:
    updates = learned.get("updates") or []
    if not updates:
        return ""
    added = sum(one["cases"] for one in updates)
    return (
        f"<p class='soft'>Since then {added:,} cases were added to the counts ({len(updates)} "
        f"update{'' if len(updates) == 1 else 's'}): the bill is that of the model before.</p>"
    )
