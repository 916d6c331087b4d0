"""The printable report: its numbers against a brute force, its sections, its refusals, and how it prints."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rhoplan.advice.words import chance, in_thousand, money, percent
from rhoplan.agents.agent import decide, make_agent
from rhoplan.app.cli import main
from rhoplan.io.model_file import parse_model
from rhoplan.present.content import Report, make_report
from rhoplan.present.page.page import page, write_report
from rhoplan.present.telling import as_text
from rhoplan.problems.registry import make
from serving import PATIENCE
from test_sheets import ODD, odd_problem

CHROMIUM = os.environ.get("RHOPLAN_CHROMIUM", "/usr/bin/chromium")
PAPER = 680
"""CSS pixels between the margins of A4: 210 mm less twice 15 mm."""


@cache
def report_of(name: str, agent: str = "efe", **settings: Any) -> Report:
    problem = make(name)
    return make_report(problem, make_agent(agent, problem, **settings), seconds=2.0, budget=0.05)


@cache
def page_of(name: str, agent: str = "efe", **settings: Any) -> str:
    return page(report_of(name, agent, **settings))


class Words(HTMLParser):
    """The text of a page by section, and the cells of its tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: dict[str, str] = {"": ""}
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.heading = ""
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "h2":
            self.heading = ""
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        if "h2" in self.open:
            self.heading += data
            self.sections.setdefault(self.heading, "")
            return
        self.sections[self.heading] = self.sections.get(self.heading, "") + data + " "
        if self.open and {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


# -- numbers ------------------------------------------------------------------------------------------------------


def followed(problem, agent):
    """Every case there can be: hidden state, results, probability, final action and what was spent on tests."""
    menu = problem.flat

    def go(state, seen, probability, spent):
        choice = decide(problem, agent, problem.belief(given=seen)).choice
        test = next((one for one in menu.tests if one.name == choice), None)
        if test is None:
            yield state, tuple(seen), probability, choice, spent
            return
        done = [name for name, _ in seen]
        groups = {one.group for one in menu.tests if one.name in done}
        price = test.cost + (menu.first_prices.get(test.group, 0) if test.group and test.group not in groups else 0)
        for outcome, chance_of in zip(test.outcomes, test.likelihood[state], strict=True):
            if chance_of > 0:
                yield from go(state, [*seen, (choice, outcome)], probability * chance_of, spent + price)

    for state, share in enumerate(problem.prior.tolist()):
        yield from go(state, [], share, 0.0)


def ends_of(node, seen=()):
    """Leaves of a pathway by the results that lead there."""
    for outcome in getattr(node, "outcomes", ()):
        yield from ends_of(outcome.child, (*seen, (node.action, outcome.outcome)))
    if not hasattr(node, "outcomes"):
        yield seen, node


@pytest.mark.parametrize("name", ["screening-cascade", "four-diseases"])
def test_numbers_are_those_of_all_cases_enumerated(name):
    report = report_of(name)
    problem, text = report.problem, Words(page_of(name))
    commits = {commit.name: commit.reward for commit in problem.flat.commits}
    best = [max(reward[s] for reward in commits.values()) for s in range(len(problem.states))]
    cases = list(followed(problem, report.agent))
    assert sum(p for _, _, p, _, _ in cases) == pytest.approx(1, abs=1e-12)
    spent = sum(p * paid for _, _, p, _, paid in cases)
    loss = sum(p * (paid - commits[done][s]) for s, _, p, done, paid in cases)
    right = sum(p for s, _, p, done, _ in cases if commits[done][s] == best[s])
    by_cost: dict[float, float] = defaultdict(float)
    leaves: dict[Any, Any] = defaultdict(lambda: np.zeros(len(problem.states)))
    for state, seen, probability, done, paid in cases:
        by_cost[paid] += probability
        leaves[seen, done][state] += probability
    most = min(paid for paid in by_cost if sum(p for other, p in by_cost.items() if other <= paid) >= 0.9)
    ahead = report.pathway.ahead
    assert ahead.cost == pytest.approx(spent, abs=1e-9)
    assert -ahead.reward == pytest.approx(loss, abs=1e-9)
    assert ahead.right == pytest.approx(right, abs=1e-9)
    assert ahead.bad_case()[1] == most
    assert sum(leaf.share for leaf in report.pathway.leaves) == pytest.approx(1, abs=1e-9)
    assert sum(leaf.share * leaf.cost for leaf in report.pathway.leaves) == pytest.approx(spent, abs=1e-9)
    for place, commit in enumerate(commits):
        ends = sum((shares for (_, done), shares in leaves.items() if done == commit), np.zeros(len(problem.states)))
        assert report.ends[place] == pytest.approx(ends, abs=1e-12)
        row = [f"{1000 * share:,.1f}" if share >= 1e-4 else in_thousand(share) for share in (*ends, ends.sum())]
        assert [commit, *row] in [line[:-1] for line in text.rows if line and line[0] == commit]
    lines = {int(line[0].split(".")[0]): line for line in text.rows if re.match(r"\d+\. ", line[0])}
    drawn = dict(ends_of(report.pathway.root))
    assert {(seen, leaf.action) for seen, leaf in drawn.items()} == set(leaves)
    for (seen, done), shares in leaves.items():
        line, posterior = lines[drawn[seen].number], shares / shares.sum()
        sure = sum(posterior[s] for s in range(len(posterior)) if commits[done][s] == best[s])
        assert line[0].endswith(f": {done}")
        assert line[1] == in_thousand(shares.sum())
        assert line[3] == chance(sure)
        if report.pathway.looked_for:
            assert line[2] == chance(posterior[1])
        else:
            assert line[2].startswith(f"{problem.states[posterior.argmax()]} {percent(posterior.max())}")
    box, thousand = text.sections[""], text.sections[f"What becomes of 1,000 {report.pathway.said['cases']}"]
    for shown in (money(loss, "EUR"), money(spent, "EUR"), f"at most {money(most, 'EUR')}"):
        assert shown in box
    assert f"{in_thousand(right)} of 1,000 get a best action" in thousand
    assert f"spend at most {money(most, 'EUR')}" in thousand


def test_misses_and_false_alarms_of_a_screening_are_counted():
    problem = make("screening-cascade")
    share: dict[Any, float] = defaultdict(float)
    for state, _, probability, done, _ in followed(problem, make_agent("efe", problem)):
        share[problem.states[state], done] += probability
    miss, alarm = share["ill", "leave"], share["well", "treat"]
    hit, clear = share["ill", "treat"], share["well", "leave"]
    told = Words(page_of("screening-cascade")).sections["What becomes of 1,000 patients"]
    assert f"Misses (ill, leave): {in_thousand(miss)} of 1,000" in told
    assert f"false alarms (well, treat): {in_thousand(alarm)} of 1,000" in told
    assert f"PPV {chance(hit / (hit + alarm))}" in told
    assert f"NPV {chance(clear / (clear + miss))}" in told
    assert f"sensitivity {chance(hit / (hit + miss))}, specificity {chance(clear / (clear + alarm))}" in told


def test_accuracy_of_tests_is_worked_out_from_their_rows():
    """A strip of which 5% cannot be read: its sensitivity is that of the others."""
    rows = {row[0]: row for row in Words(page_of("screening-cascade")).rows if row[0] in ("strip", "lab-assay")}
    assert rows["strip"][3] == "positive / negative5% cannot be read"
    assert rows["strip"][4:8] == ["92%", "94%", f"{0.92 / 0.06:.3g}", f"{0.08 / 0.94:.3g}"]
    assert rows["lab-assay"][6:8] == ["95", "0.05"]
    assert rows["strip"][8] == chance(0.01 * 0.92 / (0.01 * 0.92 + 0.99 * 0.06))


def test_tests_with_more_results_have_a_likelihood_ratio_for_each():
    problem, rows = make("chest-pain"), Words(page_of("chest-pain")).rows
    more = [test for test in problem.flat.tests if len(test.outcomes) > 2]
    assert more
    for test in more:
        for column, outcome in enumerate(test.outcomes):
            healthy, disease = test.likelihood[:, column]
            after = problem.prior[1] * disease / (problem.prior @ test.likelihood[:, column])
            assert any(row[-5:] == [
                outcome, f"{100 * disease:.3g}%", f"{100 * healthy:.3g}%", f"{disease / healthy:.3g}", chance(after)
            ] for row in rows), outcome  # fmt: skip


def test_every_chance_of_a_model_with_more_states_is_there():
    problem, rows = make("four-diseases"), Words(page_of("four-diseases")).rows
    for test in problem.flat.tests:
        for column, outcome in enumerate(test.outcomes):
            wanted = [outcome, *(f"{100 * share:g}%" for share in test.likelihood[:, column])]
            assert any(row[-len(wanted) :] == wanted for row in rows), (test.name, outcome)


# -- what is said -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["screening-cascade", "four-diseases", "bridge", "tiger"])
def test_all_that_a_report_must_hold_is_there(name):
    report, text = report_of(name), Words(page_of(name))
    said = report.pathway.said
    for section in (
        "States and final actions", said["tests"].capitalize(), "Recommended pathway",
        f"What becomes of 1,000 {said['cases']}", "When to stop",
        "Compared with other ways of deciding", "What the weight does", "What would change the first action",
        "Assumptions and warnings",
    ):  # fmt: skip
        assert text.sections[section].strip(), section
    whole = " ".join(text.sections.values())
    problem = report.problem
    for named in (*problem.states, *(test.name for test in problem.flat.tests)):
        assert named in whole
    for commit in problem.flat.commits:
        assert commit.name in text.sections["States and final actions"]
    ways = text.sections["Compared with other ways of deciding"]
    for way in ("commit now", "all tests, then commit", "cost-only planned", "efe", "certified optimum"):
        assert way in ways
    numbers = [int(row[0].split(".")[0]) for row in text.rows if re.match(r"\d+\. ", row[0])]
    assert numbers == [node.number for node in report.pathway.nodes]
    assert ("chance of" in text.sections["When to stop"]) == (len(problem.states) == 2)


def test_the_page_needs_nothing_else():
    text = page_of("bridge")
    assert "<script" not in text
    assert "src=" not in text
    assert "@import" not in text
    assert set(re.findall(r"https?://[^'\"<> ]*", text)) == {"http://www.w3.org/2000/svg"}


def test_any_name_is_safe_in_the_page():
    problem = odd_problem()
    text = Words(page(make_report(problem, make_agent("efe", problem), seconds=0.5, budget=0.05)))
    whole = " ".join(text.sections.values())
    for name in (*ODD[:5], ODD[6], ODD[7]):
        assert name in whole


def test_the_weight_is_told_with_its_steps():
    text = Words(page_of("tiger"))
    told = text.sections["What the weight does"]
    assert "One plan for every weight from 0 to 42 points per nat; this report has 1" in told
    assert "Expected reward is highest there" in told
    assert ["0 to 42", "5.16", "99.45%", "4.24"] in text.rows
    assert "<tr class=mine><td>0 to 42</td>" in page_of("tiger")
    assert "this plan" in told
    bits = Words(page_of("tiger", unit="bits")).sections["What the weight does"]
    assert "from 0 to 29.1 points per bit; this report has 1" in bits, "42 per nat are 29.1 per bit"


def test_of_many_steps_the_table_has_those_that_buy_something():
    problem = make("printer")
    report = make_report(problem, make_agent("efe", problem), seconds=PATIENCE, budget=0.05)
    drawn = page(report)
    text = Words(drawn)
    start = next(k for k, row in enumerate(text.rows) if row and row[0] == "weight, minutes per nat")
    shown = []
    for row in text.rows[start + 1 :]:
        if not re.match(r"[\d.,]+ to ", row[0]):
            break
        shown.append(row)
    assert f"{len(shown)} of {len(report.frontier.points)} steps" in text.sections["What the weight does"]
    points = sorted(report.frontier.points, key=lambda point: (-point.reward, -point.success))
    best, wanted = -1.0, []
    for point in points:
        if point.success > best + 1e-9:
            best = point.success
            wanted.append(percent(point.success))
    assert {row[2] for row in shown} == {*wanted, percent(report.pathway.ahead.right)}
    marked = re.findall(r"<tr class=mine><td>([^<]+) to ([^<]+)</td><td class='n'>([^<]+)<", drawn)
    ours = [row for row in marked if row[2] == f"{-report.pathway.ahead.reward:.2f}"]
    assert [float(lower) <= 1 <= float(upper) for lower, upper, _ in ours] == [True]


def test_one_plan_for_all_weights_needs_no_figure():
    told = Words(page_of("screening-cascade")).sections["What the weight does"]
    assert told.strip() == "One plan for every weight from 0 to 12,000 EUR per nat: the weight does not matter here."


def test_a_weight_beyond_the_rewards_is_still_on_the_figure():
    told = Words(page_of("screening-cascade", "planning-ig", weight=50_000.0)).sections["What the weight does"]
    assert "0 to 100,000 EUR per nat" in told


@pytest.mark.parametrize("agent", ["epistemic-only", "myopic"])
def test_agents_without_a_frontier_have_none(agent):
    assert (report_of("tiger", agent).frontier is None) == (agent == "epistemic-only")


def test_a_better_plan_is_told_at_the_top_and_the_worse_one_never_called_best():
    text = Words(page_of("testbed"))
    top = text.sections[""]
    better = re.search(r"The cost-only plan \(weight 0, horizon \d+\) is better by (0\.\d+ points)", top)
    assert better, "how far it looks ahead is a matter of time"
    assert f"worse by {better[1]}" in top
    assert "as good" not in top
    good = Words(page_of("testbed", "planning", horizon=6)).sections[""]
    assert "is better by 0." not in good
    assert "no plan is better by more than that" in good, "bounds that nearly meet are no proof of equality"
    exact = Words(page_of("screening-cascade")).sections[""]
    assert "as good" in exact
    assert "it reaches the certified optimum" in exact


def test_warnings_are_told_once():
    whole = " ".join(Words(page_of("testbed")).sections.values())
    assert len(re.findall(r"is better by 0\.\d+ points", whole)) == 1
    assert "Told at the top of this report: dominant weight, cost-only better" in whole


def test_sources_and_notes_are_printed():
    assert "Kaelbling, Littman and Cassandra (1998)" in Words(page_of("tiger-doors")).sections[""]
    assert "read by eye after 15 minutes" in Words(page_of("screening-cascade")).sections["Tests"]


def test_models_without_choice_have_a_report(tmp_path):
    model = tmp_path / "bare.yaml"
    model.write_text("states: [a, b]\nprior: [1, 0]\ntests: {}\nlosses: {x: {a: 1, b: 2}}\n")
    problem = make(str(model))
    text = Words(page(make_report(problem, make_agent("efe", problem), seconds=0.5, budget=0.05)))
    assert "no tests" in text.sections["Tests"]
    assert "stop and commit to" in text.sections[""]


# -- the command --------------------------------------------------------------------------------------------------


def run(capsys, *arguments) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["report", *map(str, arguments)])
    said = capsys.readouterr()
    return int(stopped.value.code or 0), said.out, said.err


def test_the_command_writes_the_page_and_three_figures_beside_it(tmp_path, capsys):
    code, out, err = run(capsys, "screening-cascade", "-o", tmp_path / "new" / "report.html", "--budget", 0.1)
    assert (code, err) == (0, "")
    assert out.startswith("First: strip (next best: leave, ")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "report.html", "report.mmd", "report.svg", "report.txt"
    ]  # fmt: skip
    assert (tmp_path / "new" / "report.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (tmp_path / "new" / "report.mmd").read_text(encoding="utf-8").startswith("flowchart LR")
    assert "1. run strip for 4 EUR" in (tmp_path / "new" / "report.txt").read_text(encoding="utf-8")


BAD_MODEL = "states: [a, b]\nprior: [0.5, 0.6]\ntests: {}\nlosses: {x: {a: 0, b: 1}}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{bad}"], "prior must sum to 1"),
        (["{here}/none.yaml"], "the file cannot be read"),
        (["no-such-problem"], "there is no problem 'no-such-problem'"),
        (["drilling"], "drill changes what it measures"),
        (["rocksample"], "a report needs tests that leave one hidden state alone"),
        (["tiger", "--horizon", "0"], "horizon must be a whole number from 1"),
        (["tiger", "--agent", "all"], "one agent at a time"),
        (["tiger", "--precision", "1"], "always does the same"),
        (["tiger", "--planner", "mcts"], "always does the same"),
        (["tiger", "--budget", "0"], "--budget"),
        (["tiger", "--budget", "nan"], "--budget must be a number of seconds"),
        (["tiger", "--smallest", "0"], "a share of cases must be above 0 and at most 1; it is 0"),
        (["tiger", "--smallest", "few"], "a probability such as 0.4, 40% or 2 in 5 is expected"),
        (["tiger", "-o", "{here}"], "is a directory"),
        (["tiger", "-o", "{here}/report.pdf"], "--out must end in .html"),
        (["tiger", "-o", "{bad}/report.html"], "is not a folder"),
        (["tiger", "-o", "/proc/none/report.html"], "cannot write"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arguments, said, tmp_path, capsys):
    bad = tmp_path / "bad.yaml"
    bad.write_text(BAD_MODEL)
    filled = [one.format(here=tmp_path, bad=bad) for one in arguments]
    code, out, err = run(capsys, *filled, *([] if "-o" in filled else ["-o", tmp_path / "report.html"]))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.yaml"]


def test_a_read_only_place_is_refused_before_the_work(tmp_path, capsys, monkeypatch):
    """Root may write anywhere, so the answer of the system is played."""
    monkeypatch.setattr("rhoplan.app.cli.common.os.access", lambda path, mode: Path(path) != tmp_path)
    monkeypatch.setattr("rhoplan.present.content.make_report", lambda *_, **__: pytest.fail("worked for nothing"))
    code, _, err = run(capsys, "tiger", "-o", tmp_path / "deep" / "report.html")
    assert code == 2
    assert f"'{tmp_path}' is read-only" in err


def test_a_disk_that_fails_while_writing_is_told_in_one_line(tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rhoplan.present.page.page.write_text", full)
    code, _, err = run(capsys, "tiger", "-o", tmp_path / "report.html", "--budget", 0.05)
    assert code == 2
    assert err.count("\n") == 1
    assert "No space left on device" in err


# -- dozens of tests ----------------------------------------------------------------------------------------------


@cache
def probes(smallest: float | None) -> Report:
    """The report on a model with more tests than exact look-ahead is quick for."""
    rows = [
        f"  probe-{k}: {{cost: {1 + k % 5}.5, outcomes: [pos, neg], likelihood: "
        f"{{well: [{0.1 + 0.01 * k:.2f}, {0.9 - 0.01 * k:.2f}], ill: [{0.9 - 0.02 * k:.2f}, {0.1 + 0.02 * k:.2f}]}}}}"
        for k in range(30)
    ]
    head = ["name: probes", "unit: EUR", "states: [well, ill]", "prior: [0.7, 0.3]", "tests:"]
    text = "\n".join([*head, *rows, "losses: {leave: {well: 0, ill: 100}, treat: {well: 60, ill: 0}}"])
    problem = parse_model(text)
    return make_report(problem, make_agent("efe", problem), seconds=0.5, budget=0.5, smallest=smallest)


def test_a_plan_found_by_bounds_says_so_in_every_section():
    report = probes(None)
    assert report.agent.planner.name == "many"
    text = Words(page(report))
    kinds = {
        "": "Bounded : by branch and bound",
        "Recommended pathway": "Exact : for the plan that was found",
        "What becomes of 1,000 cases": "Exact : for the plan that was found",
        "When to stop": "Not worked out: ",
        "Compared with other ways of deciding": "Bounded : each plan is scored exactly",
        "What the weight does": "Not worked out: ",
    }
    for section, words in kinds.items():
        assert words in text.sections[section], section
    assert re.search("Estimated|Not worked out", text.sections["What would change the first action"])
    assert "All numbers are exact" not in text.sections["Assumptions and warnings"]
    assert "found by branch and bound" in text.sections[""]


@pytest.mark.parametrize("smallest", [None, 0.05])
def test_the_plan_found_is_followed_to_all_ends(smallest):
    report = probes(smallest)
    leaves, ahead = report.pathway.leaves, report.pathway.ahead
    assert sum(leaf.share for leaf in leaves) == pytest.approx(1, abs=1e-9)
    for what in ("tests", "cost", "reward", "right"):
        assert sum(leaf.share * getattr(leaf, what) for leaf in leaves) == pytest.approx(getattr(ahead, what), abs=1e-9)
    assert report.ends.sum() == pytest.approx(1, abs=1e-9)
    assert float((report.ends * report.problem.flat.right).sum()) == pytest.approx(ahead.right, abs=1e-9)
    asked = next(row for row in report.rows if row.key == "asked")
    assert asked.reward == pytest.approx(ahead.reward, abs=1e-9)


def test_a_larger_share_folds_more_and_the_page_says_how_much():
    usual, coarse = probes(None), probes(0.05)
    assert len(coarse.pathway.nodes) < len(usual.pathway.nodes)
    assert all(leaf.share < 0.05 for leaf in coarse.pathway.leaves if leaf.is_folded)
    folded = coarse.pathway.folded
    words = f"{folded.ends:,} ends, {in_thousand(folded.share)} of 1,000 cases; on average {folded.tests:.2f} tests"
    assert words in Words(page(coarse)).sections["Recommended pathway"]
    assert words in as_text(coarse.pathway)


def test_sections_are_named_as_they_are_worked_out():
    told: list[str] = []
    problem = make("screening-cascade")
    make_report(problem, make_agent("efe", problem), seconds=0.5, budget=0.05, progress=told.append)
    assert told[0] == "what to do first"
    assert len(set(told)) == len(told) > 4


def test_numbers_that_were_not_examined_are_counted():
    report = report_of("chest-pain")
    done = sum(flip.is_examined for flip in report.flips)
    assert done < len(report.flips)
    told = Words(page_of("chest-pain")).sections["What would change the first action"]
    assert f"{done} of {len(report.flips)} numbers were examined in 0.05 s" in told


# -- on paper -----------------------------------------------------------------------------------------------------

LOOK = """() => {
  const small = [], wide = [], tall = [], out = [];
  const beyond = (box, frame) => box.left < frame.left - 1 || box.right > frame.right + 1
    || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
  for (const one of document.querySelectorAll("body *")) {
    if (["STYLE", "title"].includes(one.tagName)) continue;
    const words = [...one.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent.trim()).join(" ").trim();
    const box = one.getBoundingClientRect();
    const svg = one.closest("svg");
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    if (words && parseFloat(getComputedStyle(one).fontSize) * scale * 0.75 < 6.5) small.push(words);
    if (words && box.right > innerWidth + 1) wide.push(words);
    if (one.tagName === "FIGURE" && box.height > 1000) tall.push(box.height);
    if (one.tagName !== "text") continue;
    if (beyond(box, svg.getBoundingClientRect())) out.push(words);
    const frame = one.parentNode.tagName === "g" && one.parentNode.querySelector(":scope > rect");
    if (frame && box.right > frame.getBoundingClientRect().right + 1) out.push(words);
  }
  return { small, wide, tall, out };
}"""


@pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"there is no browser at {CHROMIUM}")
def test_reports_can_be_read_on_paper(tmp_path):
    """In print no letter is below 6.5 points, nothing is wider than the paper, and words stay in their boxes."""
    playwright = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=1000 * PATIENCE)
        sheet = browser.new_page(viewport={"width": PAPER, "height": 1000})
        sheet.set_default_timeout(1000 * PATIENCE)
        sheet.emulate_media(media="print")
        for name in ("bridge", "chest-pain", "screening-cascade", "diagnosis", "security-lane"):
            written = write_report(report_of(name), tmp_path / f"{name}.html")
            sheet.goto(written[0].as_uri())
            assert sheet.evaluate(LOOK) == {"small": [], "wide": [], "tall": [], "out": []}, name
        browser.close()
