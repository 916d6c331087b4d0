"""How a printed number is judged: means by standard errors, shares by exact counts, settings and repeats apart."""

from __future__ import annotations

import pytest
from scipy import stats

from rhoplan.experiments.paper import Cell, cell
from rhoplan.reproduction.compare import CHANCE, FAR, Number, judge, share_chance
from rhoplan.reproduction.study import CONFIRMED, CONTRADICTED, ONLY_BITS
from rhoplan.statistics import chance_of_count


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
