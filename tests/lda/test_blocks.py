"""The blocked conditional (8) of Zhang & Sisson against brute force, for both ways to sum its constants."""

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from itertools import product
from math import comb, factorial, prod

import numpy as np
import pytest

from bayestopics.lda import block, blocked_backward, blocked_nested

PRIOR, TERMS = (0.4, 0.3), 9  # (alpha, eta)


def counts_without_block(topics: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """n_dt, m_tv and m_t of some corpus, the block taken out."""
    rng = np.random.default_rng(seed)
    by_term = rng.poisson(2.0, topics)
    return rng.poisson(3.0, topics), by_term, by_term + rng.poisson(40.0, topics)


def exact_weights(size: int, counts: tuple[np.ndarray, np.ndarray, np.ndarray], prior=PRIOR) -> list[list[Decimal]]:
    """q_t(n) of (8), n = 0..size, to the digits of the decimal context."""
    a, e = map(Decimal, prior)
    rows = []
    for n_d, m_v, m in zip(*(array.tolist() for array in counts), strict=True):
        row = [Decimal(1)]
        for n in range(size):
            row.append(row[-1] * (n_d + a + n) * (m_v + e + n) / ((m + TERMS * e + n) * (n + 1)))
        rows.append(row)
    return rows


def exact_constant(size: int, weights: list[list[Decimal]]) -> Decimal:
    total = [Decimal(1)] + [Decimal(0)] * size
    for row in weights:
        total = [sum((row[n] * total[c - n] for n in range(c + 1)), Decimal(0)) for c in range(size + 1)]
    return total[size]


def tables(
    size: int, counts: tuple[np.ndarray, np.ndarray, np.ndarray], sampler: str, prior=PRIOR
) -> tuple[np.ndarray, float, Callable[[Sequence[int]], float]]:
    """(scaled weights, scaled constant, log density of an arrangement) as the sampler computes them."""
    topics = len(counts[0])
    offsets = blocked_nested._levels(topics)
    table = np.empty((offsets[-1], size + 1))
    alpha, eta = prior
    inverse = 1.0 / (counts[2] + TERMS * eta)
    rest = (*counts, np.full(topics, alpha), eta, TERMS * eta)
    log_scale = block.weights(size, *rest, inverse, np.empty((2, topics)), table)
    if sampler == "nested":
        constant = blocked_nested._up(size, offsets, table)
    else:
        constants = np.empty((topics, size + 1))
        blocked_backward._forward(size, topics, table, constants)
        constant = constants[topics - 1, size]
    return table, constant, lambda split: block.log_block(np.array(split), size, table, log_scale, constant, *rest)


@pytest.mark.parametrize("sampler", ["backward", "nested"])
@pytest.mark.parametrize(("size", "topics"), [(2, 2), (3, 5), (5, 4), (4, 1), (2, 7)])
def test_every_split_of_a_count_has_its_probability(size, topics, sampler):
    counts = counts_without_block(topics, seed=size)
    weights = exact_weights(size, counts)
    splits = [split for split in product(range(size + 1), repeat=topics) if sum(split) == size]
    exact = np.array([float(prod(weights[t][n] for t, n in enumerate(split))) for split in splits])
    exact /= exact.sum()
    table, constant, log_density = tables(size, counts, sampler)
    ours = [prod(table[t, n] for t, n in enumerate(split)) / constant for split in splits]
    np.testing.assert_allclose(ours, exact, rtol=1e-12)
    # on tokens: each of the size! / prod n! arrangements has its share
    arrangements = [factorial(size) // prod(map(factorial, split)) for split in splits]
    on_tokens = [log_density(split) for split in splits]
    np.testing.assert_allclose(on_tokens, np.log(exact) - np.log(arrangements), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sampler", ["backward", "nested"])
@pytest.mark.parametrize("case", ["usual", "nowhere else", "everywhere"])
@pytest.mark.parametrize(
    "size", [20, 40, 43, 132, block.MAX_BLOCK]
)  # largest counts of KOS and NIPS, and the largest block
def test_large_blocks_neither_underflow_nor_lose_digits(size, case, sampler):
    counts = {
        "usual": counts_without_block(3, seed=1),
        "nowhere else": (np.array([0, 0, 0]), np.array([0, 0, 0]), np.array([5, 0, 1000])),
        "everywhere": (np.array([300, 2, 40]), np.array([5000, 10, 0]), np.array([90_000, 70_000, 80_000])),
    }[case]
    *_, log_density = tables(size, counts, sampler)
    with localcontext(prec=60):
        weights = exact_weights(size, counts)
        constant = exact_constant(size, weights)
        for split in [(size, 0, 0), (0, size // 2, size - size // 2), (size - 1, 1, 0)]:
            share = prod(weights[t][n] * factorial(n) for t, n in enumerate(split)) / (constant * factorial(size))
            assert log_density(split) == pytest.approx(float(share.ln()), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("sampler", ["backward", "nested"])
@pytest.mark.parametrize("prior", [(1e-50, 1e-50), (0.1, 1e-50), (1e-50, 1e6), (1e-6, 1e-6), (1e6, 1e6)])
@pytest.mark.parametrize("size", [2, 5, 12, 40, 41])
def test_small_and_large_priors(size, prior, sampler):
    """Counts of a term that occurs nowhere else, in a document without other words: the hardest case."""
    counts = (np.array([0, 0, 0]), np.array([0, 0, 0]), np.array([500, 0, 3]))
    *_, log_density = tables(size, counts, sampler, prior)
    with localcontext(prec=60):
        weights = exact_weights(size, counts, prior)
        constant = exact_constant(size, weights)
        for split in [(size, 0, 0), (0, size, 0), (size - 1, 1, 0)]:
            share = prod(weights[t][n] * factorial(n) for t, n in enumerate(split)) / (constant * factorial(size))
            assert log_density(split) == pytest.approx(float(share.ln()), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("sampler", ["backward", "nested"])
def test_draws_follow_the_split_probabilities(sampler):
    """Chi-square over all splits; false-alarm rate 1e-6."""
    from scipy.stats import chisquare

    size, topics, draws = 4, 3, 60_000
    counts = counts_without_block(topics, seed=3)
    table, constant, _ = tables(size, counts, sampler)
    constants = np.empty((topics, size + 1))
    blocked_backward._forward(size, topics, table, constants)
    offsets = blocked_nested._levels(topics)
    words = np.random.default_rng(5).integers(1, 2**63, size=4, dtype=np.uint64)
    seen: dict[tuple[int, ...], int] = {}
    drawn, sizes = np.zeros(topics, np.int64), np.zeros(offsets[-1], np.int64)
    for _ in range(draws):
        drawn[:] = 0
        if sampler == "nested":
            blocked_nested._down(size, offsets, table, drawn, sizes, words)
        else:
            blocked_backward._backward(size, topics, table, constants, drawn, words)
        seen[tuple(drawn)] = seen.get(tuple(drawn), 0) + 1
    splits = [split for split in product(range(size + 1), repeat=topics) if sum(split) == size]
    assert len(splits) == comb(size + topics - 1, size)
    expected = np.array([prod(table[t, n] for t, n in enumerate(split)) / constant for split in splits])
    observed = [seen.get(split, 0) for split in splits]
    assert chisquare(observed, draws * expected / expected.sum()).pvalue > 1e-6
