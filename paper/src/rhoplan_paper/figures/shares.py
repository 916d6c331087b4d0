"""On how many random two-state problems a weight of 1 is near-optimal, by horizon and asymmetry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rhoplan.present.plots import LOOKS, QUIET, canvas, styled
from rhoplan_paper.context import UNITS, Context, ask
from rhoplan_paper.published import select
from rhoplan_paper.registry import study
from rhoplan_paper.study import Drawing, Outcome, Sheet
from rhoplan_paper.told.near_optimality import (
    ASYMMETRIC,
    PUBLISHED_EPISODES,
    TRIED_HORIZONS,
    near_optimal_shares,
    near_optimality_job,
)
from rhoplan_paper.verdicts import SAME
from rhoplan_paper.words import percent, rates

STRATA = ((1.0, 10.0), (10.0, 20.0), (20.0, 30.0), (30.0, 40.0), (40.0, 50.0))
"""Ranges of the asymmetry alpha; the lower end belongs to its range."""

GROUPS = (
    (0.0, "all problems", "near-optimality-rates"),
    (ASYMMETRIC, f"α ≥ {ASYMMETRIC:g}", "near-optimality-rates-asymmetric"),
)
"""Least asymmetry, title, and the quote with the published shares."""


def build_shares(context: Context) -> Outcome:
    """Shares by horizon: exact in both units, from 50 episodes per weight, and as published."""
    jobs = {unit: near_optimality_job(unit) for unit in UNITS}
    jobs["simulated"] = near_optimality_job("nats", episodes=PUBLISHED_EPISODES, paired=False)
    found = ask(context, jobs)
    groups: list[dict[str, Any]] = [
        {"title": title, "count": near_optimal_shares(found["nats"], least)[1],
         "published": [one.value for one in select(f"{quote} near_optimal")],
         **{kind: near_optimal_shares(result, least)[0] for kind, result in found.items()}}
        for least, title, quote in GROUPS
    ]  # fmt: skip
    strata: list[dict[str, Any]] = []
    for low, high in STRATA:
        shares, count = near_optimal_shares(found["nats"], low, high)
        strata.append({"low": low, "high": high, "shares": shares, "count": count})
    one = found["nats"]["weights"].index(1.0)
    by_horizon = zip(*found["nats"]["rewards"], strict=True)
    same = [sum(abs(rewards[one] - rewards[0]) <= SAME for rewards in every) for every in by_horizon]
    rows = []
    for group in groups:
        for place, horizon in enumerate(TRIED_HORIZONS):
            texts = [percent(group[kind][place], 0) for kind in ("simulated", *UNITS)]
            rows.append(
                (f"{group['title']} ({group['count']})", str(horizon), f"{group['published'][place]:.0f}%", *texts)
            )
    for one in strata:
        label = f"α from {one['low']:g} to {one['high']:g} ({one['count']})"
        rows += [(label, str(horizon), "", "", "", percent(share, 0))
                 for horizon, share in zip(TRIED_HORIZONS, one["shares"], strict=True)]  # fmt: skip
    first = groups[0]
    remarks = (
        "On all problems, by horizon: published "
        + ", ".join(f"{value:.0f}%" for value in first["published"])
        + "; exact "
        + "; ".join(f"{rates(first[unit])} per {unit[:-1]}" for unit in UNITS)
        + f"; from {PUBLISHED_EPISODES} episodes per weight {rates(first['simulated'])}: the means "
        "of so few episodes differ by luck, and the best of six seems ahead.",
        "Near-optimal need not mean that information helps: w = 1 and w = 0.01 per nat earn the same on "
        + ", ".join(f"{count} (H = {h})" for h, count in zip(TRIED_HORIZONS, same, strict=True))
        + f" of {len(found['nats']['alpha'])} problems.",
    )
    headings = ("problems", "horizon", "published", f"simulated: {PUBLISHED_EPISODES} episodes per weight",
                *(f"exact, w per {unit[:-1]}" for unit in UNITS))  # fmt: skip
    return Outcome(Sheet(headings, tuple(rows)), (), remarks, {"groups": groups, "strata": strata})


@styled
def draw_shares(outcome: Outcome) -> Drawing:
    """Shares over the horizon: all problems, those of high asymmetry, and by range of asymmetry."""
    drawing, axes = canvas(1, 3, (10.0, 4.3), sharey=True)
    look = LOOKS["efe"]
    for axis, group in zip(axes[0], outcome.data["groups"], strict=False):
        for unit, line, size, face in (("bits", "-", 5, look.colour), ("nats", "--", 8, "none")):
            axis.plot(TRIED_HORIZONS, _hundreds(group[unit]), linestyle=line, color=look.colour, marker=look.marker,
                      markersize=size, markerfacecolor=face, label=f"exact, w = 1 per {unit[:-1]}")  # fmt: skip
        axis.plot(TRIED_HORIZONS, _hundreds(group["simulated"]), linestyle=":", color=QUIET, marker=".",
                  label=f"{PUBLISHED_EPISODES} episodes per weight")  # fmt: skip
        axis.plot(TRIED_HORIZONS, group["published"], linestyle="", color="black", marker="x", markersize=7,
                  markeredgewidth=1.6, label="published")  # fmt: skip
        axis.set_title(f"{group['title']} ({group['count']})", loc="left")
    axes[0][0].set_ylabel("problems where w = 1 is near-optimal (%)")
    handles, labels = axes[0][0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=4)
    _strata(axes[0][2], outcome.data["strata"])
    for axis in axes[0]:
        axis.set_xticks(TRIED_HORIZONS)
        axis.set_xlabel("horizon H")
        axis.set_ylim(0, 100)
    return drawing


def _strata(axis: Any, strata: Sequence[Mapping[str, Any]]) -> None:
    """A line per range of asymmetry, darker for higher ones, named at its right end."""
    import matplotlib as mpl

    shades = mpl.colormaps["cividis_r"]
    ends = sorted((100 * one["shares"][-1], place) for place, one in enumerate(strata))
    height: dict[int, float] = {}
    for level, place in ends:
        height[place] = max(level, max(height.values(), default=-1e9) + 5.0)
    for place, one in enumerate(strata):
        colour = shades(0.15 + 0.85 * place / (len(strata) - 1))
        axis.plot(TRIED_HORIZONS, _hundreds(one["shares"]), color=colour, marker="o", markersize=4)
        axis.text(3.08, height[place], f"{one['low']:g}–{one['high']:g} ({one['count']})", color=colour, fontsize=8.5,
                  va="center")  # fmt: skip
    axis.set_xlim(0.9, 3.75)
    axis.set_title("by asymmetry α (exact, w = 1 per nat)", loc="left")


def _hundreds(shares: Sequence[float]) -> list[float]:
    return [100 * share for share in shares]


study("near-optimality-figure", build_shares, draw_shares)
