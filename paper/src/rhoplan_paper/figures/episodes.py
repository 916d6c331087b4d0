"""Single episodes from within: what committing and observing are worth, what each test tells, how belief moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rhoplan.belief_math.information import NATS_PER_BIT
from rhoplan.present.plots import (
    CHOSEN,
    COLOURS,
    COMMIT,
    LOOKS,
    MARKERS,
    OBSERVE,
    QUIET,
    TARGET,
    UNCERTAIN,
    canvas,
    styled,
)
from rhoplan.problems.registry import make
from rhoplan_paper.context import Context
from rhoplan_paper.figures.grid import SEED, TRIED, episode_job, first_right, rows_job
from rhoplan_paper.published import Cell, Quote
from rhoplan_paper.registry import study
from rhoplan_paper.study import Drawing, Finding, Outcome, Sheet
from rhoplan_paper.told.findings import each_quoted, setting

FORAGING = "diagnosis:n=8,k=3,accuracy=0.75"
"""The longer Diagnosis of Appendix L: eight conditions, three tests of accuracy .75."""

EFE: dict[str, Any] = {"weight": 1.0, "unit": "bits"}

PANELS = 3
"""Tiger episodes shown, each of another length."""

LONG = 15
"""An extended episode has more tests than this."""


def build_trajectory(context: Context) -> Outcome:
    """The first episode of each of the shortest lengths among those tried."""
    agent = {"horizon": 6, **EFE}
    lengths = context.result(rows_job("tiger", "efe", **agent))["tests"]
    numbers = [lengths.index(length) for length in sorted(set(lengths))[:PANELS]]
    lived = context.results([episode_job("tiger", "efe", number, **agent) for number in numbers])
    data = {"numbers": numbers, "episodes": lived}
    rows = [
        (str(number), str(count), *_values(step), step["action"], step["outcome"] or "")
        for number, one in zip(numbers, lived, strict=True)
        for count, step in enumerate(one["steps"])
    ]
    shortest = sorted(set(lengths))
    remarks = (
        f"EFE with w = 1 per bit and H = 6; episodes {', '.join(map(str, numbers))} of seed {SEED}, the first with "
        f"{', '.join(map(str, shortest[:PANELS]))} listens. Among the first {TRIED} episodes the numbers of listens "
        f"are {', '.join(f'{length} ({lengths.count(length)} times)' for length in shortest)}.",
    )
    headings = ("episode", "listens so far", "value of committing", "value of listening", "entropy (bits)", "action",
                "report")  # fmt: skip
    return Outcome(Sheet(headings, tuple(rows)), (), remarks, data)


def _values(step: Mapping[str, Any]) -> tuple[str, str, str]:
    return f"{step['commit']:.4f}", f"{step['test']:.4f}", f"{step['entropy'] / NATS_PER_BIT:.4f}"


@styled
def draw_trajectory(outcome: Outcome) -> Drawing:
    """One panel per episode: worth of committing and of listening over the listens, entropy as shading."""
    drawing, axes = canvas(1, len(outcome.data["episodes"]), (10.0, 4.0), sharey=True)
    for axis, number, one in zip(axes[0], outcome.data["numbers"], outcome.data["episodes"], strict=True):
        _decision(axis, one["steps"], "listen")
        shade = _entropy_behind(axis, one["steps"])
        axis.set_xlabel("listens so far")
        axis.set_title(f"episode {number}: {len(one['steps']) - 1} listens", loc="left")
        last = one["steps"][-1]
        text = f"commits: {last['commit']:.1f} against {last['test']:.1f}"
        axis.annotate(text, (len(one["steps"]) - 1, last["commit"]), xytext=(8, 10), textcoords="offset points",
                      ha="right", color=COMMIT, fontsize=8.5)  # fmt: skip
    axes[0][0].set_ylim(top=16)
    axes[0][0].set_ylabel("value (reward units)")
    shade.set_ylabel("entropy (bits)", color=UNCERTAIN)
    shade.tick_params(axis="y", labelright=True, right=True, colors=UNCERTAIN)
    handles, labels = axes[0][0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=4)
    return drawing


def _bits(steps: Sequence[Mapping[str, Any]]) -> list[float]:
    return [step["entropy"] / NATS_PER_BIT for step in steps]


def _decision(axis: Any, steps: Sequence[Mapping[str, Any]], verb: str) -> None:
    """Values over the tests so far; a ring where the agent commits."""
    last = len(steps) - 1
    lines = (("test", OBSERVE, "s", f"value of going on to {verb}"), ("commit", COMMIT, "o", "value of committing now"))
    for name, colour, marker, label in lines:
        axis.plot([step[name] for step in steps], color=colour, marker=marker, markersize=4, label=label)
    axis.plot([last], [steps[-1]["commit"]], linestyle="", marker="o", markersize=12, markerfacecolor="none",
              color=COMMIT, markeredgewidth=1.8, clip_on=False, label="commits")  # fmt: skip
    axis.set_xticks(range(0, last + 1, 1 if last <= 12 else 5 if last > 40 else 2))
    axis.set_xlim(-0.4, last + 0.4)


def _entropy_behind(axis: Any, steps: Sequence[Mapping[str, Any]]) -> Any:
    """Entropy in bits as shading on an axis of its own, at the right."""
    shade = axis.twinx()
    shade.fill_between(range(len(steps)), _bits(steps), color=UNCERTAIN, alpha=0.15, linewidth=0)
    shade.set_ylim(0, 1.05)
    shade.grid(False)
    shade.tick_params(axis="y", labelright=False, right=False)
    axis.set_zorder(shade.get_zorder() + 1)
    axis.patch.set_visible(False)
    axis.fill_between([], [], color=UNCERTAIN, alpha=0.15, label="entropy (right axis)")
    return shade


SHARING: dict[str, dict[str, Any]] = {
    "efe": {"horizon": 3, **EFE},
    "planning": {"horizon": 3, "unit": "nats"},
    "info-gain": {"weight": 100.0, "unit": "bits"},
}


def build_heatmap(context: Context) -> Outcome:
    """One episode as three agents live through it."""
    tried = context.results([rows_job(FORAGING, agent, **settings) for agent, settings in SHARING.items()])
    number = first_right(tried[0])
    lived = context.results([episode_job(FORAGING, agent, number, **settings) for agent, settings in SHARING.items()])
    episodes = dict(zip(SHARING, lived, strict=True))
    rows = [
        (LOOKS[agent].label, str(count), step["action"], step["outcome"] or "", *(f"{p:.4f}" for p in step["belief"]))
        for agent, one in episodes.items()
        for count, step in enumerate(one["steps"])
    ]
    accuracy = float(make(FORAGING).flat.tests[0].likelihood.max())

    def check(quote: Quote, cell: Cell) -> Finding:
        return setting(quote, cell, accuracy, "accuracy of the tests")

    means = ", ".join(
        f"{LOOKS[agent].label} {sum(rows['tests']) / len(rows['tests']):.1f}"
        for agent, rows in zip(SHARING, tried, strict=True)
    )
    remarks = (
        f"Episode {number} of seed {SEED}, the first in which EFE names the right condition; EFE with w = 1 per bit, "
        f"Info Gain with w = 100 per bit (the paper does not state it here). Tests on average over the first {TRIED} "
        f"episodes: {means}.",
    )
    headings = ("agent", "tests so far", "next action", "report", *(f"belief in {i}" for i in range(8)))
    return Outcome(Sheet(headings, tuple(rows)), each_quoted("belief-heatmap", check), remarks, {"episodes": episodes})


@styled
def draw_heatmap(outcome: Outcome) -> Drawing:
    """Belief over the conditions against the tests so far, one panel per agent, all on one time axis."""
    episodes = outcome.data["episodes"]
    longest = max(len(one["steps"]) for one in episodes.values())
    drawing, axes = canvas(len(episodes), 1, (10.0, 6.4), sharex=True)
    for axis, (agent, one) in zip(axes[:, 0], episodes.items(), strict=True):
        beliefs = [step["belief"] for step in one["steps"]]
        states, last = len(beliefs[0]), len(beliefs) - 1
        table = [[belief[state] for belief in beliefs] for state in range(states)]
        image = axis.imshow(table, cmap="Greys", vmin=0, vmax=1, aspect="auto", interpolation="nearest",
                            extent=(-0.5, last + 0.5, states - 0.5, -0.5))  # fmt: skip
        axis.grid(False)
        state = one["state"]
        axis.plot([-0.5, last + 0.5, last + 0.5, -0.5, -0.5], [state + d for d in (-0.5, -0.5, 0.5, 0.5, -0.5)],
                  color=TARGET, linewidth=2.0, clip_on=False, zorder=4)  # fmt: skip
        axis.axvline(last + 0.5, color=CHOSEN, linestyle="--", linewidth=1.6)
        right = "right" if one["success"] else "wrong"
        reward = f"{one['steps'][-1]['reward']:+.0f}".replace("-", "−")
        axis.text(last + 0.75, 3.5, f"commits after {last} tests:\n{right}, reward {reward}", color=CHOSEN, va="center")
        axis.set_yticks(range(states))
        axis.set_ylabel("condition")
        axis.set_title(LOOKS[agent].label, loc="left", color=LOOKS[agent].colour)
    axes[-1][0].set_xlim(-0.5, 1.3 * longest)
    axes[-1][0].set_xticks(range(0, longest, 1 if longest <= 24 else 5))
    axes[-1][0].set_xlabel("tests so far")
    bar = drawing.colorbar(image, ax=list(axes[:, 0]), location="right", shrink=0.5, aspect=25, pad=0.01)
    bar.set_label("belief in a condition")
    bar.outline.set_visible(False)
    from matplotlib.lines import Line2D

    marks = [Line2D([], [], color=TARGET, linewidth=2.0, label="true condition"),
             Line2D([], [], color=CHOSEN, linestyle="--", linewidth=1.6, label="commit")]  # fmt: skip
    drawing.legend(handles=marks, loc="outside lower left", ncols=2)
    return drawing


def build_extended(context: Context) -> Outcome:
    """A long episode: values, information of each test, entropy, and which test was run."""
    agent = SHARING["efe"]
    tried = context.result(rows_job(FORAGING, "efe", **agent))
    number = next(i for i, tests in enumerate(tried["tests"]) if tests > LONG and tried["success"][i])
    lived = context.result(episode_job(FORAGING, "efe", number, **agent))
    names = [test.name for test in make(FORAGING).flat.tests]
    taken = [step for step in lived["steps"] if step["outcome"] is not None]
    told = [step["information"][names.index(step["action"])] for step in taken]
    equal = [sum(value >= max(step["information"]) - 1e-12 for value in step["information"]) for step in taken]
    best = sum(got >= max(step["information"]) - 1e-12 for got, step in zip(told, taken, strict=True))
    rivals = sum(count > 1 for count in equal)
    remarks = (
        f"Episode {number} of seed {SEED}, the first with more than {LONG} tests and the right commit; EFE with w = 1 "
        f"per bit, H = 3. The test run is a most informative one in {best} of {len(taken)} steps; in {rivals} steps "
        "several tests are most informative.",
    )
    rows = [
        (str(count), *_values(step), *(f"{value / NATS_PER_BIT:.4f}" for value in step["information"]), step["action"],
         step["outcome"] or "")
        for count, step in enumerate(lived["steps"])
    ]  # fmt: skip
    headings = ("tests so far", "value of committing", "value of testing", "entropy (bits)",
                *(f"information of {name} (bits)" for name in names), "action", "report")  # fmt: skip
    data = {"number": number, "episode": lived, "tests": names}
    return Outcome(Sheet(headings, tuple(rows)), (), remarks, data)


@styled
def draw_extended(outcome: Outcome) -> Drawing:
    """(a) values, (b) information of each test, (c) entropy, (d) the tests that were run."""
    steps, names = outcome.data["episode"]["steps"], outcome.data["tests"]
    drawing, axes = canvas(2, 2, (10.0, 6.4), sharex=True)
    (values, gains), (entropies, sequence) = axes
    _decision(values, steps, "test")
    values.set_title("(a) committing against observing (reward units)", loc="left")
    values.legend(loc="lower right")
    for place, name in enumerate(names):
        colour, marker = _test_look(place)
        gains.plot([step["information"][place] / NATS_PER_BIT for step in steps], color=colour, marker=marker,
                   markersize=4, linewidth=1.1, label=name)  # fmt: skip
    for count, step in enumerate(steps[:-1]):
        told = step["information"][names.index(step["action"])] / NATS_PER_BIT
        gains.plot([count], [told], linestyle="", marker="o", markersize=9, markerfacecolor="none", color=QUIET,
                   label="the one run" if count == 0 else None)  # fmt: skip
    gains.set_ylim(bottom=0)
    gains.set_title("(b) expected information of each test (bits)", loc="left")
    gains.legend(loc="lower left", ncols=2)
    entropies.fill_between(range(len(steps)), _bits(steps), color=UNCERTAIN, alpha=0.15)
    entropies.plot(_bits(steps), color=UNCERTAIN, marker="o", markersize=4)
    entropies.set_ylim(bottom=0)
    entropies.set_title("(c) entropy of the belief (bits)", loc="left")
    for outcome_name, filled in (("0", False), ("1", True)):
        for place, name in enumerate(names):
            colour, marker = _test_look(place)
            at = [
                count for count, step in enumerate(steps) if (step["action"], step["outcome"]) == (name, outcome_name)
            ]
            sequence.scatter(at, [place] * len(at), s=48, marker=marker, color=colour,
                             facecolor=colour if filled else "white", linewidth=1.3)  # fmt: skip
    sequence.axvline(len(steps) - 1, color=COMMIT, linestyle="--", linewidth=1.4)
    sequence.text(len(steps) - 1.25, -0.55, "commits", color=COMMIT, ha="right", va="center")
    sequence.set_yticks(range(len(names)), names)
    sequence.set_ylim(len(names) - 0.5, -0.8)
    sequence.set_title("(d) test run (filled: it reported 1)", loc="left")
    for axis in axes[1]:
        axis.set_xlabel("tests so far")
    return drawing


def _test_look(place: int) -> tuple[str, str]:
    """Colour and marker of a test: other than those of agents and of values."""
    return (COLOURS[3], COLOURS[4], COLOURS[5])[place % 3], MARKERS[(place + 2) % len(MARKERS)]


study("trajectory", build_trajectory, draw_trajectory)
study("belief-heatmap", build_heatmap, draw_heatmap)
study("extended-decomposition", build_extended, draw_extended)
