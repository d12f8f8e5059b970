"""The topics of new documents: theta of a document that was not fitted, given draws of the topics.

For each draw of beta, a Gibbs sampler visits the words of a document, with theta integrated out: word n gets topic t
with weight (n_dt + alpha_t) beta_tv, where n_dt counts the other words of the document. Few topics have words of the
document, so their parts n_dt beta_tv are summed for each word, and the sums of alpha_t beta_tv are computed once. The
assignments go on from draw to draw, because the draws have the same labels. Given z, theta is Dirichlet: its means and
variances are averaged over the kept sweeps of all draws, and the variance of the means is added.

Beta is E[beta | z] of a draw z of the fitted corpus. That the new document itself would change the topics a little is
left out, so that documents do not depend on each other. Each document has its own random generator, seeded by its
words. So the result depends neither on the number of threads nor on the other documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numba
import numpy as np

from bayestopics.base.guard import finite, not_finite
from bayestopics.base.jit import kernel, parallel_kernel
from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.uniforms import split_words, uniform

# a further draw goes on from assignments that fit the draw before it: a burn-in that is this many times shorter does
LATER = 5


@dataclass(frozen=True, eq=False)
class NewDocuments:
    """Means and standard deviations of theta (D x T), and how many words of each document the model does not know."""

    mean: np.ndarray
    deviation: np.ndarray
    unknown: np.ndarray  # int64[D]


def infer(
    corpus: Corpus,
    vocabulary: Sequence[str],
    betas: Iterable[np.ndarray],
    alpha: np.ndarray,
    *,
    sweeps: int = 12,
    burn_in: int = 10,
    seed: int = 0,
) -> NewDocuments:
    """`betas` are draws of V x T probabilities of the terms of `vocabulary`; `sweeps` are kept for each of them, after
    `burn_in` that are dropped; before further draws, only a fifth as many are. Words that are not in the
    vocabulary are left out."""
    if sweeps < 1 or burn_in < 0:
        raise InputError(f"at least 1 sweep is needed, and a burn-in of 0 or more, not {sweeps} and {burn_in}")
    terms, lengths, unknown = _known_words(corpus, vocabulary)
    used, rows = np.unique(terms, return_inverse=True)
    names = _names(terms, np.repeat(np.arange(len(lengths)), lengths), len(lengths))
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    rng = generator(seed, "new documents")
    total, squares = np.zeros((2, corpus.document_count, len(alpha)))
    assignments, draws = np.full(len(rows), -1, np.int32), 0
    for beta in betas:
        if beta.shape != (len(vocabulary), len(alpha)) or not np.all(beta[used].max(axis=1, initial=0.0) > 0):
            raise InputError("beta must be terms x topics, with a positive probability in some topic for every term")
        # a row may be scaled: only the ratios of its entries matter
        scaled = beta[used] / beta[used].max(axis=1, keepdims=True)
        seeds = names ^ rng.integers(2**64, dtype=np.uint64)
        dropped = burn_in_of(draws, burn_in)
        _visit(offsets, rows, scaled, alpha, assignments, total, squares, sweeps, dropped, seeds)
        if not finite((total.sum(), squares.sum())):
            raise not_finite("a sum of counts, or a draw of beta,", draws, assignments)
        draws += 1
    if not draws:
        raise InputError("at least one draw of beta is needed")
    number, size = draws * sweeps, (lengths + alpha.sum())[:, None]
    mean = (total / number + alpha) / size
    between = np.maximum(squares / number - (total / number) ** 2, 0.0) / size**2
    within = (mean * (1 - mean) - between) / (size + 1)
    return NewDocuments(mean, np.sqrt(between + within), unknown)


def burn_in_of(draw: int, burn_in: int) -> int:
    """The number of sweeps to drop before those that are kept for a draw."""
    return -(-burn_in // LATER) if draw else burn_in


def _known_words(corpus: Corpus, vocabulary: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The words as numbers of the vocabulary, by document; how many of them each document has; how many are unknown."""
    place = {term: number for number, term in enumerate(vocabulary)}
    number = np.array([place.get(term, -1) for term in corpus.vocabulary], dtype=np.int64)[corpus.terms]
    order = np.lexsort((number, corpus.documents))
    order = order[number[order] >= 0]
    lengths = np.bincount(corpus.documents[order], minlength=corpus.document_count)
    return number[order], lengths, corpus.document_lengths - lengths


def _names(terms: np.ndarray, documents: np.ndarray, count: int) -> np.ndarray:
    """uint64[D]: a number for each document, which is the same for the same words; sums of scrambled terms."""
    scrambled = terms.astype(np.uint64) + np.uint64(1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):  # splitmix64
        scrambled = (scrambled ^ (scrambled >> np.uint64(shift))) * np.uint64(factor)
    names = np.zeros(count, np.uint64)
    np.add.at(names, documents, scrambled)
    return names


@parallel_kernel
def _visit(
    offsets: np.ndarray,
    rows: np.ndarray,
    beta: np.ndarray,
    alpha: np.ndarray,
    assignments: np.ndarray,
    total: np.ndarray,
    squares: np.ndarray,
    sweeps: int,
    burn_in: int,
    seeds: np.ndarray,
) -> None:
    """rows[n] is the row of word n in `beta`; the sums over kept sweeps of n_dt and of its square are added to."""
    kinds, topics = beta.shape
    prior = np.empty((kinds, topics))  # sum_{s <= t} alpha_s beta_vs
    for v in numba.prange(kinds):
        mass = 0.0
        for t in range(topics):
            mass += alpha[t] * beta[v, t]
            prior[v, t] = mass
    for d in numba.prange(len(offsets) - 1):
        words = split_words(seeds[d], 0)
        own = slice(offsets[d], offsets[d + 1])
        _document(rows[own], beta, prior, assignments[own], total[d], squares[d], sweeps, burn_in, words)


@kernel
def _document(
    rows: np.ndarray,
    beta: np.ndarray,
    prior: np.ndarray,
    z: np.ndarray,
    total: np.ndarray,
    squares: np.ndarray,
    sweeps: int,
    burn_in: int,
    words: np.ndarray,
) -> None:
    """counts[j] is n_dt of topic present[j], and place is the inverse of present; z is -1 before the first draw."""
    length, topics = len(rows), beta.shape[1]
    cumulative = np.empty(topics)
    present, place, counts = np.empty(topics, np.int64), np.full(topics, -1, np.int64), np.empty(topics)
    number = 0
    for n in range(length):
        t = z[n]
        if t >= 0:
            if place[t] < 0:
                place[t], present[number], counts[number] = number, t, 0
                number += 1
            counts[place[t]] += 1
    for sweep in range(burn_in + sweeps):
        for n in range(length):
            v = rows[n]
            if z[n] >= 0:
                j = place[z[n]]
                counts[j] -= 1
                if counts[j] == 0:
                    number -= 1
                    place[z[n]] = -1
                    if j < number:
                        present[j], counts[j] = present[number], counts[number]
                        place[present[j]] = j
            mass = 0.0
            for j in range(number):
                mass += counts[j] * beta[v, present[j]]
                cumulative[j] = mass
            threshold = uniform(words) * (mass + prior[v, -1])
            if threshold < mass:
                j = 0
                while cumulative[j] <= threshold:
                    j += 1
                t = present[j]
            else:  # rounding may make it as large as the total: then the last topic that has a weight is taken
                t = np.searchsorted(prior[v], threshold - mass, side="right")
                t = min(t, np.searchsorted(prior[v], prior[v, -1], side="left"))
            z[n] = t
            if place[t] < 0:
                place[t], present[number], counts[number] = number, t, 0
                number += 1
            counts[place[t]] += 1
        if sweep >= burn_in:
            for j in range(number):
                total[present[j]] += counts[j]
                squares[present[j]] += counts[j] ** 2
