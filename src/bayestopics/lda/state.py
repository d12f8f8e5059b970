"""The state of an LDA sampler: the assignments of tokens to topics, and the counts that follow from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus

# below, products of alpha and eta leave the range of a double; above, differences of log-gammas lose precision
SMALLEST, LARGEST = 1e-50, 1e6


@dataclass(frozen=True)
class Prior:
    """The Dirichlet parameters of LDA.

    Parameters
    ----------
    alpha : float or tuple of float
        The parameter of the topics in a document: one number for all topics, or one number per topic. Small values
        mean few topics per document.
    eta : float
        The parameter of the terms in a topic. Small values mean few terms per topic.

    Examples
    --------
    >>> from bayestopics import Prior
    >>> Prior()
    Prior(alpha=0.1, eta=0.01)
    >>> Prior(alpha=0.5).alpha_vector(topics=3).tolist()
    [0.5, 0.5, 0.5]
    >>> Prior(eta=0)
    Traceback (most recent call last):
    bayestopics.base.problems.InputError: eta must be positive and finite (1e-50 to 1e+06), not 0
    """

    alpha: float | tuple[float, ...] = 0.1
    eta: float = 0.01

    def __post_init__(self) -> None:
        for name, given in (("alpha", self.alpha), ("eta", self.eta)):
            try:
                values = np.asarray(given, dtype=np.float64)
            except (TypeError, ValueError):
                raise InputError(f"{name} must be a number, not {given!r}") from None
            if values.size == 0 or not np.all((values >= SMALLEST) & (values <= LARGEST)):  # nor nan
                raise InputError(f"{name} must be positive and finite ({SMALLEST:g} to {LARGEST:g}), not {given}")

    def alpha_vector(self, topics: int) -> np.ndarray:
        """alpha as one number per topic."""
        if topics < 1:
            raise InputError(f"the number of topics must be at least 1, not {topics}")
        alpha = np.array(self.alpha, dtype=np.float64)
        if alpha.ndim > 0 and alpha.shape != (topics,):
            raise InputError(f"alpha has {alpha.size} values for {topics} topics")
        return np.full(topics, alpha) if alpha.ndim == 0 else alpha


CHANGING = ("assignments", "document_topic", "term_topic", "topic_total")
Arrays = tuple[
    np.ndarray, np.ndarray, np.ndarray, float, np.ndarray, np.ndarray, np.ndarray, np.ndarray
]  # documents, terms, alpha, eta, document_topic, term_topic, topic_total, assignments


@dataclass(frozen=True, eq=False)
class State:
    """Everything that the next sweep needs. Sweeps change `assignments` and the counts in place."""

    documents: np.ndarray  # int32[N], shared with the corpus, read-only
    terms: np.ndarray  # int32[N], shared with the corpus, read-only
    alpha: np.ndarray  # float64[T]
    eta: float
    assignments: np.ndarray  # int32[N]: the topic of each token
    document_topic: np.ndarray = field(repr=False)  # int32[D, T]
    term_topic: np.ndarray = field(repr=False)  # int32[V, T]
    topic_total: np.ndarray = field(repr=False)  # int64[T]

    @property
    def topics(self) -> int:
        return len(self.alpha)

    def arrays(self) -> Arrays:
        """The arguments of a kernel, in this order."""
        data = (self.documents, self.terms, self.alpha, self.eta)
        return (*data, self.document_topic, self.term_topic, self.topic_total, self.assignments)

    def offsets(self) -> np.ndarray:
        """int64[D + 1]: the tokens of document d are offsets[d] .. offsets[d + 1] - 1."""
        # numbers of the type of the documents, which would be copied otherwise
        return np.searchsorted(self.documents, np.arange(len(self.document_topic) + 1, dtype=self.documents.dtype))

    @cached_property
    def by_term(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(order, documents, terms) of the tokens sorted by term, then by document."""
        order = np.argsort(self.terms, kind="stable")
        documents, terms = _read_only(self.documents[order], self.terms[order])
        return order, documents, terms

    @cached_property
    def by_block(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(order, documents, terms, starts): within each document, words that occur once in it come before the others.

        For document d, the words that occur once are the tokens starts[2 d] .. starts[2 d + 1] - 1, and the others the
        tokens starts[2 d + 1] .. starts[2 d + 2] - 1.
        """
        same = (np.diff(self.documents) == 0) & (np.diff(self.terms) == 0)  # as the next token
        repeated = np.zeros(len(self.terms), dtype=bool)
        repeated[:-1] |= same
        repeated[1:] |= same
        part = 2 * self.documents.astype(np.int64) + repeated
        order = np.argsort(part, kind="stable")
        starts = np.searchsorted(part[order], np.arange(2 * len(self.document_topic) + 1))
        documents, terms = _read_only(self.documents[order], self.terms[order])
        return order, documents, terms, starts

    def copy(self) -> State:
        """A copy with its own assignments and counts; the corpus, the prior and the token orders are shared."""
        copied = replace(self, **{name: getattr(self, name).copy() for name in CHANGING})
        copied.__dict__.update({name: self.__dict__[name] for name in ("by_term", "by_block") if name in self.__dict__})
        return copied

    def target(self, assignments: np.ndarray) -> np.ndarray:
        """Assignments to which a sweep is to be forced, checked because kernels do not check."""
        target = np.array(assignments, dtype=np.int32)
        if target.shape != self.assignments.shape or np.any((target < 0) | (target >= self.topics)):
            raise ValueError("assignments must be one topic in 0..topics-1 for each token")
        return target


def count(corpus: Corpus, topics: int, assignments: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """document_topic, term_topic and topic_total of these assignments."""
    check_assignments(corpus, topics, assignments)
    document_topic = np.empty((corpus.document_count, topics), np.int32)
    term_topic = np.empty((corpus.term_count, topics), np.int32)
    topic_total, topics_of = np.empty(topics, np.int64), np.ascontiguousarray(assignments, np.int32)
    recount(corpus.documents, corpus.terms, NO_ALPHA, 0.0, document_topic, term_topic, topic_total, topics_of)
    return document_topic, term_topic, topic_total


def tally(rows: np.ndarray, assignments: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """int32[shape]: how many tokens each row, a document or a term, has in each topic; for integers of any size."""
    table = np.zeros(shape, np.int32)
    for first in range(0, len(rows), STEP):
        here = slice(first, first + STEP)
        _tally(rows[here], assignments[here].astype(np.int32), table)
    return table


@kernel
def _tally(rows: np.ndarray, assignments: np.ndarray, table: np.ndarray) -> None:
    for i in range(len(rows)):
        table[rows[i], assignments[i]] += 1


def check_assignments(corpus: Corpus, topics: int, assignments: np.ndarray) -> None:
    """Check assignments, because kernels do not."""
    inside = assignments.size == 0 or (assignments.min() >= 0 and assignments.max() < topics)
    if assignments.shape != corpus.terms.shape or not inside:
        raise ValueError("assignments must be one topic in 0..topics-1 for each token")


def from_assignments(corpus: Corpus, topics: int, prior: Prior, assignments: np.ndarray) -> State:
    return _state(corpus, topics, prior, np.array(assignments, dtype=np.int32))


def _state(corpus: Corpus, topics: int, prior: Prior, assignments: np.ndarray) -> State:
    """A state that has these assignments for its own."""
    alpha, counts = prior.alpha_vector(topics), count(corpus, topics, assignments)
    return State(corpus.documents, corpus.terms, alpha, float(prior.eta), assignments, *counts)


def random_start(corpus: Corpus, topics: int, prior: Prior, rng: np.random.Generator) -> State:
    """A state in which every token has a uniformly random topic."""
    prior.alpha_vector(topics)  # refuses impossible numbers of topics before anything is drawn
    assignments = rng.integers(topics, size=corpus.token_count, dtype=np.int32)
    return _state(corpus, topics, prior, assignments)


NO_ALPHA = np.empty(0)
STEP = 1_000_000  # tokens at a time, which saves memory
ORDERS = ("document", "term")


def scan(kernel: Callable[..., float], state: State, order: str, target: np.ndarray | None, words: np.ndarray) -> float:
    """Run a sweep over the tokens by document or by term, forced to `target` if it is given.

    Except for the priors and the topics' totals, the model is symmetric in documents and terms. So kernels work with
    the `major` index, by which the tokens are sorted, and the `minor` index. A kernel gets major, minor, major_topic,
    minor_topic, topic_total, major_prior, minor_prior, total_eta, assignments, target, words.
    """
    if order not in ORDERS:
        raise InputError(f"unknown order {order!r}; tokens are visited by {' or '.join(ORDERS)}")
    eta, total_eta = np.full(state.topics, state.eta), len(state.term_topic) * state.eta
    if order == "document":
        counts = (state.document_topic, state.term_topic, state.topic_total, state.alpha, eta, total_eta)
        major, minor, assignments = unsigned(state.documents, state.terms, state.assignments)
        return kernel(major, minor, *counts, assignments, None if target is None else target.view(np.uint32), words)
    tokens, documents, terms = state.by_term
    counts = (state.term_topic, state.document_topic, state.topic_total, eta, state.alpha, total_eta)
    major, minor, assignments = unsigned(terms, documents, state.assignments[tokens])
    goal = None if target is None else target[tokens].view(np.uint32)
    result = kernel(major, minor, *counts, assignments, goal, words)
    state.assignments[tokens] = assignments
    return result


def _read_only(*arrays: np.ndarray) -> list[np.ndarray]:
    """Make arrays read-only, like those of the corpus: numba would compile again for writable arrays."""
    for array in arrays:
        array.setflags(write=False)
    return list(arrays)


def unsigned(*arrays: np.ndarray) -> list[np.ndarray]:
    """The same memory as unsigned numbers, so that numba knows that no index counts from the end."""
    return [array.view(np.uint32) for array in arrays]


@kernel
def recount(
    documents: np.ndarray,
    terms: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    assignments: np.ndarray,
) -> None:
    """Count the assignments anew, in place."""
    document_topic[:] = 0
    term_topic[:] = 0
    topic_total[:] = 0
    for i in range(len(assignments)):
        t = assignments[i]
        document_topic[documents[i], t] += 1
        term_topic[terms[i], t] += 1
        topic_total[t] += 1
