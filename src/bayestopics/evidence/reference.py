"""Evidence from a fitted reference: annealing along q(z)^(1-b) p(w, z)^b, with q made from a run of the sampler itself.

Annealing from the prior must pass the point where topics form, and there it lags behind however long it is. A path
that starts from a reference which already knows the topics has no such point (Lefebvre, Steele & Vandal 2010; Fan et
al. 2011). First, annealing from the prior finds a mode. Then a chain runs in this mode, and q gives each token the
shares of the topics that it had in this chain, independently of all other tokens. The estimate is unbiased for every q.

A chain stays in one of the T! labellings of its topics. For a symmetric prior everything is therefore restricted to
one region: the z whose labelling the reference likes best. This region and its images under relabelling cover all z,
and m(T) = T! E[weight / (number of empty topics)!]. Sweeps go forward or backward with equal probability, which makes
them reversible; so a sweep that leaves the region can be refused. On corpora of some size hardly any sweep leaves it.

On small corpora, or with more topics than the words call for, topics come and go and change their labels. A pilot run
then has many sweeps refused, and a reference is of little use; but there annealing from the prior does not lag behind.
In this case the estimate is the mean of both. It is unbiased too, because the pilot run is not part of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from bayestopics.base.guard import finite, not_finite
from bayestopics.base.jit import kernel, sum_kernel
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.annealing import anneal as anneal_from_prior
from bayestopics.evidence.annealing import check_ladder, ladder_from, pilot
from bayestopics.evidence.tempered import Tempered, draw_prior
from bayestopics.lda import single_site
from bayestopics.lda.dense import CANCELLED
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import CHANGING, Prior, State, from_assignments, unsigned
from bayestopics.lda.uniforms import new_words, uniform

THIN = 10  # the reference averages every tenth sweep
SMALLEST_SHARE = 1e-12
BREAKING = 1e-3  # weight of the random numbers that break ties
INSIDE, ALL = 10, 1000  # draws estimate the share of the region: until INSIDE of them are in it, or ALL are made
MINIMUM = 20  # sweeps in any part of an estimate
OFTEN = 0.05  # if more than this share of the sweeps is refused, the labels are not stable
LONGER = 4  # the ladder from the prior is then this many times longer, so that it takes as long as all the rest


def repeat(
    corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator, found: State | None = None
) -> float:
    """One estimate of log m(T). Topics are found by `sweeps` annealing sweeps from the prior, or are given (and
    changed). Then come sweeps of the sampler: `sweeps` / 2 to settle and as many to make the reference. `sweeps`
    annealing steps lead from the reference to the posterior."""
    state = found or find_topics(corpus, topics, prior, sweeps, rng)
    prepared = prepare(corpus, state, prior, sweeps, sweeps, rng)
    log_weights = [log_weight for log_weight, _ in paths(corpus, topics, prior, prepared, rng)]
    return float(np.logaddexp.reduce(log_weights)) - math.log(len(log_weights))


class Prepared(NamedTuple):
    """What a pilot run prepares. Estimates are unbiased whatever it is, as long as it does not depend on them."""

    reference: Reference
    ladder: np.ndarray  # from the reference to the posterior
    refused: float  # the share of the pilot run's sweeps that were refused


def paths(
    corpus: Corpus, topics: int, prior: Prior, prepared: Prepared, rng: np.random.Generator
) -> list[tuple[float, np.ndarray]]:
    """The log-weight and the last z of one path or, if labels are not stable, of two; the mean of the weights is an
    unbiased estimate of m(T).

    Weighted, the last z has the law p(w, z | T), up to its labels: E[weight 1(z is in C)] = p(w, z is in C | T) for
    every set C that contains all labellings of its members.
    """
    path, log_share = start(corpus, topics, prior, prepared.reference, rng)
    if path is None:
        first = -math.inf, prepared.reference.draw(rng)
    else:
        first = log_share + anneal(path, prepared.ladder, rng), path.state.assignments
    if prepared.refused <= OFTEN:
        return [first]
    steps = len(prepared.ladder) - 1
    ladder = ladder_from(*pilot(corpus, topics, prior, rng, max(MINIMUM, steps // 10)), LONGER * steps)
    tempered = Tempered(draw_prior(corpus, topics, prior, rng))
    return [first, (anneal_from_prior(tempered, ladder, rng), tempered.state.assignments)]


def estimate_backward(
    corpus: Corpus, topics: int, prior: Prior, truth: np.ndarray, steps: int, rng: np.random.Generator
) -> float:
    """One estimate of log m(T) from above, starting at the z that generated a simulated corpus; the reference is made
    without it."""
    found = find_topics(corpus, topics, prior, steps, rng)
    reference, ladder, _ = prepare(corpus, found, prior, steps, steps, rng)
    renamed = reference.names(truth)[truth] if reference.symmetric else truth
    return anneal_backward(Path(from_assignments(corpus, topics, prior, renamed), reference), ladder, rng)


def prepare(corpus: Corpus, state: State, prior: Prior, steps: int, length: int, rng: np.random.Generator) -> Prepared:
    """A reference from `steps` sweeps, half of them to settle, and a ladder of `length` steps. The state is changed."""
    for _ in range(steps // 2):
        single_site.sweep(state, rng)
    reference = fit(corpus, state, max(MINIMUM, steps // 2), rng)
    drawn, sweeps = reference.draw(rng), max(MINIMUM, steps // 10)
    if reference.symmetric:
        drawn = reference.names(drawn)[drawn]
    pilot_run = Path(from_assignments(corpus, state.topics, prior, drawn), reference)
    return Prepared(reference, pilot_ladder(pilot_run, length, rng, sweeps), pilot_run.refused / sweeps)


def find_topics(corpus: Corpus, topics: int, prior: Prior, steps: int, rng: np.random.Generator) -> State:
    """The end of an annealing run from the prior: topics form slowly, and better than from a random start."""
    pilot_steps = max(MINIMUM, steps // 10)
    ladder = ladder_from(*pilot(corpus, topics, prior, rng, pilot_steps), steps)
    tempered = Tempered(draw_prior(corpus, topics, prior, rng))
    for step in counted(range(1, len(ladder)), f"finding topics, T={topics}", "step"):
        if not finite(tempered.sweep(ladder[step], rng)):
            raise not_finite("log p(w | z) while topics are found", step - 1, tempered.state)
    return tempered.state


@dataclass(frozen=True, eq=False)
class Reference:
    """q(z): tokens are independent; the tokens of one (document, term) pair have the same shares of the topics."""

    pairs: np.ndarray  # int32[N]: the (document, term) pair of each token
    log_shares: np.ndarray  # float32[P, T]: logs of the shares, up to one constant per row
    breakers: np.ndarray  # float64[N]: random numbers that break ties between labellings
    symmetric: bool  # the prior does not change when topics are relabelled

    @cached_property
    def log_sums(self) -> np.ndarray:
        """float64[P]: logs of the normalising constants of the pairs' shares."""
        return np.log(np.exp(self.log_shares.astype(np.float64)).sum(axis=1))

    def draws(self, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Assignments without end. The shares of a large corpus take longer than a draw, so they are made once."""
        shares = np.exp(self.log_shares.astype(np.float64))
        while True:
            assignments = np.empty(len(self.pairs), np.int32)
            _draw_tokens(shares, self.pairs, assignments, new_words(rng))
            yield assignments

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        return next(self.draws(rng))

    def log_density(self, assignments: np.ndarray) -> float:
        return float(self.log_shares[self.pairs, assignments].sum(dtype=float) - self.log_sums[self.pairs].sum())

    def names(self, assignments: np.ndarray) -> np.ndarray:
        """The labelling of these topics that the reference likes best: topic s gets the label names[s]."""
        scores = self._scores(assignments)
        return linear_sum_assignment(scores, maximize=True)[1]

    def likes(self, assignments: np.ndarray) -> bool:
        """Whether no other labelling of the topics is better; the z for which this holds are the region."""
        if not self.symmetric:
            return True
        scores = self._scores(assignments)
        best = scores[linear_sum_assignment(scores, maximize=True)].sum()
        return bool(np.trace(scores) >= best - 1e-12 * abs(best))

    def _scores(self, assignments: np.ndarray) -> np.ndarray:
        """log q of the tokens of topic s (row) if its label were t (column), plus a small term that breaks ties: q
        cannot tell apart topics with the same words of the same documents, nor labels that no token had."""
        topics = self.log_shares.shape[1]
        scores, extra = np.zeros((topics, topics)), np.zeros(topics)
        _add_rows(self.log_shares, self.pairs, self.breakers, assignments, scores, extra)
        return scores + BREAKING * np.outer(extra, np.arange(topics))


def pairs_of(corpus: Corpus) -> np.ndarray:
    """The number of each token's (document, term) pair; tokens are sorted by both."""
    new = (np.diff(corpus.documents) != 0) | (np.diff(corpus.terms) != 0)
    return np.concatenate([[0], np.cumsum(new)]).astype(np.int32) if corpus.token_count else np.empty(0, np.int32)


def fit(corpus: Corpus, state: State, sweeps: int, rng: np.random.Generator) -> Reference:
    """The shares of the topics along a chain that continues from `state` and changes it. At every tenth sweep the
    tokens' conditional probabilities are averaged, rather than their topics, so that no share is zero."""
    pairs, symmetric = pairs_of(corpus), bool(np.ptp(state.alpha) == 0)
    total = np.zeros((int(pairs[-1]) + 1, state.topics))
    breakers = rng.standard_normal(len(pairs))
    path = Path(state, Reference(pairs, np.zeros(total.shape, np.float32), breakers, symmetric))
    for sweep in counted(range(sweeps), f"reference, T={state.topics}", "sweep"):
        if (sweeps - 1 - sweep) % THIN:
            single_site.sweep(state, rng)
        else:
            path.sweep_anywhere(1.0, rng, total)
            if not finite(path.log_ratio):
                raise not_finite("log p(w, z) while a reference is made", sweep, state)
    shares = np.maximum(total / total.sum(axis=1, keepdims=True), SMALLEST_SHARE)
    return Reference(pairs, np.log(shares).astype(np.float32), breakers, symmetric)


class Path:
    """A state that can sweep at any b between the reference (0) and the posterior (1), and that keeps
    log p(w, z) - log q(z) up to date."""

    def __init__(self, state: State, reference: Reference) -> None:
        self.state, self.reference = state, reference
        self.log_ratio = log_joint(state) - reference.log_density(state.assignments)
        self.refused = 0
        self._largest = [int(np.bincount(index, minlength=1).max()) for index in (state.documents, state.terms)]
        self._weights = np.empty_like(reference.log_shares)

    def sweep(self, b: float, rng: np.random.Generator) -> float:
        """One sweep at b, undone if it leaves the region; returns log p(w, z) - log q(z)."""
        before, kept = self.log_ratio, [getattr(self.state, name).copy() for name in CHANGING]
        self.sweep_anywhere(b, rng)
        if not self.reference.likes(self.state.assignments):
            self.refused += 1
            self.log_ratio = before
            for name, values in zip(CHANGING, kept, strict=True):
                getattr(self.state, name)[:] = values
        return self.log_ratio

    def sweep_anywhere(self, b: float, rng: np.random.Generator, total: np.ndarray | None = None) -> None:
        """One sweep, forward or backward, that may leave the region. The tokens' conditionals are added to `total`."""
        state, reference = self.state, self.reference
        tables = [
            (np.arange(largest + 1)[:, None] + prior) ** b
            for largest, prior in zip(self._largest, (state.alpha, np.array([state.eta])), strict=True)
        ]
        weights = np.multiply(reference.log_shares, np.float32(1 - b), out=self._weights)
        np.exp(weights, out=weights)
        documents, terms, pairs, assignments = unsigned(
            state.documents, state.terms, reference.pairs, state.assignments
        )
        counts = (state.document_topic, state.term_topic, state.topic_total)
        data = (documents, terms, pairs, *counts, state.alpha, state.eta, assignments)
        forward = bool(rng.random() < 0.5)
        tables_and_weights = (tables[0], tables[1][:, 0].copy(), weights, reference.log_shares)
        self.log_ratio += _sweep(*data, b, forward, *tables_and_weights, total, new_words(rng))


def anneal(path: Path, ladder: np.ndarray, rng: np.random.Generator) -> float:
    """The log-weight of a path that starts at a draw from the reference inside the region."""
    check_ladder(ladder)
    log_weight, topics = 0.0, path.state.topics
    for step in counted(range(len(ladder) - 1), f"annealing, T={topics}", "step"):
        log_weight += (ladder[step + 1] - ladder[step]) * path.log_ratio
        if not finite(log_weight):
            raise not_finite("the log weight of annealing from a reference", step, path.state)
        if ladder[step + 1] < 1.0:
            path.sweep(ladder[step + 1], rng)
    return float(log_weight) + log_labellings(path)


def anneal_backward(path: Path, ladder: np.ndarray, rng: np.random.Generator) -> float:
    """One estimate of log m(T) from above, from a draw of the posterior with the labels that the reference likes."""
    check_ladder(ladder)
    log_weight = 0.0
    first = log_labellings(path)
    for step in range(len(ladder) - 1, 0, -1):
        log_weight += (ladder[step] - ladder[step - 1]) * path.log_ratio
        if not finite(log_weight):
            raise not_finite("the log weight of annealing back", len(ladder) - 1 - step, path.state)
        if ladder[step - 1] > 0.0:
            path.sweep(ladder[step - 1], rng)
    return float(log_weight) + first


def log_labellings(path: Path) -> float:
    """log of the number of different labellings of these topics; empty topics cannot be told apart."""
    if not path.reference.symmetric:
        return 0.0
    return math.lgamma(path.state.topics + 1) - math.lgamma(int(np.sum(path.state.topic_total == 0)) + 1)


def start(
    corpus: Corpus, topics: int, prior: Prior, reference: Reference, rng: np.random.Generator
) -> tuple[Path | None, float]:
    """A draw from the reference inside the region, and the log of an unbiased estimate of the region's share of q.

    Draws are made until INSIDE of them are in the region or ALL have been made (Girshick, Mosteller & Savage 1946).
    """
    if not reference.symmetric:
        return Path(from_assignments(corpus, topics, prior, reference.draw(rng)), reference), 0.0
    first, inside, tries, draws = None, 0, 0, reference.draws(rng)
    while inside < INSIDE and tries < ALL:
        drawn, tries = next(draws), tries + 1
        if reference.likes(drawn):
            first, inside = drawn if first is None else first, inside + 1
    if first is None:
        return None, -math.inf
    share = (INSIDE - 1) / (tries - 1) if inside == INSIDE else inside / tries
    return Path(from_assignments(corpus, topics, prior, first), reference), math.log(share)


def pilot_ladder(path: Path, steps: int, rng: np.random.Generator, sweeps: int) -> np.ndarray:
    """A ladder whose steps have equal variance, from a short run along `path`."""
    first = np.linspace(0.0, 1.0, sweeps + 1)
    ratios = [path.log_ratio]
    for step, b in enumerate(first[1:]):
        ratios.append(path.sweep(b, rng))
        if not finite(ratios[-1]):
            raise not_finite("log p(w, z) - log q(z) in a pilot run", step, path.state)
    return ladder_from(first, np.array(ratios), steps)


@kernel
def _draw_tokens(shares: np.ndarray, pairs: np.ndarray, assignments: np.ndarray, words: np.ndarray) -> None:
    for i in range(len(pairs)):
        pair = pairs[i]
        threshold = uniform(words) * shares[pair].sum()
        for t in range(shares.shape[1]):
            assignments[i] = t
            threshold -= shares[pair, t]
            if threshold < 0.0:
                break


@kernel
def _add_rows(
    log_shares: np.ndarray,
    pairs: np.ndarray,
    breakers: np.ndarray,
    assignments: np.ndarray,
    scores: np.ndarray,
    extra: np.ndarray,
) -> None:
    for i in range(len(pairs)):
        s, pair = assignments[i], pairs[i]
        extra[s] += breakers[i]
        for t in range(len(scores)):
            scores[s, t] += log_shares[pair, t]


@sum_kernel
def _mass(row: np.ndarray, factor: np.ndarray) -> float:
    mass = 0.0
    for t in range(len(factor)):
        mass += row[t] * factor[t]
    return mass


@kernel
def _mass_of_others(row: np.ndarray, factor: np.ndarray, old: int) -> float:
    mass = 0.0
    for t in range(len(factor)):
        if t != old:
            mass += row[t] * factor[t]
    return mass


@kernel
def _sweep(
    documents: np.ndarray,
    terms: np.ndarray,
    pairs: np.ndarray,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    assignments: np.ndarray,
    b: float,
    forward: bool,
    document_table: np.ndarray,
    term_table: np.ndarray,
    weights: np.ndarray,
    log_shares: np.ndarray,
    conditionals: np.ndarray | None,
    words: np.ndarray,
) -> float:
    """One sweep; returns by how much log p(w, z) - log q(z) rose.

    document_table[c, t] = (c + alpha_t)^b, term_table[c] = (c + eta)^b, weights = shares^(1-b).
    """
    topics, tokens, total_eta = len(alpha), len(assignments), len(term_topic) * eta
    # (m_t + V eta)^-b, with all tokens and with one token less; each changes only when a token moves
    total, less = (topic_total + total_eta) ** -b, np.maximum(topic_total - 1 + total_eta, 0.0) ** -b
    factor, row = np.empty(topics), np.empty(topics)  # the weight of topic t is row[t] * factor[t]
    rise, product, document, pair = 0.0, 1.0, -1, -1
    for step in range(tokens):
        i = step if forward else tokens - 1 - step
        d, v, old = documents[i], terms[i], assignments[i]
        if d != document:
            document = d
            for t in range(topics):
                factor[t] = document_table[document_topic[d, t], t] * total[t]
        if pairs[i] != pair:
            pair = pairs[i]
            for t in range(topics):
                row[t] = term_table[term_topic[v, t]] * weights[pair, t]
        own = document_table[document_topic[d, old] - 1, old] * less[old]
        own_row = term_table[term_topic[v, old] - 1] * weights[pair, old]
        chosen = own_row * own
        with_token = _mass(row, factor)
        others = with_token - row[old] * factor[old]
        if others < CANCELLED * with_token:
            others = _mass_of_others(row, factor, old)
        mass = others + chosen
        if conditionals is not None:
            for t in range(topics):
                if t != old:
                    conditionals[pair, t] += row[t] * factor[t] / mass
            conditionals[pair, old] += chosen / mass
        threshold = uniform(words) * mass - chosen
        if threshold < 0.0:
            continue
        new = int(old)
        for t in range(topics):
            if t != old:
                new = t
                threshold -= row[t] * factor[t]
                if threshold < 0.0:
                    break
        if new == old:
            continue
        product *= (term_topic[v, new] + eta) / (topic_total[new] + total_eta)
        product *= (topic_total[old] - 1 + total_eta) / (term_topic[v, old] - 1 + eta)
        product *= (document_topic[d, new] + alpha[new]) / (document_topic[d, old] - 1 + alpha[old])
        if not 1e-100 < product < 1e100:
            rise += math.log(product)
            product = 1.0
        rise += np.float64(log_shares[pair, old]) - np.float64(log_shares[pair, new])
        assignments[i] = new
        document_topic[d, old] -= 1
        document_topic[d, new] += 1
        term_topic[v, old] -= 1
        term_topic[v, new] += 1
        topic_total[old] -= 1
        topic_total[new] += 1
        row[old], row[new] = own_row, term_table[term_topic[v, new]] * weights[pair, new]
        total[old], less[new] = less[old], total[new]
        less[old] = (topic_total[old] - 1 + total_eta) ** -b if topic_total[old] > 0 else 0.0
        total[new] = (topic_total[new] + total_eta) ** -b
        factor[old], factor[new] = own, document_table[document_topic[d, new], new] * total[new]
    return rise + math.log(product)
