"""What the kept draws of a chain say about its topics and documents: posterior means with their standard deviations.

A chain keeps at most DRAWS of its assignments z, evenly spaced over the kept sweeps. A topic may change its label along
a chain, so every draw gets the labels that agree best with the last one. Given z, theta and beta are Dirichlet; their
means and variances are averaged over the draws, and the variance of the means is added (the law of total variance). So
a standard deviation contains what a single draw leaves open and what differs between draws, but not what other chains
found: that is the reproducibility of a topic (`runs.reproducibility`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.metadata import storable
from bayestopics.lda.alignment import relabelled
from bayestopics.lda.state import State, tally
from bayestopics.runs.chain import LargestShares

DRAWS = 25  # draws to keep from a chain: one or two bytes per token and draw
ROOM = 2**28  # bytes of all draws of a chain: on large corpora there are fewer
STEP, TOKENS = 10_000, 1_000_000  # documents and tokens at a time, which saves memory
MODEL_DRAWS = 10  # draws that a record keeps for new documents: their counts of terms in topics


@dataclass
class KeptDraws:
    """Keeps the assignments after these sweeps, in the smallest type of integer that holds the topics."""

    sweeps: list[int]
    shares: LargestShares = field(default_factory=LargestShares)
    draws: list[np.ndarray] = field(default_factory=list)

    def observe(self, sweep: int, state: State) -> dict[str, float]:
        if sweep in self.sweeps:
            self.draws.append(state.assignments.astype(np.min_scalar_type(state.topics - 1)))
        return self.shares.observe(sweep, state)


def spread(burn_in: int, sweeps: int, tokens: int = 0, topics: int = 1) -> list[int]:
    """At most DRAWS evenly spaced sweeps after the burn-in, up to and including the last. Draws of so many tokens that
    all do not fit into ROOM are fewer, but at least two."""
    fitting = max(2, ROOM // max(1, tokens * np.min_scalar_type(topics - 1).itemsize))
    steps = np.linspace(0, sweeps, min(DRAWS, fitting, sweeps) + 1)[1:].round().astype(int)
    return (burn_in - 1 + steps).tolist()


def aligned(draws: list[np.ndarray], topics: int) -> list[np.ndarray]:
    """The draws with the labels of the last one."""
    return [relabelled(draw, draws[-1], topics) for draw in draws]


@dataclass(frozen=True, eq=False)
class Moments:
    """Posterior means and standard deviations, with the same shape."""

    mean: np.ndarray
    deviation: np.ndarray


def document_moments(corpus: Corpus, draws: list[np.ndarray], alpha: np.ndarray) -> Moments:
    """Of theta, D x T. Given z, theta_d is Dirichlet(n_d + alpha)."""
    # as columns of a table, and in place, because for many documents this is the largest part of a result
    total, squares = (np.zeros((len(alpha), corpus.document_count)).T for _ in range(2))
    pieces = [slice(first, first + STEP) for first in range(0, corpus.document_count, STEP)]
    for draw in draws:
        document_topic = tally(corpus.documents, draw, (corpus.document_count, len(alpha)))
        for here in pieces:
            total[here] += document_topic[here]
            squares[here] += document_topic[here].astype(np.float64) ** 2
    number, size = len(draws), (corpus.document_lengths + alpha.sum())[:, None]
    for here in pieces:
        mean = (total[here] / number + alpha) / size[here]
        between = np.maximum(squares[here] / number - (total[here] / number) ** 2, 0.0) / size[here] ** 2
        within = (mean * (1 - mean) - between) / (size[here] + 1)  # the mean over draws of m (1 - m) / (size + 1)
        total[here], squares[here] = mean, np.sqrt(between + within)
    return Moments(total, squares)


def topic_moments(corpus: Corpus, draws: list[np.ndarray], topics: int, eta: float) -> Moments:
    """Of beta, T x V. Given z, beta_t is Dirichlet(m_t + eta)."""
    total, squares, within = np.zeros((3, topics, corpus.term_count))
    for draw in draws:
        beta, size = beta_of(corpus, draw, topics, eta)
        for t in range(topics):
            total[t] += beta[t]
            squares[t] += beta[t] ** 2
            within[t] += beta[t] * (1 - beta[t]) / (size[t] + 1)
    number = len(draws)
    for t in range(topics):
        mean = total[t] / number
        between = np.maximum(squares[t] / number - mean**2, 0.0)
        total[t], squares[t] = mean, np.sqrt(between + within[t] / number)
    return Moments(total, squares)


def beta_of(corpus: Corpus, draw: np.ndarray, topics: int, eta: float) -> tuple[np.ndarray, np.ndarray]:
    """(E[beta | z], T x V; the sums of its Dirichlet parameters, T x 1)."""
    parameters = term_topic_of(corpus, draw, topics).T + eta
    size = parameters.sum(axis=1, keepdims=True)
    return parameters / size, size


def term_topic_of(corpus: Corpus, draw: np.ndarray, topics: int) -> np.ndarray:
    return tally(corpus.terms, draw, (corpus.term_count, topics))


def mean_term_topic(corpus: Corpus, draws: list[np.ndarray], topics: int) -> np.ndarray:
    """The mean of m_tv over the draws, V x T."""
    total = np.zeros((corpus.term_count, topics))
    for draw in draws:
        total += term_topic_of(corpus, draw, topics)
    return total / len(draws)


# -- as tables and arrays of a record ------------------------------------------------------------------


def documents_table(corpus: Corpus, theta: Moments) -> pd.DataFrame:
    """One row per document: its number, its label and other columns where known, its tokens, and mean and deviation of
    each topic."""
    columns: dict[str, object] = {"document": np.arange(corpus.document_count)}
    if corpus.labels is not None:
        columns["label"] = list(corpus.labels)
    if corpus.metadata is not None:
        known = storable(corpus.metadata)
        columns |= {str(name): known[name].to_numpy() for name in known if str(name) not in columns}
    columns["tokens"] = corpus.document_lengths
    topics = range(theta.mean.shape[1])
    means = pd.DataFrame(theta.mean, columns=[f"topic_{t}" for t in topics], copy=False)
    deviations = pd.DataFrame(theta.deviation, columns=[f"topic_{t}_sd" for t in topics], copy=False)
    # a column of the texts gives its name and its place to what the program computes
    known = pd.DataFrame({name: columns[name] for name in columns if name not in {*means, *deviations}})
    table = pd.concat([known, means, deviations], axis=1)
    order = list(dict.fromkeys([*columns, *means, *deviations]))
    return table if list(table) == order else table[order]


def terms_table(corpus: Corpus, beta: Moments, counts: np.ndarray) -> pd.DataFrame:
    """One row per topic and term that occurs in it in any draw, sorted by topic and probability."""
    vocabulary = pd.Series(list(corpus.vocabulary))
    alphabetical = np.unique(np.array(corpus.vocabulary), return_inverse=True)[1]
    terms, topics = np.nonzero(counts)
    order = np.lexsort((alphabetical[terms], -beta.mean[topics, terms], topics))
    terms, topics = terms[order], topics[order]
    columns = {
        "topic": topics,
        "term": vocabulary.array.take(terms),
        "probability": beta.mean[topics, terms],
        "standard_deviation": beta.deviation[topics, terms],
    }
    return pd.DataFrame(columns)


def model_arrays(corpus: Corpus, draws: list[np.ndarray], topics: int) -> dict[str, np.ndarray]:
    """The nonzero counts m_tv of at most MODEL_DRAWS draws: what new documents need (`predict.new_documents`)."""
    steps = np.linspace(0, len(draws), min(MODEL_DRAWS, len(draws)) + 1)[1:].round().astype(int) - 1
    found = []
    for step in steps:
        counts = term_topic_of(corpus, draws[step], topics)
        terms, labels = np.nonzero(counts)
        found.append((terms.astype(np.int32), labels.astype(np.int32), counts[terms, labels]))
    return {
        "model_draw": np.repeat(np.arange(len(found), dtype=np.int16), [len(terms) for terms, _, _ in found]),
        "model_term": np.concatenate([terms for terms, _, _ in found]),
        "model_topic": np.concatenate([labels for _, labels, _ in found]),
        "model_count": np.concatenate([counts for _, _, counts in found]),
    }


def vocabulary_table(corpus: Corpus) -> pd.DataFrame:
    """Every term of the corpus in its order, and how often it occurs."""
    counts = np.zeros(corpus.term_count, np.int64)
    for first in range(0, corpus.token_count, TOKENS):
        counts += np.bincount(corpus.terms[first : first + TOKENS], minlength=corpus.term_count)
    return pd.DataFrame({"term": list(corpus.vocabulary), "tokens": counts})


def mean_theta(documents: pd.DataFrame) -> np.ndarray:
    """The means of theta from the table of documents, D x T."""
    topics = sum(name.startswith("topic_") for name in documents) // 2
    return documents[[f"topic_{t}" for t in range(topics)]].to_numpy()


def mean_beta(tables: Mapping[str, pd.DataFrame], vocabulary: Sequence[str] | None = None) -> np.ndarray:
    """The means of beta from the tables of a record, T x V: for its terms in their order, or for those of another
    vocabulary, where a term that the record does not know has 0. The terms that no draw has in a topic share what is
    left of its probability equally."""
    known, own = tables["topics"], tables["vocabulary"]["term"].tolist()
    place = {term: number for number, term in enumerate(own)}
    cells = known["topic"].to_numpy(), known["term"].map(place).to_numpy()
    beta = np.full((len(tables["shares"]), len(own)), np.nan)
    beta[cells] = known["probability"]
    absent = np.isnan(beta)
    left = np.maximum(1 - np.nansum(beta, axis=1), 0.0) / np.maximum(absent.sum(axis=1), 1)
    beta = np.where(absent, left[:, None], beta)
    if vocabulary is None:
        return beta
    columns = np.array([place.get(term, -1) for term in vocabulary], dtype=np.int64)
    return np.where(columns >= 0, beta[:, columns], 0.0)
