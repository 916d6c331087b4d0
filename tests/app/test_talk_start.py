"""A case of its own in the terminal: prior, what is known, results nobody knows, any step taken back, what is told."""

from __future__ import annotations

import json
from pathlib import Path

from rhoplan.advice.replay import replay
from test_talk import talk

NOTED = """
states: [well, ill]
positive: ill
prevalence: 20%
unit: EUR
tests:
  smear: {cost: 3, sensitivity: 80%, specificity: 90%, info: {note: from the left arm, link: "https://example.org/arm"}}
  scan: {cost: 9, sensitivity: 97%, specificity: 98%, after: smear}
losses:
  leave: {well: 0, ill: 200}
  treat: {well: 60, ill: 0}
"""


def test_a_case_starts_as_it_is_told_and_its_log_replays(tmp_path: Path) -> None:
    log = tmp_path / "cases.jsonl"
    typed = "unknown\nundo x\nundo 1\ndk\n1\nundo 1\nstop\n"
    done = talk("chest-pain", "--prior", "disease=30%", "--known", "sex=male", "--log", str(log), typed=typed)
    assert done.returncode == 0, done.stderr
    for line in (
        "prior of this case, not the model's: healthy 70.0%, disease 30.0% (in the model disease 46.0%)",
        "known at the start, not paid for: sex male",
        "if the chance of disease is below",
        "without a test (with the tests that are left)",
        "undo takes the number of a step; it is 'x'",
        "so far: 2 tests",
    ):
        assert line in done.stdout
    record = json.loads(log.read_text())
    assert (record["prior"], record["known"]) == ({"disease": 0.3}, [["sex", "male"]])
    assert len(record["entries"]) == 2
    assert replay(log) == (1, None)


def test_notes_stand_at_their_test_and_others_say_what_they_wait_for(tmp_path: Path) -> None:
    path = tmp_path / "noted.yaml"
    path.write_text(NOTED)
    done = talk(str(path), typed="na\nquit\n")
    assert "note: from the left arm\nlink: https://example.org/arm\n" in done.stdout
    assert "scan waits for smear\n" in done.stdout
    assert "scan waits for smear, and smear is not available" in done.stdout


def test_a_start_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    kept = tmp_path / "case.json"
    talk("tiger-doors", "--case", str(kept), typed="1\nquit\n")
    for options, fault in (
        (["--prior", "tiger-left"], "a prior must read STATE=SHARE"),
        (["--prior", ""], "a prior must read STATE=SHARE, each state once; it is empty"),
        (["--prior", " , "], "it is empty"),
        (["--prior", "tiger-left=0,4"], "'0,4' has a decimal comma: write 0.4"),
        (["--prior", "tiger-left=0,4%,tiger-right=99,6%"], "'0,4%' has a decimal comma: write 0.4%"),
        (["--prior", "tiger-left=92"], "this is '92': write 92%"),
        (["--near", "1,5%"], "'1,5%' has a decimal comma: write 1.5%"),
        (["--prior", "lion=3%"], "prior names the state 'lion'"),
        (["--case", str(kept), "--prior", "tiger-left=30%"], "has started; --prior and --known are for new ones"),
    ):
        done = talk("tiger-doors", *options, typed="")
        assert done.returncode == 2, done.stdout
        assert fault in done.stderr
        assert done.stderr.count("\n") == 1
