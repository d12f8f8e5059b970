"""Splits one topic in two, or merges two, by annealing on the tokens of the pair (Karagiannis & Andrieu 2013).

Everything is made from the merged tokens alone, so that a split and the merge that undoes it meet the same reference:
from random labels, a short run of the sampler finds two halves, and the reference q gives each token the mean of its
conditionals in that run, independently of all others. A split draws labels from q and anneals them along
q^(1-b) p^b to the density p of two topics; a merge anneals the present labels back. The weight W of either path is an
estimate of the evidence of two topics on these tokens, and with W in the place of the evidence the move is exact:
the path and its reverse cancel (annealed importance sampling; Neal 2001). Sweeps go forward or backward with equal
probability, which makes them reversible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln

from bayestopics.base.jit import kernel
from bayestopics.lda.uniforms import new_words, uniform

LAUNCH = 40  # sweeps that find the two halves; the reference is the mean over the second half of them
STEPS = (25, 100, 400)  # lengths of a path, one of which is chosen at random
LARGEST = 9.0  # the largest |logit| of a token's share, so that no token is certain


@dataclass
class Pair:
    """The tokens of one topic, or of two, with a label 0 or 1 for each."""

    documents: np.ndarray  # int32[n], numbered from 0
    terms: np.ndarray  # int32[n]
    term_count: int
    alpha: float
    eta: float

    def __post_init__(self) -> None:
        numbers, renumbered = np.unique(self.documents, return_inverse=True)
        self._document_count, self._renumbered = len(numbers), renumbered.astype(np.int32)

    def log_one(self) -> float:
        """log of the part of p(w, z) that depends on these tokens, if they are one topic."""
        return Labels(self, np.zeros(len(self.terms), np.int8)).log_density()  # an empty topic adds nothing

    def reference(self, rng: np.random.Generator) -> np.ndarray:
        """The logit of each token's share of label 1."""
        labels = Labels(self, rng.integers(2, size=len(self.terms)).astype(np.int8))
        shares = np.zeros(len(self.terms))
        for number in range(LAUNCH):
            labels.sweep(1.0, np.zeros(len(shares)), rng, shares if 2 * number >= LAUNCH else None)
        mean = shares / (LAUNCH - LAUNCH // 2)
        with np.errstate(divide="ignore"):
            return np.clip(np.log(mean) - np.log1p(-mean), -LARGEST, LARGEST)

    def split(self, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        """Labels at the end of a path, and its log weight W."""
        logits, ladder = self.reference(rng), _ladder(rng)
        labels = Labels(self, (rng.random(len(logits)) < expit(logits)).astype(np.int8))
        log_ratio, log_weight = labels.log_density() - _log_reference(logits, labels.of_tokens), 0.0
        for step in range(len(ladder) - 1):
            log_weight += (ladder[step + 1] - ladder[step]) * log_ratio
            if ladder[step + 1] < 1.0:
                log_ratio += labels.sweep(ladder[step + 1], logits, rng)
        return labels.of_tokens, log_weight

    def merge(self, present: np.ndarray, rng: np.random.Generator) -> float:
        """The log weight W of a path back from the present labels, which may be numbered in either way."""
        logits, ladder = self.reference(rng), _ladder(rng)
        labels = Labels(self, (present ^ rng.integers(2)).astype(np.int8))
        log_ratio, log_weight = labels.log_density() - _log_reference(logits, labels.of_tokens), 0.0
        for step in range(len(ladder) - 1, 0, -1):
            log_weight += (ladder[step] - ladder[step - 1]) * log_ratio
            if ladder[step - 1] > 0.0:
                log_ratio += labels.sweep(ladder[step - 1], logits, rng)
        return log_weight


def _ladder(rng: np.random.Generator) -> np.ndarray:
    """Powers b from 0 to 1, closer to each other near both ends."""
    even = np.linspace(0.0, 1.0, STEPS[rng.integers(len(STEPS))] + 1)
    return even * even * (3.0 - 2.0 * even)


def _log_reference(logits: np.ndarray, labels: np.ndarray) -> float:
    return float(-np.logaddexp(0.0, np.where(labels == 1, -logits, logits)).sum())


class Labels:
    """Labels 0 and 1 of the tokens, with their counts."""

    def __init__(self, pair: Pair, labels: np.ndarray) -> None:
        self._pair, self.of_tokens = pair, labels
        rows = (pair._document_count, pair.term_count)
        self._by_document, self._by_term = (
            np.bincount(2 * index.astype(np.int64) + labels, minlength=2 * size).reshape(size, 2)
            for index, size in zip((pair._renumbered, pair.terms), rows, strict=True)
        )
        self._totals = np.bincount(labels, minlength=2)

    def log_density(self) -> float:
        """log of the part of p(w, z) that depends on these tokens, if the labels are two topics."""
        pair = self._pair
        total_eta = pair.term_count * pair.eta
        in_documents = gammaln(self._by_document + pair.alpha) - gammaln(pair.alpha)
        in_terms = gammaln(self._by_term + pair.eta) - gammaln(pair.eta)
        totals = gammaln(total_eta) - gammaln(self._totals + total_eta)
        return float(in_documents.sum() + in_terms.sum() + totals.sum())

    def sweep(self, b: float, logits: np.ndarray, rng: np.random.Generator, shares: np.ndarray | None = None) -> float:
        """One sweep at b, forward or backward; returns by how much log p - log q rose. The tokens' conditional
        probabilities of label 1 are added to `shares`."""
        pair, forward = self._pair, bool(rng.integers(2))
        data = (pair._renumbered, pair.terms, self._by_document, self._by_term, self._totals, pair.alpha, pair.eta)
        return float(_sweep(*data, self.of_tokens, b, logits, forward, shares, new_words(rng)))


@kernel
def _sweep(
    documents: np.ndarray,
    terms: np.ndarray,
    by_document: np.ndarray,
    by_term: np.ndarray,
    totals: np.ndarray,
    alpha: float,
    eta: float,
    labels: np.ndarray,
    b: float,
    logits: np.ndarray,
    forward: bool,
    shares: np.ndarray | None,
    words: np.ndarray,
) -> float:
    total_eta, tokens, rise = len(by_term) * eta, len(labels), 0.0
    for step in range(tokens):
        i = step if forward else tokens - 1 - step
        d, v, old = documents[i], terms[i], labels[i]
        by_document[d, old] -= 1
        by_term[v, old] -= 1
        totals[old] -= 1
        ratio = (by_document[d, 1] + alpha) * (by_term[v, 1] + eta) * (totals[0] + total_eta)
        ratio /= (by_document[d, 0] + alpha) * (by_term[v, 0] + eta) * (totals[1] + total_eta)
        log_ratio = math.log(ratio)
        share = 1.0 / (1.0 + math.exp(-b * log_ratio - (1.0 - b) * logits[i]))
        if shares is not None:
            shares[i] += share
        new = 1 if uniform(words) < share else 0
        rise += (new - old) * (log_ratio - logits[i])
        labels[i] = new
        by_document[d, new] += 1
        by_term[v, new] += 1
        totals[new] += 1
    return rise
