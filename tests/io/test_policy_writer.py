"""Policies in SARSOP's format: what is read back is a lower bound everywhere, and ours where beliefs can come to."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rhoplan
from rhoplan.app.cli import _guarded
from rhoplan.io.policy_writer import undominated, write_policy
from rhoplan.io.pomdp import parse_pomdp
from rhoplan.io.pomdp_writer import write_pomdp
from rhoplan.model.pomdp import END, Array
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.certified.solved import SolvedPolicy
from test_pomdpx_files import table, whole

TIGER = """discount: 0.95
values: reward
states: left right
actions: listen open-left open-right
observations: hear-left hear-right
T: listen identity
T: open-left uniform
T: open-right uniform
O: listen
0.85 0.15
0.15 0.85
O: open-left uniform
O: open-right uniform
R: listen : * : * : * -1
R: open-left : left : * : * -100
R: open-left : right : * : * 10
R: open-right : left : * : * 10
R: open-right : right : * : * -100
"""

SEEN = """# Two rooms that are seen, a hidden switch in each, a way out: five classes, one of them the end.
discount: 0.9
values: reward
states: out east-off west-off east-on west-on
actions: walk press leave
observations: east west gone
start: 0 0.25 0.25 0.25 0.25
T: walk : out : out 1
T: walk : east-off : west-off 1
T: walk : west-off : east-off 1
T: walk : east-on : west-on 1
T: walk : west-on : east-on 1
T: press : out : out 1
T: press : east-off : east-off 0.2
T: press : east-off : east-on 0.8
T: press : west-off : west-off 1
T: press : east-on : east-on 1
T: press : west-on : west-on 0.7
T: press : west-on : west-off 0.3
T: leave : * : out 1
O: * : out : gone 1
O: * : east-off : east 1
O: * : east-on : east 1
O: * : west-off : west 1
O: * : west-on : west 1
R: walk : * : * : * -0.1
R: walk : out : * : * 0
R: press : * : * : * -0.3
R: press : out : * : * 0
R: leave : west-on : * : * 10
R: leave : east-off : * : * -5
R: leave : west-off : * : * -2
"""


def read_back(text: str) -> tuple[Array, list[int]]:
    """Vectors (V, S) of a policy file, and the action of each."""
    root = ElementTree.fromstring(text.encode("latin-1"))
    assert root.tag == "Policy"
    assert root.get("type") == "value"
    (table,) = root
    assert table.get("numObsValue") == "1"
    assert len(table) == int(table.get("numVectors") or 0)
    vectors = np.array([[float(word) for word in (one.text or "").split()] for one in table])
    assert vectors.shape[1] == int(table.get("vectorLength") or 0)
    assert {one.get("obsValue") for one in table} == {"0"}
    return vectors, [int(one.get("action") or 0) for one in table]


def solved(problem: rhoplan.POMDP, gap: float = 1e-3) -> SolvedPolicy:
    policy = solve(problem, gap=gap, seconds=600, method="points").policy
    assert policy is not None
    return policy


@pytest.mark.parametrize("text", [TIGER, SEEN])
def test_vectors_over_a_files_own_states_are_the_policys(text: str) -> None:
    problem = parse_pomdp(text, file="own.pomdp")
    policy = solved(problem)
    vectors, actions = read_back(write_policy(policy))
    names = [action.name for action in problem.menu(problem.start)]
    rng = np.random.default_rng(0)
    here = problem.belief()
    for _ in range(60):  # a walk through beliefs that come up
        worth = vectors @ here.beliefs[0]
        best = int(np.argmax(worth))
        assert worth[best] == pytest.approx(policy.value(here)[0], abs=1e-9)
        assert names[actions[best]] == policy.action(here)
        action = rng.choice(np.array(here.menu, dtype=object))
        ways = here.branches(action)
        way = ways[int(rng.choice(len(ways), p=[one.probability for one in ways]))]
        here = problem.belief() if way.belief.observable is END else way.belief


def test_no_vector_is_above_the_optimum_at_any_belief() -> None:
    """Also at beliefs that mix states which are always told apart: solve the file from there."""
    vectors, _ = read_back(write_policy(solved(parse_pomdp(SEEN, file="own.pomdp"), gap=1e-4)))
    rng = np.random.default_rng(1)
    for _ in range(12):
        belief = rng.dirichlet(np.full(5, 0.4))
        start = f"start: {' '.join(map(repr, belief.tolist()))}"
        other = parse_pomdp(SEEN.replace("start: 0 0.25 0.25 0.25 0.25", start), file="own.pomdp")
        assert (vectors @ belief).max() <= solve(other, gap=1e-4, seconds=600).upper + 1e-9


def test_a_policy_says_whose_it_is() -> None:
    problem = parse_pomdp(TIGER, file="own.pomdp")
    for spec, told in (("", problem.name), ("folder/tiger.pomdp", "tiger.pomdp")):
        text = write_policy(solved(replace(problem, spec=spec)))
        assert f' model="{told}" ' in text


def test_where_the_episode_is_over_nothing_is_worth_anything() -> None:
    vectors, _ = read_back(write_policy(solved(parse_pomdp(SEEN, file="own.pomdp"))))
    assert vectors[:, 0].max() == 0


@pytest.mark.parametrize("spec", ["rocksample-standard:n=2,k=1", "rocksample-standard:n=3,k=2"])
def test_vectors_of_other_problems_are_over_the_written_file(spec: str) -> None:
    problem = rhoplan.make(spec)
    policy = solved(problem, gap=1e-2)
    vectors, actions = read_back(write_policy(policy))
    written = parse_pomdp(write_pomdp(problem), file="written.pomdp")
    names = [action.name for action in written.menu(written.start)]

    assert vectors.shape[1] == len(written.states)
    rng = np.random.default_rng(2)
    ours, theirs = problem.belief(), written.belief()
    for _ in range(60):
        worth = vectors @ theirs.beliefs[0]
        best = int(np.argmax(worth))
        assert worth[best] == pytest.approx(policy.value(ours)[0], abs=1e-9)
        assert names[actions[best]] == policy.action(ours)
        menu = ours.menu
        action = menu[int(rng.integers(len(menu)))]
        ways = ours.branches(action)
        way = ways[int(rng.choice(len(ways), p=[one.probability for one in ways]))]
        if way.belief.observable is END:
            ours, theirs = problem.belief(), written.belief()
            continue
        twin = next(one for one in written.menu(written.start) if one.name == action.name)
        (theirs,) = [one.belief for one in theirs.branches(twin) if one.observation.startswith(way.observation)]
        ours = way.belief


def test_a_first_look_counts_as_a_step_and_a_note_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rooms = table("room_0", "null", ("-", "0.3 0.7 0"))
    lamps = table("lamp_0", "null", ("-", "0.5 0.5"))
    (tmp_path / "lamp.pomdpx").write_text(whole(start=rooms + lamps))
    (tmp_path / "tiger.pomdp").write_text(TIGER)
    told = {}
    for file in ("lamp.pomdpx", "tiger.pomdp"):
        out = tmp_path / f"{file}.policyx"
        assert _guarded(["solve", str(tmp_path / file), "--gap", "1e-6", "--save", str(out)]) == 0
        told[file] = capsys.readouterr().err
    problem = rhoplan.make(str(tmp_path / "lamp.pomdpx"))
    written = parse_pomdp(write_pomdp(problem), file="written.pomdp")
    vectors, _ = read_back((tmp_path / "lamp.pomdpx.policyx").read_text())
    value = solve(problem, gap=1e-6).lower
    assert (vectors @ written.belief().beliefs[0]).max() == pytest.approx(problem.discount * value, abs=1e-5)
    assert f"the first look takes a step: its vectors give {problem.discount:g} times the value" in told["lamp.pomdpx"]
    assert "first look" not in told["tiger.pomdp"]


def test_what_vectors_cannot_tell_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tiger.pomdp").write_text(TIGER)
    file, out = str(tmp_path / "tiger.pomdp"), str(tmp_path / "tiger.policyx")
    for more, line in (
        (("--weight", "1"), "must have weight 0; it has 1"),
        (("--discount", "1"), "must have a discount below 1; it has 1"),
        (("--horizon", "4"), "must have no horizon; it has 4"),
    ):
        assert _guarded(["solve", file, "--save", out, *more]) == 2
        told = capsys.readouterr().err
        assert line in told
        assert told.count("\n") == 1
        assert not Path(out).exists()
    assert _guarded(["solve", file, "--save", out]) == 0
    assert "(SARSOP's format)" in capsys.readouterr().out
    assert read_back(Path(out).read_text())[0].shape[1] == 2


def test_a_policy_with_a_price_on_information_is_refused() -> None:
    policy = solve(parse_pomdp(TIGER, file="own.pomdp"), weight=1.0, gap=0.1).policy
    assert policy is not None
    with pytest.raises(rhoplan.AgentError, match="must have weight 0"):
        write_policy(policy)


def test_vectors_that_another_beats_everywhere_are_left_out() -> None:
    alpha = np.array([[1.0, 1.0], [0.0, 3.0], [1.0, 1.0], [0.5, 1.0], [2.0, 0.0], [0.0, 2.9]])
    assert sorted(undominated(alpha)) == [0, 1, 4]
