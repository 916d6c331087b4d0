"""How a printed number is judged: means by standard errors, shares by exact counts, settings and repeats apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rhoplan_paper.compare import CHANCE, FAR, Number, judge, share_chance
from rhoplan_paper.context import Context
from rhoplan_paper.jobs import Job
from rhoplan_paper.published import Cell, Quote, cell, published
from rhoplan_paper.registry import studies
from rhoplan_paper.report.page import page
from rhoplan_paper.statistics import chance_of_count
from rhoplan_paper.study import (
    CONFIRMED,
    CONTRADICTED,
    ONLY_BITS,
    REPEATED,
    SETTING,
    UNCHECKED,
    Finding,
    Outcome,
    Study,
)
from rhoplan_paper.tables.definitions import SOURCES, derived
from rhoplan_paper.tables.rows import TABLES
from rhoplan_paper.told import quoted
from rhoplan_paper.told.checks import TUNING_EPISODES, chance_of_choice
from rhoplan_paper.told.findings import disagreement


def share(text: str) -> Cell:
    return Cell({}, "success", "percent of episodes", text)


def exact(value: float) -> Number:
    return Number(value, (value * (1 - value)) ** 0.5, counted=0)


# -- counts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "n", "p"), [(25, 1000, 1 / 64), (3, 600, 0.02), (590, 600, 0.995), (250, 500, 0.5)])
def test_a_count_has_twice_its_smaller_binomial_tail(count: int, n: int, p: float) -> None:
    tails = stats.binom.cdf(count, n, p), stats.binom.sf(count - 1, n, p)
    assert chance_of_count(count, count, n, share=p) == pytest.approx(min(2 * min(tails), 1.0), rel=1e-9)


@pytest.mark.parametrize(("count", "n", "p", "m"), [(3, 500, 0.02, 250), (0, 600, 0.0, 200), (180, 200, 1.0, 50)])
def test_a_share_that_was_counted_itself_leaves_more_room(count: int, n: int, p: float, m: int) -> None:
    found = stats.betabinom(n, m * p + 0.5, m * (1 - p) + 0.5)
    tail = min(found.cdf(count), found.sf(count - 1))
    assert chance_of_count(count, count, n, share=p, counted=m) == pytest.approx(
        min(tail * (1 if count in (0, n) else 2), 1.0), rel=1e-9
    )


def test_none_and_all_have_one_tail_only() -> None:
    assert chance_of_count(0, 0, 600, share=1 / 64) == pytest.approx((63 / 64) ** 600)
    assert chance_of_count(600, 600, 600, share=63 / 64) == pytest.approx((63 / 64) ** 600)


def test_a_sure_share_leaves_one_count() -> None:
    assert chance_of_count(0, 0, 10, share=0.0) == 1.0
    assert chance_of_count(1, 1, 10, share=0.0) == 0.0
    assert chance_of_count(9, 10, 10, share=1.0) == 1.0


def test_counts_beyond_the_episodes_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and n"):
        chance_of_count(5, 11, 10, share=0.5)


# -- verdicts ---------------------------------------------------------------------------------------------------------


def test_none_of_600_is_contradicted_where_one_in_64_succeeds() -> None:
    """The 8x8 grid without the reward term: a normal error calls 0 of 600 three standard errors, its chance is 8e-5."""
    printed = cell("tileworld-8", "success", agent="epistemic-only")
    assert printed.text == "0.0%"
    judged = judge(printed, {unit: exact(1 / 64) for unit in ("bits", "nats")}, 600, 0.01)
    assert judged.verdict == CONTRADICTED
    assert "7.9e-05" in judged.reason
    assert judge(printed, {"": exact(1 / 128)}, 600, 0.01).verdict == CONFIRMED


def test_a_printed_share_stands_for_the_counts_that_round_to_it() -> None:
    assert share_chance(share("0.0%"), exact(0.002), 5000) == pytest.approx(stats.binom.cdf(2, 5000, 0.002))
    assert share_chance(share("50.0%"), exact(0.4), 1000) == pytest.approx(2 * stats.binom.sf(499, 1000, 0.4))
    # No count of 7 is 50.0%: the two next to it stand for it.
    assert share_chance(share("50.0%"), exact(0.5), 7) == 1.0


def test_a_simulated_share_contradicts_less_than_an_exact_one() -> None:
    few = Number(0.0, 0.0, 0.0, counted=40)
    assert judge(share("5.0%"), {"": few}, 1000, 0.01).verdict == CONFIRMED
    many = Number(0.0, 0.0, 0.0, counted=4000)
    assert judge(share("5.0%"), {"": many}, 1000, 0.01).verdict == CONTRADICTED
    assert judge(share("5.0%"), {"": exact(0.0)}, 1000, 0.01).verdict == CONTRADICTED


def test_means_and_shares_are_judged_at_one_level() -> None:
    assert 2 * stats.norm.sf(FAR) == pytest.approx(CHANCE)
    mean = Cell({}, "reward", "reward", "1.00")
    for errors, verdict in ((FAR - 0.01, CONFIRMED), (FAR + 0.01, CONTRADICTED)):
        assert judge(mean, {"": Number(0.995 - errors * 0.1, 1.0)}, 100).verdict == verdict


def test_a_share_may_fit_in_one_unit_only() -> None:
    found = judge(share("66.5%"), {"bits": exact(0.695), "nats": exact(1 / 64)}, 1000, 0.01)
    assert (found.verdict, found.unit) == (ONLY_BITS, "bits")


# -- nothing is without a verdict -------------------------------------------------------------------------------------


class Canned(Context):
    """Answers every job at once: all agents score the same."""

    def results(self, jobs: Iterable[Job]) -> list[dict[str, Any]]:
        return [self.answer(one) for one in jobs]

    def answer(self, one: Job) -> dict[str, Any]:
        names = ("reward", "tests", "success", "steps", "good", "bad", "missed", "right_nominal", "right_faulty")
        values = dict.fromkeys(names, 0.5)
        if one.measure == "simulated":
            return {"episodes": 200, "columns": {name: {"mean": 0.5, "sd": 0.5} for name in names}}
        extra = {"reward_sd": 1.0, "tests_sd": 1.0, "truncated": 0.0, "tallies": values, "lower": 0.5, "upper": 0.5}
        return {**values, **extra, "optimum": None, "clairvoyant": 1.0, "rewards": [0.5], "horizon": 1}


@pytest.mark.parametrize("study", [studies()[name] for name in TABLES], ids=lambda study: study.id)
def test_every_number_of_a_table_has_one_finding(study: Study) -> None:
    found = study.build(Canned()).findings
    cells = [one for one in published().tables[study.id].cells if one.value is not None]
    assert Counter(one.published for one in found) == Counter(one.text for one in cells)
    assert len({one.id for one in found}) == len(found)
    assert all(one.reason for one in found)


def test_columns_that_follow_from_others_are_checked_against_them() -> None:
    expected = {"discount": REPEATED, "misspecification-tiger": SETTING, "navigation": CONFIRMED}
    for study in [studies()[name] for name in TABLES]:
        if study.id in expected:
            found = [one for one in study.build(Canned()).findings if one.id.split("/")[-1] in SOURCES]
            assert {one.verdict for one in found} == {expected[study.id]}
    table = published().tables["discount"]
    gap = cell("discount", "success_gap", problem="bandit", agent="efe", discount=0.99)
    assert derived(table, gap, "x", ("bandit", "efe")).verdict == REPEATED
    assert derived(table, replace(gap, text="-22.0"), "x", ("bandit", "efe")).verdict == CONTRADICTED


def test_every_number_of_the_text_has_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a number stands or falls with a claim, the claim's own verdict counts; those have tests of their own."""
    claimed = {
        id: (lambda context, id=id: Finding(id, "", "", "", "", "", "bits", ONLY_BITS, "so"))
        for id in published().claims
    }
    monkeypatch.setattr(quoted, "claims", lambda: claimed)
    findings = quoted.build_quoted(Canned()).findings
    cells = [one for quote in quoted.quotes_here() for one in quote.cells]
    assert [one.published for one in findings] == [one.text for one in cells]
    assert len({one.id for one in findings}) == len(findings)
    assert all(one.reason for one in findings)
    left = [one.id for one in findings if one.verdict == UNCHECKED]
    assert left == ["pomcp-results/pomcp-budgets/simulations-pomcp-3"]  # 2,000: announced, and never used


def test_every_part_with_numbers_is_judged_by_one_study() -> None:
    """Quotes belong to studies of their own name, to `quoted`, or (Appendix L) to the figure that they set up."""
    here = {quote.part for quote in quoted.quotes_here()}
    every = {quote.part for quote in published().quotes.values()}
    assert here.isdisjoint(studies())
    assert every - here - set(studies()) == {"foraging"}
    tables = {name for name, table in published().tables.items() if table.cells}
    assert tables <= set(studies())


# -- told again, and settings -----------------------------------------------------------------------------------------


def quoted_cell(quote: str, **row: Any) -> tuple[Quote, Cell]:
    one = published().quotes[quote]
    return one, next(cell for cell in one.cells if row.items() <= cell.row.items())


def test_a_number_told_again_refers_to_the_same_number() -> None:
    again = [
        (quote, one) for quote in quoted.quotes_here() for one in quote.cells if one.repeats and not disagreement(one)
    ]
    assert len(again) > 100
    for quote, one in again:
        assert quoted.judged(quote, one, Context()).verdict == REPEATED
        changed = replace(one, text="12,345.678")
        assert quoted.judged(quote, changed, Context()).verdict == CONTRADICTED


def test_a_number_of_another_setting_is_not_the_same() -> None:
    quote, one = quoted_cell("depth-amplifies", agent="info-gain")
    found = quoted.judged(quote, one, Context())
    assert found.verdict == CONTRADICTED
    assert "weight 50, not 100" in found.reason


def test_a_setting_is_one_only_if_it_is_used() -> None:
    quote, one = quoted_cell("inspection-stakes", state="faulty")
    assert quoted.judged(quote, one, Context()).verdict == SETTING
    assert quoted.judged(quote, replace(one, text="+6"), Context()).verdict == UNCHECKED
    quote, one = quoted_cell("effect-labels", label="small", bound="high")
    assert quoted.judged(quote, one, Context()).verdict == SETTING
    assert quoted.judged(quote, replace(one, text="0.6"), Context()).verdict == UNCHECKED


def test_a_size_is_counted_and_may_be_rounded_down() -> None:
    quote, one = quoted_cell("abstract-states")
    assert quoted.judged(quote, one, Context()).verdict == CONFIRMED
    assert quoted.judged(quote, replace(one, text="64,000"), Context()).verdict == CONTRADICTED


def test_chance_of_choice_is_that_of_many_tunings() -> None:
    rng = np.random.default_rng(7)
    success = [0.90, 0.97, 0.98, 0.98]
    counts = rng.binomial(TUNING_EPISODES, success, size=(200_000, 4))
    picked = np.bincount(counts.argmax(axis=1), minlength=4) / len(counts)
    for place in range(4):
        assert chance_of_choice(success, place) == pytest.approx(picked[place], abs=0.006)


def test_settings_and_repeats_are_counted_apart(tmp_path: Path) -> None:
    verdicts = (CONFIRMED, SETTING, SETTING, REPEATED)
    findings = tuple(Finding(f"x/{i}", "", "c", "1", "", "1", "", v, "why") for i, v in enumerate(verdicts))
    study = Study("x", "text", "t", "a", "p", lambda context: Outcome())
    html = page([study], {"x": Outcome(findings=findings)}, tmp_path, {"full": False, "unit": "both"}, {})
    assert "<h3>1 printed numbers judged</h3>" in html
    assert "1 confirmed</span>" in html
    assert "2 settings, the same here, and 1 numbers told again" in html
    assert "1 of 1 printed numbers confirmed" in html
