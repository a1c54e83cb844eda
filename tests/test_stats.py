"""The numeric helpers, against exact fractions, SciPy, published tables and what must hold of any input."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from ethogram.stats import (
    beta_binomial_at_least,
    beta_cdf,
    beta_quantile,
    clopper_pearson_high,
    clopper_pearson_low,
    count_at_least,
    count_at_most,
    isotonic,
    largest_surprising_count,
    mean_where_zero_surprises,
    normal_tail,
    rank_sum_z,
    spearman,
    student_t_critical,
    student_t_tail_approx,
    student_t_two_sided,
    wilson,
)

DISPERSIONS = [0, 0.02, 0.5, 1, 3]


@given(st.floats(0.001, 0.999), st.floats(0.05, 400), st.floats(0.05, 400))
def test_beta_cdf_and_its_complement_are_those_of_scipy(x: float, a: float, b: float):
    assert beta_cdf(x, a, b) == pytest.approx(scipy_stats.beta.cdf(x, a, b), rel=1e-9, abs=1e-12)
    assert beta_cdf(x, a, b) + beta_cdf(1 - x, b, a) == pytest.approx(1, abs=1e-12)


@given(st.floats(0.01, 0.99), st.floats(0.5, 200), st.floats(0.5, 200))
def test_beta_quantile_inverts_the_cdf(p: float, a: float, b: float):
    assert beta_cdf(beta_quantile(p, a, b), a, b) == pytest.approx(p, abs=1e-9)


@given(st.floats(-30, 30), st.floats(1, 300))
def test_tails_of_t_are_those_of_scipy(t: float, df: float):
    assert student_t_two_sided(t, df) == pytest.approx(2 * scipy_stats.t.sf(abs(t), df), rel=1e-7)
    assert student_t_two_sided(student_t_critical(df), df) == pytest.approx(0.05, rel=1e-6)


def test_the_approximate_tail_of_t_is_good_to_a_few_percent():
    for df in (8, 40):
        for t in (-2, 0, 0.5, 2, 5):
            assert student_t_tail_approx(t, df) == pytest.approx(scipy_stats.t.sf(t, df), rel=0.05)


def test_normal_tail_is_that_of_the_tables():
    assert normal_tail(0) == 0.5
    assert normal_tail(1.959964) == pytest.approx(0.025, rel=1e-5)


def exact_at_most(count: int, mean: int, size: int) -> float:
    """P(X <= count) of a negative binomial of whole size, by exact fractions."""
    p = Fraction(size, size + mean)
    return float(sum(math.comb(k + size - 1, k) * p**size * (1 - p) ** k for k in range(count + 1)))


@pytest.mark.parametrize(
    ("count", "mean", "size"), [(0, 3, 2), (2, 10, 2), (7, 9, 1), (30, 60, 4), (90, 40, 3)]
)
def test_count_tails_are_those_of_the_negative_binomial(count: int, mean: int, size: int):
    exact = exact_at_most(count, mean, size)
    assert count_at_most(count, mean, 1 / size) == pytest.approx(exact, rel=1e-9)
    assert count_at_least(count + 1, mean, 1 / size) == pytest.approx(1 - exact, rel=1e-9)


@pytest.mark.parametrize("mean", [0.5, 4, 60])
def test_count_tails_without_dispersion_are_those_of_poisson(mean: float):
    for count in range(int(3 * mean) + 3):
        assert count_at_most(count, mean, 0) == pytest.approx(scipy_stats.poisson.cdf(count, mean))
        assert count_at_least(count, mean, 0) == pytest.approx(scipy_stats.poisson.sf(count - 1, mean))


@pytest.mark.parametrize("dispersion", DISPERSIONS)
def test_count_tails_are_monotone_in_the_count(dispersion: float):
    for mean in (0.5, 4, 30, 900):
        few = [
            count_at_most(count, mean, dispersion)
            for count in range(0, int(2 * mean) + 2, 1 + int(mean) // 20)
        ]
        assert few == sorted(few)
        many = [
            count_at_least(count, mean, dispersion)
            for count in range(0, int(3 * mean) + 2, 1 + int(mean) // 20)
        ]
        assert many == sorted(many, reverse=True)
        assert all(0 <= p <= 1 for p in [*few, *many])


@pytest.mark.parametrize("dispersion", DISPERSIONS)
def test_the_largest_surprising_count_is_the_last_that_surprises(dispersion: float):
    for mean in (1, 12, 13.5, 40, 700):
        for bar in (1, 1.75, 3):
            largest = largest_surprising_count(bar, mean, dispersion)
            assert largest < 0 or count_at_most(largest, mean, dispersion) <= 10**-bar
            assert count_at_most(largest + 1, mean, dispersion) > 10**-bar
            assert (largest >= 0) == (mean >= mean_where_zero_surprises(bar, dispersion))


def test_beta_binomial_tail_is_that_of_scipy():
    for hits, trials in [(0, 5), (3, 5), (40, 100), (97, 100)]:
        expected = scipy_stats.betabinom.sf(hits - 1, trials, 2.5, 7)
        assert beta_binomial_at_least(hits, trials, 2.5, 7) == pytest.approx(expected, rel=1e-9)


def test_wilson_is_that_of_newcombe():
    # Newcombe 1998, table I: 81 of 263 gives .2553 to .3662.
    low, high = wilson(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    assert wilson(0, 20)[0] == 0
    assert wilson(20, 20)[1] == 1


def test_clopper_pearson_is_that_of_scipy():
    for hits, trials in [(0, 10), (1, 10), (81, 263), (10, 10)]:
        exact = scipy_stats.binomtest(hits, trials).proportion_ci(method="exact")
        ours = clopper_pearson_low(hits, trials), clopper_pearson_high(hits, trials)
        assert ours == pytest.approx((exact.low, exact.high))


def test_rank_sum_is_that_of_scipy_turns_round_with_time_and_sees_only_order():
    rng = random.Random(1)
    for _ in range(30):
        before = [rng.choice([1, 2, 5, 9]) for _ in range(9)]
        after = [rng.choice([1, 2, 5, 9]) for _ in range(6)]
        z = rank_sum_z(before, after)
        expected = scipy_stats.mannwhitneyu(after, before, method="asymptotic").pvalue
        assert min(1.0, 2 * normal_tail(abs(z))) == pytest.approx(expected)
        assert rank_sum_z(after, before) == pytest.approx(-z)
        assert rank_sum_z([x**3 for x in before], [x**3 for x in after]) == pytest.approx(z)


def test_spearman_is_that_of_scipy():
    rng = random.Random(5)
    for _ in range(50):
        n = rng.randint(2, 30)
        x, y = ([rng.choice([0, 0.25, 0.5, 1, rng.random()]) for _ in range(n)] for _ in range(2))
        if len(set(x)) > 1 < len(set(y)):
            assert spearman(x, y) == pytest.approx(scipy_stats.spearmanr(x, y).statistic)
        else:
            assert spearman(x, y) is None
    assert spearman([], []) is None
    assert spearman([1], [2]) is None


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.1, 3)), min_size=1, max_size=20))
def test_isotonic_regression_is_the_nearest_rising_one(points):
    values, weights = [v for v, _ in points], [w for _, w in points]
    fitted = isotonic(values, weights)
    assert all(np.diff(fitted) >= -1e-12)
    # The known formula: largest over starts of the smallest over ends of the means between.
    for i in range(len(values)):
        want = max(
            min(np.average(values[a : b + 1], weights=weights[a : b + 1]) for b in range(i, len(values)))
            for a in range(i + 1)
        )
        assert fitted[i] == pytest.approx(want, abs=1e-9)
