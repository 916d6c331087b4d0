"""The paper's figures: built from jobs, drawn without a screen, with a finding for every number quoted about them."""

from __future__ import annotations

import io
import re
from collections import Counter
from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from rhoplan.agents.agent import decide, make_agent
from rhoplan.api import evaluate
from rhoplan.present.plots import STYLE, canvas, place_labels, styled
from rhoplan.problems.registry import make
from rhoplan_paper.context import Context, Pending
from rhoplan_paper.figures.times import FORAGING, SHARPER, _check
from rhoplan_paper.figures.weights import WEIGHTS, at
from rhoplan_paper.jobs import Job, job, run_job
from rhoplan_paper.measures import drawn as measures_drawn
from rhoplan_paper.measures import scores as measures
from rhoplan_paper.published import quotes_of
from rhoplan_paper.registry import studies
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, ONLY_NATS, SETTING, Outcome
from rhoplan_paper.told.findings import setting

STUDIES = {id: study for id, study in studies().items() if study.kind == "figure"}
ORDER = tuple(STUDIES)
LIVED = ("episode", "episode_rows")


def smaller(wanted: Job) -> Job:
    """The same job on fewer cells, arms, penalties or random problems, with a result of the same shape."""
    settings = wanted.settings
    if wanted.measure not in LIVED and settings.get("problem", "").startswith("tileworld"):
        settings["problem"] = "tileworld:n=2"
    if wanted.measure == "steps" and settings["problem"] == "bandit":
        settings["problem"] = "bandit:k=2"
    if wanted.measure in ("over", "optimum_over"):
        settings["values"] = settings["values"][: len(settings["values"]) // 12]
    if wanted.measure == "near_optimality":
        settings["environments"], settings["episodes"] = 12, min(settings.get("episodes", 0), 5) or None
    if wanted.measure == "simulated":
        settings["episodes"] = 10
    return job(wanted.measure, **settings)


def stretched(result: dict[str, Any], wanted: Job) -> dict[str, Any]:
    """A shortened list of scores at the length that was asked for."""
    missing = len(wanted.settings.get("values", ())) - len(result.get("scores", ()))
    return {**result, "scores": [*result["scores"], *result["scores"][-1:] * missing]} if missing > 0 else result


@cache
def run_small(one: Job) -> dict[str, Any]:
    result: dict[str, Any] = run_job(one)["result"]
    return result


@cache
def built(name: str) -> Outcome:
    context = Context()
    while True:
        try:
            return STUDIES[name].build(context)
        except Pending as pending:
            context.known |= {one: stretched(run_small(smaller(one)), one) for one in pending.jobs}


def current_style() -> dict[str, Any]:
    return {name: mpl.rcParams[name] for name in STYLE}


def png(drawing: Figure) -> bytes:
    file = io.BytesIO()
    drawing.savefig(file, format="png", dpi=40)
    return file.getvalue()


@pytest.mark.parametrize("name", ORDER)
def test_every_figure_is_built_and_drawn(name: str) -> None:
    study, outcome = STUDIES[name], built(name)
    assert study.kind == "figure"
    assert study.draw
    assert outcome.sheet
    assert outcome.sheet.rows
    assert {len(row) for row in outcome.sheet.rows} == {len(outcome.sheet.headings)}
    before = current_style()
    drawing = study.draw(outcome)
    assert current_style() == before
    assert 9.0 <= drawing.get_size_inches()[0] <= 10.0
    picture = png(drawing)
    assert picture.startswith(b"\x89PNG")
    file = io.StringIO()
    drawing.savefig(file, format="svg")
    assert file.getvalue().rstrip().endswith("</svg>")
    assert picture == png(study.draw(outcome))


def test_every_quoted_number_has_one_finding() -> None:
    findings = [finding for name in ORDER for finding in built(name).findings]
    assert max(Counter(finding.id for finding in findings).values()) == 1
    found = Counter(finding.id.split("/")[0] for finding in findings)
    # Figure 12 has its numbers in the text result of the same name; Appendix L states the setting of Figures 8 and 9.
    parts = {name for name in (*ORDER, "foraging") if name != "near-optimality-figure"}
    quoted = {part: sum(len(quote.cells) for quote in quotes_of(part)) for part in parts}
    assert found == Counter({part: count for part, count in quoted.items() if count})
    assert not [finding for finding in findings if not finding.reason]


def test_figures_stand_in_the_papers_order() -> None:
    places = [int(re.match(r"Figure (\d+), ", STUDIES[name].place)[1]) for name in ORDER]  # type: ignore[index]
    assert places == list(range(1, 13))


# -- measures ---------------------------------------------------------------------------------------------------------

AGENTS: list[tuple[str, str, dict[str, Any]]] = [
    ("tiger", "efe", {"horizon": 6, "unit": "bits"}),
    ("bandit", "planning-ig", {"horizon": 2, "weight": 20.0}),
    ("diagnosis:n=8,k=3,accuracy=0.75", "info-gain", {"weight": 100.0, "unit": "bits"}),
    ("tileworld:n=3", "efe", {"horizon": 2, "unit": "bits"}),
]


@pytest.mark.parametrize(("problem", "agent", "settings"), AGENTS)
def test_an_episode_is_the_simulators(problem: str, agent: str, settings: dict[str, Any]) -> None:
    rows = measures_drawn.episode_rows(problem, agent, seed=123, episodes=12, **settings)
    for number in range(12):
        lived = measures_drawn.episode(problem, agent, seed=123, number=number, **settings)
        assert len(lived["steps"]) - 1 == rows["tests"][number]
        assert lived["steps"][-1]["reward"] == pytest.approx(rows["reward"][number], abs=1e-9)
        assert lived["success"] == bool(rows["success"][number])


def test_a_step_says_what_the_agent_decides_by() -> None:
    problem, agent, settings = AGENTS[2]
    model = make(problem)
    lived = measures_drawn.episode(problem, agent, seed=42, number=3, **settings)
    evidence = [(step["action"], step["outcome"]) for step in lived["steps"][:-1]]
    for count in (0, len(evidence) // 2, len(evidence)):
        situation = model.belief(given=evidence[:count])
        decision, step = decide(model, make_agent(agent, model, **settings), situation), lived["steps"][count]
        assert step["belief"] == pytest.approx(situation.beliefs[0].tolist())
        assert step["entropy"] == pytest.approx(decision.entropy)
        assert step["action"] == decision.choice
        for name in ("test", "commit"):
            assert step[name] == pytest.approx(max(a.value for a in decision.actions if a.kind == name))
        assert step["information"] == pytest.approx([a.information for a in decision.actions if a.kind == "test"])


def test_an_episode_is_cut_at_the_cap() -> None:
    lived = measures_drawn.episode("testbed:cost=0,accuracy=0.51", "info-gain", seed=42, number=0, weight=99.0)
    assert not lived["committed"]
    assert not lived["success"]
    assert len(lived["steps"]) == make("testbed").cap


@pytest.mark.parametrize(("problem", "agent", "settings"), [AGENTS[0], AGENTS[2]])
def test_the_course_of_an_episode_ends_in_the_exact_score(problem: str, agent: str, settings: dict[str, Any]) -> None:
    model = make(problem)
    course = measures_drawn.course(problem, agent, steps=150, **settings)
    score = evaluate(model, make_agent(agent, model, **settings))
    assert sum(course["observing"]) == pytest.approx(score.tests, abs=1e-6)
    assert course["reward"][-1] == pytest.approx(score.reward, abs=1e-6)
    assert course["entropy"][0] == pytest.approx(np.log(len(model.states)))
    assert course["entropy"][-1] == pytest.approx(-score.log_score, abs=1e-6)
    assert np.all(np.diff(course["entropy"]) <= 1e-12)
    stopped = -np.diff([1.0, *course["observing"]])
    assert stopped[:40] == pytest.approx(np.pad(score.tests_distribution, (0, 200))[:40], abs=1e-9)


def test_sweeps_agree_with_single_scores() -> None:
    found = measures_drawn.over("testbed", "planning-ig", name="weight", values=["0.5", "50"], horizon=4)["scores"]
    for weight, score in zip((0.5, 50.0), found, strict=True):
        alone = measures.score("testbed", "planning-ig", weight=weight, horizon=4)
        assert score == pytest.approx({name: alone[name] for name in score})
    best = measures_drawn.optimum_over("tiger", name="wrong", values=["-100"])["scores"][0]
    assert best["reward"] == pytest.approx(measures.optimum("tiger")["reward"])


def test_broad_steps_are_the_steps_where_these_lie_far_apart() -> None:
    broad = measures.steps("testbed", 4, high=200.0, unit="nats", resolution=0.01)["steps"]
    fine = measures.steps("testbed", 4)["steps"]
    assert [step["success"] for step in broad] == [step["success"] for step in fine]
    assert [step["lower"] for step in broad] == pytest.approx([step["lower"] for step in fine], abs=0.01)


# -- what the figures say ---------------------------------------------------------------------------------------------


def test_pareto_points_cover_all_weights_and_stay_below_the_optimum() -> None:
    for name in ("tiger", "testbed", "diagnosis"):
        found = built("pareto").data[name]
        points = found["points"]
        assert points[0]["lower"] == 0.0
        assert points[-1]["upper"] == pytest.approx(200 / np.log(2))
        assert all(point["reward"] <= found["optimum"]["upper"] + 1e-9 for point in points)
        horizon = make(name).horizon
        for weight in (WEIGHTS[0], 1.0, 20.0):
            alone = measures.score(name, "planning-ig", weight=weight, horizon=horizon)
            assert at(points, weight)["reward"] == pytest.approx(alone["reward"], abs=1e-9)


def test_efe_does_not_always_run_the_most_informative_test() -> None:
    lived = built("extended-decomposition").data["episode"]
    names = built("extended-decomposition").data["tests"]
    taken = [step for step in lived["steps"] if step["outcome"] is not None]
    told = [step["information"][names.index(step["action"])] for step in taken]
    most = sum(got >= max(step["information"]) - 1e-12 for got, step in zip(told, taken, strict=True))
    assert 0 < most < len(taken)
    assert f"in {most} of {len(taken)} steps" in built("extended-decomposition").remarks[0]


def test_agents_of_a_comparison_share_the_episode() -> None:
    for name in ("tileworld-comparison", "belief-heatmap"):
        episodes = built(name).data["episodes"]
        assert len({one["state"] for one in episodes.values()}) == 1
        assert episodes["efe"]["success"]


def test_a_setting_that_differs_is_contradicted() -> None:
    quote = quotes_of("observation-scaling")[0]
    cell = next(one for one in quote.cells if one.column == "states")
    assert setting(quote, cell, 8, "conditions").verdict == SETTING
    assert setting(quote, cell, 4, "conditions").verdict == CONTRADICTED


def test_a_drop_holds_in_the_unit_in_which_most_episodes_stop_there() -> None:
    quote = next(one for one in quotes_of("efficiency") if one.id == "efficiency-drop")
    inside, outside = [0.0] * 10 + [1.0], [0.0] * 20 + [1.0]
    shares = {(SHARPER, unit): inside for unit in ("bits", "nats")} | {(FORAGING, "planning"): inside}
    both = shares | {(FORAGING, "bits"): inside, (FORAGING, "nats"): inside}
    assert _check(quote, quote.cells[0], both, [10]).verdict == CONFIRMED
    one = shares | {(FORAGING, "bits"): outside, (FORAGING, "nats"): inside}
    assert _check(quote, quote.cells[0], one, [10]).verdict == ONLY_NATS
    none = shares | {(FORAGING, "bits"): outside, (FORAGING, "nats"): outside}
    assert _check(quote, quote.cells[0], none, [10]).verdict == CONTRADICTED


# -- drawing ----------------------------------------------------------------------------------------------------------


def test_labels_keep_clear_of_each_other() -> None:
    drawing, axes = canvas(1, 1, (3.0, 3.0))
    axis = axes[0][0]
    axis.set(xlim=(0, 1), ylim=(0, 1))
    drawing.draw_without_rendering()
    written = place_labels(axis, [(0.5, 0.5, f"label {i}") for i in range(20)], [(0.5, 0.5)])
    assert 2 <= written < 20
    drawing.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axis.texts]
    assert len(boxes) == written
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])


def test_style_does_not_leak() -> None:
    @styled
    def draw(size: float) -> Figure:
        drawing, axes = canvas(1, 1, (size, size))
        axes[0][0].plot([1, 2])
        return drawing

    before = current_style()
    with mpl.rc_context({"font.size": 30}):
        large = draw(3.0)
    assert current_style() == before
    assert png(large) == png(large) == png(draw(3.0))
