"""The statistics are those of the literature and of scipy and statsmodels.

Stored values of scipy 1.17 and statsmodels 0.15 stand here, since the two are too large to install
for every test run. To compute them again, in an environment of its own:

    pip install scipy statsmodels
    python - <<'PY'
    from scipy import stats
    from statsmodels.stats.proportion import proportion_confint
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.multitest import multipletests
    print([proportion_confint(k, n, 0.05, "wilson") for k, n in ((0, 10), (10, 10), (67, 100), (249, 250), (1, 3))])
    print([mcnemar([[5, b], [c, 7]], exact=True).pvalue for b, c in ((65, 1), (10, 10), (3, 9), (52, 18), (1, 0))])
    print(multipletests([0.01, 0.04, 0.03, 0.005, 0.2], method="holm")[1])
    print(stats.spearmanr([1, 2, 2, 4, 5, 5, 5, 8], [2, 1, 3, 3, 5, 4, 9, 9])[0])
    print([stats.t.ppf(0.975, df) for df in (1, 2, 9, 30, 31, 60, 120)])
    PY

Where scipy and statsmodels are installed, the last tests ask them directly.
"""

from __future__ import annotations

import random
from math import inf, isnan, nan, sqrt

import pytest

from meta_tui.evaluation import statistics as st


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.27753279986288926),
        (10, 10, 0.7224672001371106, 1.0),
        (67, 100, 0.5730534379509052, 0.7543687726587197),
        (249, 250, 0.9776942144345839, 0.9992935524659348),
        (1, 3, 0.06149194472039626, 0.7923403991979523),
    ],
)
def test_wilson_equals_statsmodels(k: int, n: int, low: float, high: float) -> None:
    assert st.wilson(k, n) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, 0)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="no proportion"):
        st.wilson(k, n)


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        (65, 1, 1.81603863891322e-18),
        (10, 10, 1.0),
        (3, 9, 0.14599609375),
        (52, 18, 5.849547318695842e-05),
        (1, 0, 1.0),
    ],
)
def test_mcnemar_equals_statsmodels_and_does_not_care_who_is_first(first: int, second: int, p: float) -> None:
    assert st.mcnemar(first, second) == pytest.approx(p, rel=1e-12)
    assert st.mcnemar(second, first) == st.mcnemar(first, second)


def test_mcnemar_without_a_difference_is_1() -> None:
    assert st.mcnemar(0, 0) == 1.0


def test_mcnemar_by_hand() -> None:
    """Five samples, one method got all five that differ: 2 * (1/2)^5."""
    assert st.mcnemar(5, 0) == 2 / 32


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [((36, 12, 2, 0), 0.0569, 0.3404), ((20, 12, 2, 16), 0.0562, 0.3292)],
)
def test_newcombe_gives_the_intervals_of_his_paper(
    cells: tuple[int, int, int, int], low: float, high: float
) -> None:
    """Method 10 for two of the tables that the paper works out; four digits."""
    value, found_low, found_high = st.newcombe(*cells)
    assert value == pytest.approx(0.2)
    assert (found_low, found_high) == pytest.approx((low, high), abs=6e-5)


def test_newcombe_of_the_published_game_of_24() -> None:
    """Standard 3 of 100 right, meta-prompting with Python 67, one of them Standard's alone: the
    interval is 52.9 to 72.7 points."""
    value, low, high = st.newcombe(2, 65, 1, 32)
    assert (round(value, 3), round(low, 3), round(high, 3)) == (0.64, 0.529, 0.727)


def test_newcombe_turns_its_sign_with_the_methods() -> None:
    one, other = st.newcombe(20, 12, 2, 16), st.newcombe(20, 2, 12, 16)
    assert (one.value, one.low, one.high) == pytest.approx((-other.value, -other.high, -other.low))


def test_newcombe_of_two_methods_that_are_always_right_has_no_difference() -> None:
    value, low, high = st.newcombe(30, 0, 0, 0)
    assert value == 0
    assert low < 0 < high


def test_newcombe_covers_the_true_difference_about_as_often_as_it_says() -> None:
    rng = random.Random(7)
    hits = 0
    for _ in range(600):
        cells = [0, 0, 0, 0]
        for _ in range(60):
            cells[rng.choices(range(4), (0.5, 0.2, 0.1, 0.2))[0]] += 1
        _, low, high = st.newcombe(*cells)
        hits += low <= 0.1 <= high
    assert 0.92 <= hits / 600 <= 0.98


def test_holm_equals_statsmodels_and_keeps_the_order() -> None:
    assert st.holm([0.01, 0.04, 0.03, 0.005, 0.2]) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.2])
    assert st.holm([]) == []
    assert st.holm([0.9, 0.8]) == [1.0, 1.0]


def test_bootstrap_is_the_same_for_a_seed_and_another_for_another() -> None:
    clusters = [[float(i % 3 == 0), float(i % 5 == 0)] for i in range(40)]
    found = {seed: st.cluster_bootstrap(clusters, seed=seed, resamples=30) for seed in range(5)}
    assert found[1] == st.cluster_bootstrap(clusters, seed=1, resamples=30)
    assert len(set(found.values())) > 1


def test_bootstrap_agrees_with_the_normal_interval_of_many_samples() -> None:
    clusters = [[1.0]] * 120 + [[0.0]] * 80
    value, low, high = st.cluster_bootstrap(clusters)
    half = 1.96 * sqrt(0.6 * 0.4 / 200)
    assert value == pytest.approx(0.6)
    assert (low, high) == pytest.approx((0.6 - half, 0.6 + half), abs=0.01)


def test_repeats_of_a_sample_do_not_count_as_samples() -> None:
    """Ten equal repeats of each sample tell nothing new: the interval is as wide as with one."""
    once = st.cluster_bootstrap([[1.0]] * 12 + [[0.0]] * 8)
    often = st.cluster_bootstrap([[1.0] * 10] * 12 + [[0.0] * 10] * 8)
    assert often == once


def test_each_sample_weighs_the_same_however_many_repeats_it_has() -> None:
    assert st.cluster_bootstrap([[1.0, 1.0, 1.0], [0.0]]).value == 0.5


@pytest.mark.parametrize("clusters", [[], [[1.0], []]])
def test_nothing_to_resample_is_refused(clusters: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="resample"):
        st.cluster_bootstrap(clusters)


def test_t_interval_equals_scipy_and_three_repeats_use_4_303() -> None:
    assert st.t_interval([0.61, 0.66, 0.59, 0.70]) == pytest.approx(
        (0.64, 0.5609710299971675, 0.7190289700028323)
    )
    value, low, high = st.t_interval([1.0, 2.0, 3.0])
    assert value == 2
    assert (high - low) / 2 == pytest.approx(4.303 / sqrt(3), rel=1e-3)


def test_one_repeat_has_a_mean_and_no_interval() -> None:
    value, low, high = st.t_interval([0.5])
    assert value == 0.5
    assert isnan(low)
    assert isnan(high)


@pytest.mark.parametrize(
    ("df", "t"),
    [
        (1, 12.706204736174694),
        (2, 4.302652729749462),
        (9, 2.262157162798205),
        (30, 2.0422724563012378),
        (31, 2.039513446396408),
        (60, 2.0002978220142604),
        (120, 1.9799304050824402),
    ],
)
def test_t_quantiles_equal_scipy(df: int, t: float) -> None:
    assert st.t_quantile(df) == pytest.approx(t, abs=1e-6)


def test_pass_at_k_by_counting_draws() -> None:
    """Two of four runs are correct: of the six pairs of runs five hold a correct one."""
    assert st.pass_at_k(4, 2, 2) == pytest.approx(5 / 6)
    assert st.pass_at_k(4, 2, 1) == 0.5
    assert st.pass_at_k(4, 2, 3) == 1
    assert st.pass_at_k(4, 0, 4) == 0


def test_pass_at_k_of_more_draws_than_runs_is_refused() -> None:
    with pytest.raises(ValueError, match="pass@5"):
        st.pass_at_k(4, 2, 5)


def test_cost_per_correct_is_infinite_for_none_and_unknown_stays_unknown() -> None:
    assert st.cost_per_correct(3.0, 2) == 1.5
    assert st.cost_per_correct(3.0, 0) == inf
    assert st.cost_per_correct(None, 2) is None


def test_incremental_cost_has_a_sign() -> None:
    """Two dollars more for one more correct answer of four; for equal accuracy it is infinite."""
    dearer = [st.Spent(1.0, 1, 0.5, 0), *[st.Spent(1.0, 1, 0.5, 1)] * 3]
    assert st.incremental_cost(dearer) == pytest.approx(2.0)
    cheaper = [st.Spent(0.5, 1, 1.0, 0), *[st.Spent(0.5, 1, 1.0, 1)] * 3]
    assert st.incremental_cost(cheaper) == pytest.approx(-2.0)
    assert st.incremental_cost([st.Spent(1.0, 1, 0.5, 1)]) == inf
    assert isnan(st.incremental_cost([st.Spent(1.0, 1, 1.0, 1)]))


def test_a_bootstrap_of_ratios_survives_resamples_without_a_difference() -> None:
    samples = [st.Spent(1.0, 1, 0.5, 0), *[st.Spent(1.0, 1, 0.5, 1)] * 5]
    value, low, high = st.bootstrap(samples, st.incremental_cost, seed=3, resamples=500)
    assert value == pytest.approx(3.0)
    assert 0 < low < value
    assert high == inf


def test_calibration_by_hand() -> None:
    """Bin (0.8, 0.9]: two entries, confidence 0.9, accuracy 0.5. Bin (0.1, 0.2]: one, 0.2 and 0.
    ECE = (2 * 0.4 + 1 * 0.2) / 3."""
    found = st.calibration([0.9, 0.9, 0.2], [True, False, False])
    assert found["n"] == 3
    assert found["ece"] == pytest.approx(1 / 3)
    assert found["brier"] == pytest.approx((0.01 + 0.81 + 0.04) / 3)
    assert [(row["n"], row["accuracy"]) for row in found["table"]] == [(1, 0.0), (2, 0.5)]
    assert [(row["low"], row["high"]) for row in found["table"]] == [(0.1, 0.2), (0.8, 0.9)]


def test_confidence_0_and_1_are_in_the_first_and_last_bin() -> None:
    table = st.calibration([0.0, 1.0], [False, True])["table"]
    assert [(row["low"], row["high"]) for row in table] == [(0.0, 0.1), (0.9, 1.0)]
    assert st.calibration([0.0, 1.0], [False, True])["ece"] == 0


@pytest.mark.parametrize(
    ("confidences", "right"), [([], []), ([1.2], [True]), ([0.5], [True, False]), ([nan], [True])]
)
def test_calibration_refuses_what_is_no_confidence(confidences: list[float], right: list[bool]) -> None:
    with pytest.raises(ValueError):
        st.calibration(confidences, right)


def test_spearman_equals_scipy_with_ties() -> None:
    assert st.spearman([1, 2, 2, 4, 5, 5, 5, 8], [2, 1, 3, 3, 5, 4, 9, 9]) == pytest.approx(
        0.9007775105401477
    )
    assert st.spearman([1, 2, 3], [9, 5, 1]) == pytest.approx(-1)
    assert isnan(st.spearman([1, 1, 1], [1, 2, 3]))


def test_kappa_equals_statsmodels() -> None:
    first, second = [0, 1, 2, 1, 0, 2, 2, 1, 0, 0], [0, 1, 1, 1, 0, 2, 0, 1, 2, 0]
    assert st.kappa(first, second) == pytest.approx(0.5454545454545454)
    assert st.kappa("abab", "abab") == 1
    assert isnan(st.kappa("aa", "aa"))


def test_ambiguous_answers_give_a_range() -> None:
    assert st.ambiguous_range(6, 2, 10) == (0.6, 0.8)


def test_random_counts_equal_statsmodels_where_it_is_installed() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason="statsmodels is not installed")
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    rng = random.Random(5)
    for _ in range(50):
        n = rng.randint(1, 400)
        k, b, c = rng.randint(0, n), rng.randint(0, 60), rng.randint(0, 60)
        assert st.wilson(k, n) == pytest.approx(
            proportion.proportion_confint(k, n, 0.05, "wilson"), abs=1e-12
        )
        assert st.mcnemar(b, c) == pytest.approx(tables.mcnemar([[1, b], [c, 1]], exact=True).pvalue)


def test_random_ranks_and_quantiles_equal_scipy_where_it_is_installed() -> None:
    scipy = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    rng = random.Random(6)
    for _ in range(50):
        x, y = ([rng.randint(0, 9) for _ in range(20)] for _ in range(2))
        assert st.spearman(x, y) == pytest.approx(scipy.spearmanr(x, y)[0])
        df = rng.randint(1, 200)
        assert st.t_quantile(df) == pytest.approx(scipy.t.ppf(0.975, df), abs=1e-6)
