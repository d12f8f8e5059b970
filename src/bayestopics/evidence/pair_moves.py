"""Splits one topic in two, or merges two, by annealing on the tokens of the pair (Karagiannis & Andrieu 2013).

A path leads from a distribution q of labels 0 and 1, made from the merged tokens alone, to the density p of two topics,
along q^(1-b) p^b. A split draws labels from q and anneals them to p; a merge anneals the present labels back. Both ways
the weight W of the path is an estimate of the evidence of two topics on these tokens over that of one, and with W in
the place of the evidence the move is exact, because the path and its reverse cancel (annealed importance sampling; Neal
2001). Sweeps go forward or backward with equal probability, which makes them reversible. There are two kinds of q, one
of which is chosen at random for each move:

- tied halves: one topic is the same as two halves with alpha / 2 each in every document and the same words. This path
  is short between topics that hardly differ.
- a reference: from random labels, a short run of the sampler finds two halves, and each token has the mean of its
  conditionals in that run, independently of all others. This path is short between topics that clearly differ.
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
    """The tokens of one topic, or of two."""

    documents: np.ndarray  # int32[n]
    terms: np.ndarray  # int32[n]
    term_count: int
    alpha: float
    eta: float

    def __post_init__(self) -> None:
        numbers, renumbered = np.unique(self.documents, return_inverse=True)
        self._document_count, self._renumbered = len(numbers), renumbered.astype(np.int32)

    def split(self, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        """Labels at the end of a path, and its log weight W."""
        path, ladder = self._path(rng), _ladder(rng)
        path.draw(rng)
        log_weight = 0.0
        for step in range(len(ladder) - 1):
            log_weight += (ladder[step + 1] - ladder[step]) * path.log_ratio
            if ladder[step + 1] < 1.0:
                path.sweep(ladder[step + 1], rng)
        return path.labels, log_weight - path.log_total

    def merge(self, present: np.ndarray, rng: np.random.Generator) -> float:
        """The log weight W of a path back from the present labels, which may be numbered in either way."""
        path, ladder = self._path(rng), _ladder(rng)
        path.begin((present ^ rng.integers(2)).astype(np.int8))
        log_weight = 0.0
        for step in range(len(ladder) - 1, 0, -1):
            log_weight += (ladder[step] - ladder[step - 1]) * path.log_ratio
            if ladder[step - 1] > 0.0:
                path.sweep(ladder[step - 1], rng)
        return log_weight - path.log_total

    def _path(self, rng: np.random.Generator) -> Path:
        return Path(self, None if rng.integers(2) else self._reference(rng))

    def _reference(self, rng: np.random.Generator) -> np.ndarray:
        """The logit of each token's share of label 1."""
        path, shares = Path(self, np.zeros(len(self.terms))), np.zeros(len(self.terms))
        path.begin(rng.integers(2, size=len(self.terms)).astype(np.int8))
        for number in range(LAUNCH):
            path.sweep(1.0, rng, shares if 2 * number >= LAUNCH else None)
        mean = shares / (LAUNCH - LAUNCH // 2)
        with np.errstate(divide="ignore"):
            return np.clip(np.log(mean) - np.log1p(-mean), -LARGEST, LARGEST)


def _ladder(rng: np.random.Generator) -> np.ndarray:
    """Powers b from 0 to 1, closer to each other near both ends."""
    even = np.linspace(0.0, 1.0, STEPS[rng.integers(len(STEPS))] + 1)
    return even * even * (3.0 - 2.0 * even)


class Path:
    """Labels on a path from q, which is given by the logits of the tokens or, without them, by tied halves."""

    def __init__(self, pair: Pair, logits: np.ndarray | None) -> None:
        self._pair, self._logits = pair, logits
        self.begin(np.zeros(len(pair.terms), np.int8))
        # of p if the tokens are one topic: an empty topic adds nothing; tied halves already have this total
        self.log_total = self._log_density() if logits is not None else 0.0

    def draw(self, rng: np.random.Generator) -> None:
        """Draw labels from q."""
        if self._logits is None:
            half = self._pair.alpha / 2
            shares = rng.beta(half, half, size=self._pair._document_count)[self._pair._renumbered]
        else:
            shares = expit(self._logits)
        self.begin((rng.random(len(shares)) < shares).astype(np.int8))

    def begin(self, labels: np.ndarray) -> None:
        """Count these labels."""
        pair, self.labels = self._pair, labels
        rows = (pair._document_count, pair.term_count)
        self._by_document, self._by_term = (
            np.bincount(2 * index.astype(np.int64) + labels, minlength=2 * size).reshape(size, 2)
            for index, size in zip((pair._renumbered, pair.terms), rows, strict=True)
        )
        self._totals = np.bincount(labels, minlength=2)
        self.log_ratio = self._log_density() - self._log_start()

    def _log_density(self) -> float:
        """log p: the part of log p(w, z) that depends on these tokens, if the labels are two topics."""
        return self._of_documents(self._pair.alpha) + self._of_terms(self._by_term, self._totals)

    def _log_start(self) -> float:
        """log q. For tied halves it is not normalised: its total is p if the tokens are one topic."""
        if self._logits is None:
            together = self._of_terms(self._by_term.sum(axis=1), self._totals.sum())
            return self._of_documents(self._pair.alpha / 2) + together
        return float(-np.logaddexp(0.0, np.where(self.labels == 1, -self._logits, self._logits)).sum())

    def _of_documents(self, alpha: float) -> float:
        return float((gammaln(self._by_document + alpha) - gammaln(alpha)).sum())

    def _of_terms(self, by_term: np.ndarray, totals: np.ndarray) -> float:
        eta, total_eta = self._pair.eta, self._pair.term_count * self._pair.eta
        in_topics = (gammaln(by_term + eta) - gammaln(eta)).sum()
        return float(in_topics + np.sum(gammaln(total_eta) - gammaln(totals + total_eta)))

    def sweep(self, b: float, rng: np.random.Generator, shares: np.ndarray | None = None) -> None:
        """One sweep at b, forward or backward. The conditional probabilities of label 1 are added to `shares`."""
        pair, forward = self._pair, bool(rng.integers(2))
        data = (pair._renumbered, pair.terms, self._by_document, self._by_term, self._totals, pair.alpha, pair.eta)
        self.log_ratio += _sweep(*data, self.labels, b, self._logits, forward, shares, new_words(rng))


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
    logits: np.ndarray | None,
    forward: bool,
    shares: np.ndarray | None,
    words: np.ndarray,
) -> float:
    """One sweep; returns by how much log p - log q rose."""
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
        if logits is None:
            logit = math.log((by_document[d, 1] + alpha / 2) / (by_document[d, 0] + alpha / 2))
        else:
            logit = logits[i]
        share = 1.0 / (1.0 + math.exp(-b * log_ratio - (1.0 - b) * logit))
        if shares is not None:
            shares[i] += share
        new = 1 if uniform(words) < share else 0
        rise += (new - old) * (log_ratio - logit)
        labels[i] = new
        by_document[d, new] += 1
        by_term[v, new] += 1
        totals[new] += 1
    return rise
