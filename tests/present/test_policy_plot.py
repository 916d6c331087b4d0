"""Drawings of policies: what they show is what the policy says, and what cannot be drawn is refused at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rhoplan
from rhoplan.app.cli import _guarded
from rhoplan.io.pomdp import parse_pomdp
from rhoplan.model.belief import Belief
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.certified.solved import SolvedPolicy
from rhoplan.present import policy_plot

matplotlib = pytest.importorskip("matplotlib")

TIGER = """discount: 0.95
states: left right
actions: listen open-left open-right
observations: hear-left hear-right
T: listen identity
T: open-left uniform
T: open-right uniform
O: * uniform
O: listen
0.85 0.15
0.15 0.85
R: listen : * : * : * -1
R: open-left : left : * : * -100
R: open-left : right : * : * 10
R: open-right : left : * : * 10
R: open-right : right : * : * -100
"""


KNOWN = """discount: 1.0
states: good bad done
actions: wait kick stop
observations: nothing over
start: good
T: wait identity
T: kick : good 0.5 0.5 0.0
T: kick : bad : bad 1.0
T: kick : done : done 1.0
T: stop : * : done 1.0
O: * : good 1.0 0.0
O: * : bad 1.0 0.0
O: * : done 0.0 1.0
R: wait : bad : * : * -1
R: kick : good : * : * -0.1
R: kick : bad : * : * -0.1
R: stop : bad : * : * 5
R: stop : good : * : * -1
"""
"""Waiting costs nothing where it is good, so that what is possible is told apart if there is no discount."""


def solved(spec: str, **settings: Any) -> SolvedPolicy:
    policy = solve(rhoplan.make(spec), method="points", seconds=600, **settings).policy
    assert policy is not None
    return policy


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are drawn, kept."""
    import matplotlib.pyplot as plt

    kept: list[Any] = []
    monkeypatch.setattr(plt, "close", kept.append)
    return kept


def words_of(figure: Any) -> list[Any]:
    from matplotlib.text import Text

    return [one for one in figure.findobj(Text) if one.get_text()]


def texts(figure: Any) -> list[str]:
    return [one.get_text() for one in words_of(figure)]


@pytest.mark.parametrize("weight", [0.0, 5.0])
def test_the_line_shows_both_bounds_and_every_first_action(tmp_path: Path, drawn: list[Any], weight: float) -> None:
    policy = solved("tiger", weight=weight, gap=0.1)
    rhoplan.plot_policy(policy, tmp_path / "tiger.png")

    (figure,) = drawn
    value, gap = figure.axes
    lines = {line.get_label(): line.get_xydata() for line in value.lines}
    lower, upper = lines["lower bound"], lines["upper bound"]
    for place, height in lower[::40]:
        here = Belief(policy.origin, policy.origin.start, (np.array([1 - place, place]),))
        low, high = policy.value(here)
        assert height == pytest.approx(low, abs=1e-9)
        assert np.interp(place, *upper.T) <= high + 1e-9
    assert np.all(lower[:, 1] <= upper[:, 1] + 1e-9)
    assert gap.lines[0].get_ydata() == pytest.approx(upper[:, 1] - lower[:, 1])
    assert {"open-left", "listen", "open-right"} <= set(texts(figure))
    assert "probability of tiger-right (else tiger-left)" in texts(figure)
    assert (tmp_path / "tiger.png").read_bytes().startswith(b"\x89PNG")


def test_kinks_are_where_two_plans_are_worth_the_same() -> None:
    policy = solved("tiger", gap=1e-3)
    kinks = policy_plot._kinks(policy)
    assert len(kinks) >= 2
    for kink in kinks:
        worth = np.sort(policy.plans_from(np.array([[1 - kink, kink]]))[0][0])
        assert worth[-1] == pytest.approx(worth[-2], abs=1e-6)


def test_bounds_at_certainty_settle_and_still_hold() -> None:
    """A tiger that starts again: to know once where it is is worth the open door and the value of the start."""
    problem = parse_pomdp(TIGER, file="tiger.pomdp")
    found = solve(problem, gap=1e-4)
    assert found.policy is not None
    before, after = found.policy.upper_from(np.eye(2)), found.policy.tightened().upper_from(np.eye(2))
    assert np.all(after <= before + 1e-9)
    assert after == pytest.approx(10 + 0.95 * 19.371368, abs=1e-3)
    assert np.all(after >= 10 + 0.95 * found.lower)
    assert after == pytest.approx(np.full(2, 10 + 0.95 * found.upper), abs=1e-2)


def test_the_triangle_names_its_corners_and_actions(tmp_path: Path, drawn: list[Any]) -> None:
    policy = solved("diagnosis:n=3", gap=0.5)
    for ending in ("svg", "pdf"):
        rhoplan.plot_policy(policy, tmp_path / f"three.{ending}")
    words = texts(drawn[0])
    worth, actions = policy.plans_from(np.vstack([np.eye(3), policy.problem.start]))
    assert {f"surely condition-{number}" for number in range(3)} <= set(words)
    assert {actions[best] for best in worth.argmax(axis=1)} <= set(words)
    low, high = policy.value(Belief(policy.origin, policy.origin.start, (policy.problem.start,)))
    assert any(f"between {low:.4f} and" in word for word in words)
    assert (tmp_path / "three.svg").read_text().lstrip().startswith("<?xml")
    assert (tmp_path / "three.pdf").read_bytes().startswith(b"%PDF")
    assert high >= low


THREE = """discount: 0.9
states: a b c
actions: go stay
observations: x y
start: {start}
T: go
0.2 0.5 0.3
0.4 0.4 0.2
0.1 0.1 0.8
T: stay
0.9 0.05 0.05
0.05 0.9 0.05
0.3 0.3 0.4
O: go
0.7 0.3
0.4 0.6
0.1 0.9
O: stay uniform
R: go : b : a : * 3
R: stay : a : a : * {best}
"""


@pytest.mark.parametrize("best", [2.0, 2e5])
def test_labels_of_contours_lie_inside_and_are_on_their_contour(tmp_path: Path, drawn: list[Any], best: float) -> None:
    problem = parse_pomdp(THREE.format(start="0.5 0.3 0.2", best=best), file="three.pomdp")
    policy = solve(problem, gap=1e-3).policy
    assert policy is not None
    rhoplan.plot_policy(policy, tmp_path / "three.png")
    (axis,) = drawn[0].axes
    labels = [one for one in axis.texts if not one.get_text().startswith("surely")]
    assert len(labels) >= 4
    assert len({len(one.get_text().partition(".")[2]) for one in labels}) == 1  # as many decimals in all
    to_data = axis.transData.inverted()
    to_beliefs = np.linalg.inv(np.column_stack([policy_plot.CORNERS, np.ones(3)]))
    for label in labels:
        box = label.get_window_extent()
        corners = to_data.transform([(x, y) for x in (box.x0, box.x1) for y in (box.y0, box.y1)])
        assert (np.column_stack([corners, np.ones(4)]) @ to_beliefs).min() > 0
        belief = np.array([*label.get_position(), 1]) @ to_beliefs
        worth = policy.plans_from(belief[None])[0].max()
        assert worth == pytest.approx(float(label.get_text()), abs=0.01 * best)
    boxes = [label.get_window_extent() for label in labels]
    assert not any(one.overlaps(other) for n, one in enumerate(boxes) for other in boxes[:n])


def test_corners_that_are_impossible_at_the_start_have_names_and_the_star_is_whole(
    tmp_path: Path, drawn: list[Any]
) -> None:
    problem = parse_pomdp(THREE.format(start="a", best=2), file="three.pomdp")
    policy = solve(problem, gap=1e-3).policy
    assert policy is not None
    assert sorted(policy.start_states) == ["a", "b", "c"]
    rhoplan.plot_policy(policy, tmp_path / "three.png")
    assert {"surely a", "surely b", "surely c"} <= set(texts(drawn[0]))
    (star,) = [line for line in drawn[0].axes[0].lines if line.get_label() == "start"]
    assert not star.get_clip_on()


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ([9.6, 10.4, 11.2], ["9.6", "10.4", "11.2"]),
        ([-0.25, 1e-17, 0.25], ["-0.25", "0.00", "0.25"]),
        ([42201.6, 42202.0], ["42201.6", "42202.0"]),
        ([1e12, 1.5e12], ["1.0e+12", "1.5e+12"]),
        ([2e-7, 4e-7], ["2e-07", "4e-07"]),
        ([3.0], ["3"]),
    ],
)
def test_levels_are_told_with_as_many_digits_as_it_takes(levels: list[float], words: list[str]) -> None:
    assert policy_plot.level_words(np.array(levels)) == words


def test_title_and_caption_do_not_touch(tmp_path: Path, drawn: list[Any]) -> None:
    problem = parse_pomdp(THREE.format(start="a", best=2), file="three.pomdp")
    policy = solve(problem, gap=1e-3).policy
    assert policy is not None
    rhoplan.plot_policy(policy, tmp_path / "three.png")
    (figure,) = drawn
    (caption,) = [one for one in words_of(figure) if one.get_text().startswith("At the start")]
    gap = figure._suptitle.get_window_extent().y0 - caption.get_window_extent().y1
    assert gap > 0.04 * figure.dpi


def test_cells_of_the_triangle_cover_it_once() -> None:
    beliefs, cells = policy_plot._triangle(7)
    assert beliefs.sum(axis=1) == pytest.approx(1)
    corners = (beliefs @ policy_plot.CORNERS)[cells]
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    areas = np.abs(first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]) / 2
    assert len(cells) == 49
    assert areas == pytest.approx(np.full(49, np.sqrt(3) / 4 / 49))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("diagnosis:n=4", "--plot", "x.png"),
            "a plan is drawn over two or three hidden states that are not alike; 'diagnosis' starts with 4",
        ),
        (("tiger", "--plot", "x.gif"), "a drawing must end in .png, .svg, .pdf; it is 'x.gif'"),
        (
            ("tiger", "--plot", "x.png", "--method", "reveal"),
            "--save, --plot and --check are not for method reveal",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_the_work(
    arguments: tuple[str, ...], line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rhoplan.planning.certified.solve.solve", lambda *_, **__: pytest.fail("it was solved"))
    assert _guarded(["solve", *arguments]) == 2
    assert line in " ".join(capsys.readouterr().err.split())


def test_the_command_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new" / "value.svg"
    assert _guarded(["solve", "tiger", "--horizon", "3", "--plot", str(path), "--gap", "0.1"]) == 0
    assert f"drawn: {path}" in capsys.readouterr().out
    assert path.read_text().lstrip().startswith("<?xml")


def test_a_start_that_is_known_is_refused_before_it_is_solved(tmp_path: Path) -> None:
    problem = parse_pomdp(KNOWN)
    with pytest.raises(rhoplan.errors.ProblemError, match=r"two or three hidden states.*starts with 1"):
        policy_plot.check_plot(problem, tmp_path / "plan.png", weight=0.0, discount=1.0)
    policy_plot.check_plot(problem, tmp_path / "plan.png", weight=0.0, discount=0.9)
