"""Corpora simulated from known parameters: LDA, bars, overlapping topics, the HDP and the DP mixture."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

import numpy as np

from bayestopics.base.files import replacing
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus

MOST_TOKENS = np.iinfo(np.int32).max  # what a Corpus holds
SMALLEST_PARAMETER = 1e-300  # below it log(U) / a overflows in `_dirichlet`


@dataclass(frozen=True, eq=False)
class Simulated:
    """A corpus and what generated it.

    `truth` has at least `assignments` (int32, one per token, in the token order of the corpus), `beta`
    (topics x terms) and `topics` (the number of rows of `beta`); scalars are arrays without dimensions.
    """

    corpus: Corpus
    truth: dict[str, np.ndarray]

    def save_truth(self, path: str | os.PathLike[str]) -> None:
        """Write `truth` to an .npz file, which is complete or absent."""
        with replacing(Path(path)) as temporary, open(temporary, "wb") as file:
            np.savez(file, allow_pickle=False, **self.truth)


# -- generators -------------------------------------------------------------------------------------


def simulate_lda(
    documents: int,
    length: float,
    terms: int,
    topics: int,
    alpha: float | Sequence[float] | np.ndarray,
    eta: float,
    rng: np.random.Generator,
    poisson: bool = False,
) -> Simulated:
    """Latent Dirichlet allocation: beta_t ~ Dir(eta), theta_d ~ Dir(alpha), z | theta, w | z, beta.

    `alpha` is one number, or one number per topic; documents have `length` tokens, or Poisson(length) tokens.
    """
    terms, topics = _whole("terms", terms, 1), _whole("topics", topics, 1)
    weights = _positive_vector("alpha", alpha, topics)
    truth = _positive_scalars(eta=eta)
    lengths = _document_lengths(documents, length, poisson, rng)
    beta = _dirichlet(np.full(terms, float(eta)), topics, rng)
    return _mixed_membership("lda", lengths, weights, beta, _vocabulary(terms), rng, truth)


def simulate_bars(
    documents: int = 2000,
    length: float = 100,
    side: int = 5,
    alpha: float = 0.1,
    *,
    rng: np.random.Generator,
) -> Simulated:
    """Bars (Griffiths & Steyvers 2004): each topic is uniform over one row or column of a side x side image.

    Topics 0 .. side - 1 are the rows, the others the columns; the term of pixel (r, c) is r * side + c.
    The defaults are those of Zhang & Sisson: 2,000 documents of 100 tokens, 25 terms, 10 topics.
    """
    side = _whole("side", side, 1)
    weights = _positive_vector("alpha", alpha, 2 * side)
    lengths = _document_lengths(documents, length, False, rng)
    line = np.eye(side) / side
    rows, columns = np.repeat(line, side, axis=1), np.tile(line, side)
    vocabulary = [f"r{row}c{column}" for row in range(side) for column in range(side)]
    return _mixed_membership("bars", lengths, weights, np.vstack((rows, columns)), vocabulary, rng, {})


def simulate_overlapping_topics(
    documents: int = 4, length: float = 500, topics: int = 10, *, rng: np.random.Generator
) -> Simulated:
    """The synthetic data of the HDP split-merge paper: as many terms as topics, with nested supports.

    Topic k = 1, 2, ..., topics is uniform on the words 1, ..., topics + 1 - k: the first topic uses every word,
    the last only word 1. Topic mixtures are uniform on the simplex. The paper has 10 topics and 4 documents
    (groups); it does not say how many words a group has, so `length` = 500 is our choice.
    """
    topics = _whole("topics", topics, 1)
    lengths = _document_lengths(documents, length, False, rng)
    support = np.tri(topics)[::-1]
    beta = support / support.sum(axis=1, keepdims=True)
    alpha, vocabulary = np.ones(topics), _vocabulary(topics)
    return _mixed_membership("overlapping-topics", lengths, alpha, beta, vocabulary, rng, {})


def simulate_hdp(
    documents: int,
    length: float,
    terms: int,
    gamma: float,
    concentration: float,
    eta: float,
    rng: np.random.Generator,
    poisson: bool = False,
) -> Simulated:
    """The HDP topic model, without truncation: the Chinese restaurant franchise.

    Each document is a restaurant with parameter `concentration`, which seats its tokens at tables; the tables of
    all documents choose their dish (topic) by one restaurant with parameter `gamma`. `assignments` are dishes and
    `tables` the tables within the document, both numbered by first appearance before the tokens are sorted by
    term; `topic_tables` is the number of tables that serve each dish.
    """
    terms = _whole("terms", terms, 1)
    truth = _positive_scalars(gamma=gamma, concentration=concentration, eta=eta)
    lengths = _document_lengths(documents, length, poisson, rng)
    seatings = [_chinese_restaurant(count, concentration, rng) for count in lengths.tolist()]
    table_counts = np.array([seating.max(initial=-1) + 1 for seating in seatings])
    tables = np.concatenate(seatings)
    dishes = _chinese_restaurant(int(table_counts.sum()), gamma, rng)  # the dish of every table
    first_table = np.cumsum(table_counts) - table_counts
    assignments = dishes[np.repeat(first_table, lengths) + tables]
    truth["topic_tables"] = np.bincount(dishes)
    beta = _dirichlet(np.full(terms, float(eta)), len(truth["topic_tables"]), rng)
    by_token = {"assignments": assignments, "tables": tables}
    return _emit("hdp", lengths, by_token, beta, _vocabulary(terms), rng, truth)


def simulate_dp_mixture(
    documents: int,
    length: float,
    terms: int,
    concentration: float,
    eta: float,
    rng: np.random.Generator,
    poisson: bool = False,
) -> Simulated:
    """Dirichlet process mixture of multinomials: one component per document, by the Chinese restaurant process."""
    terms = _whole("terms", terms, 1)
    truth = _positive_scalars(concentration=concentration, eta=eta)
    lengths = _document_lengths(documents, length, poisson, rng)
    truth["components"] = components = _chinese_restaurant(len(lengths), concentration, rng)
    beta = _dirichlet(np.full(terms, float(eta)), int(components.max()) + 1, rng)
    by_token = {"assignments": np.repeat(components, lengths)}
    return _emit("dp-mixture", lengths, by_token, beta, _vocabulary(terms), rng, truth)


GENERATORS: dict[str, Callable[..., Simulated]] = {
    "lda": simulate_lda,
    "bars": simulate_bars,
    "overlapping-topics": simulate_overlapping_topics,
    "hdp": simulate_hdp,
    "dp-mixture": simulate_dp_mixture,
}


# -- draws ------------------------------------------------------------------------------------------


def _dirichlet(parameters: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Draws from Dir(parameters), one per row. They are made in log space, because
    log G(a) = log G(a + 1) + log(U) / a does not underflow."""
    shape = (rows, len(parameters))
    log_gamma = np.log(rng.standard_gamma(parameters + 1, shape))
    log_gamma -= rng.standard_exponential(shape) / parameters  # -log(U) is exponential
    weights = np.exp(log_gamma - log_gamma.max(axis=1, keepdims=True))  # the largest is 1: no row of zeros
    return weights / weights.sum(axis=1, keepdims=True)


def _chinese_restaurant(customers: int, concentration: float, rng: np.random.Generator) -> np.ndarray:
    """The table of each customer, numbered by first appearance.

    Customer i opens a table with probability concentration / (concentration + i), and otherwise joins one of
    the i earlier customers, chosen uniformly. This gives the usual distribution without counting table sizes.
    """
    earlier = np.arange(customers)
    chosen = np.minimum(rng.random(customers) * (concentration + earlier), earlier).astype(np.int64)
    tables: list[int] = []
    opened = 0
    for customer, companion in enumerate(chosen.tolist()):
        if companion < customer:
            tables.append(tables[companion])
        else:
            tables.append(opened)
            opened += 1
    return np.array(tables, np.int32)


def _draw_terms(assignments: np.ndarray, beta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One term per token, by inverting the distribution function of its topic; never a term of probability 0."""
    topics = len(beta)
    by_topic = np.argsort(assignments.astype(np.min_scalar_type(topics)), kind="stable")
    ends = np.cumsum(np.bincount(assignments, minlength=topics))
    uniform = rng.random(len(assignments))
    terms = np.empty(len(assignments), np.int32)
    for topic, tokens in enumerate(np.split(by_topic, ends[:-1])):
        cumulative = np.cumsum(beta[topic])
        terms[tokens] = np.searchsorted(cumulative / cumulative[-1], uniform[tokens], side="right")
    return terms


def _document_lengths(documents: int, length: float, poisson: bool, rng: np.random.Generator) -> np.ndarray:
    documents = _whole("documents", documents, 1)
    if not poisson:
        length = _whole("length", length, 0)
    elif not (isinstance(length, Real) and 0 <= length < np.inf):
        raise InputError(f"length must be a finite number of at least 0, not {length!r}")
    if documents * length > MOST_TOKENS:
        raise InputError(f"{documents} documents of length {length} have more than {MOST_TOKENS:,} tokens")
    lengths = rng.poisson(length, documents) if poisson else np.full(documents, length)
    if not lengths.any():
        raise InputError(f"length {length} gives a corpus without tokens")
    return lengths


def _mixed_membership(
    name: str,
    lengths: np.ndarray,
    alpha: np.ndarray,
    beta: np.ndarray,
    vocabulary: list[str],
    rng: np.random.Generator,
    truth: dict[str, np.ndarray],
) -> Simulated:
    """theta_d ~ Dir(alpha), topics given theta, terms given topics and beta."""
    theta = _dirichlet(alpha, len(lengths), rng)
    document_topic = rng.multinomial(lengths, theta)
    topics = np.tile(np.arange(len(beta), dtype=np.int32), len(lengths))
    by_token = {"assignments": np.repeat(topics, document_topic.ravel())}
    return _emit(name, lengths, by_token, beta, vocabulary, rng, {"theta": theta, "alpha": alpha} | truth)


def _emit(
    name: str,
    lengths: np.ndarray,
    by_token: dict[str, np.ndarray],
    beta: np.ndarray,
    vocabulary: list[str],
    rng: np.random.Generator,
    truth: dict[str, np.ndarray],
) -> Simulated:
    """Draw the terms, and sort the tokens and all arrays in `by_token` into the token order of a Corpus."""
    documents = np.repeat(np.arange(len(lengths)), lengths)
    terms = _draw_terms(by_token["assignments"], beta, rng)
    # stable: the same order on every machine; the documents are sorted already
    order = np.argsort(documents * len(vocabulary) + terms, kind="stable")
    corpus = Corpus(documents.astype(np.int32), terms[order], len(lengths), tuple(vocabulary), name=name)
    sorted_by_token = {key: values[order] for key, values in by_token.items()}
    return Simulated(corpus, truth | sorted_by_token | {"beta": beta, "topics": np.array(len(beta))})


def _vocabulary(terms: int) -> list[str]:
    return [f"w{term:0{len(str(terms - 1))}}" for term in range(terms)]


# -- checks -----------------------------------------------------------------------------------------


def _whole(name: str, value: float, least: int) -> int:
    if not (isinstance(value, Real) and value >= least and float(value).is_integer()):
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def _positive(name: str, value: object) -> float:
    if not (isinstance(value, Real) and SMALLEST_PARAMETER <= float(value) < np.inf):
        raise InputError(f"{name} must be a positive finite number, not {value!r}")
    return float(value)


def _positive_scalars(**scalars: float) -> dict[str, np.ndarray]:
    return {name: np.array(_positive(name, value)) for name, value in scalars.items()}


def _positive_vector(name: str, value: float | Sequence[float] | np.ndarray, size: int) -> np.ndarray:
    """`size` positive numbers, from one number (repeated) or from a list of `size` numbers."""
    values = list(value) if isinstance(value, list | tuple | np.ndarray) else [value] * size
    if len(values) != size:
        raise InputError(f"{name} has {len(values)} values for {size} topics")
    return np.array([_positive(name, entry) for entry in values])
