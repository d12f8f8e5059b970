"""Document completion perplexity [Zhang & Sisson 13].

Half of the words of the last documents are held out. The other half stays in the training corpus and informs about the
topics of these documents (theta). The probability of a held-out word, sum_t theta_dt phi_tv, is averaged over sweeps
before its log is taken, so the labels of the topics do not matter.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field

import numpy as np

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.guard import finite, not_finite
from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.base.progress import counted_sweeps
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.state import Prior, State, from_assignments

BATCHES = 20  # of kept sweeps, for the standard error
CORRELATED = 0.4  # the lag-one correlation of 20 independent batches exceeds this in about 2 % of runs


def split(corpus: Corpus, documents: int, rng: np.random.Generator) -> tuple[Corpus, Corpus]:
    """(training, held-out): of each of the last `documents` documents, floor(n_d / 2) random words are held out."""
    if not 1 <= documents <= corpus.document_count:
        raise InputError(f"cannot hold out words of {documents} documents: the corpus has {corpus.document_count}")
    held_out = np.zeros(corpus.token_count, dtype=bool)
    offsets = corpus.document_offsets
    for d in range(corpus.document_count - documents, corpus.document_count):
        tokens = rng.permutation(np.arange(offsets[d], offsets[d + 1]))
        held_out[tokens[: len(tokens) // 2]] = True
    if not held_out.any():
        raise InputError(f"the last {documents} documents are too short: none has a word to hold out")
    return corpus.select_tokens(~held_out), corpus.select_tokens(held_out)


@dataclass(eq=False)
class Completion:
    """The probability of every held-out (document, term) pair, averaged over the states that were added."""

    heldout: InitVar[Corpus]
    pair_documents: np.ndarray = field(init=False)  # int64[pairs], sorted
    pair_terms: np.ndarray = field(init=False)
    pair_counts: np.ndarray = field(init=False)
    tokens: int = field(init=False)
    total: np.ndarray = field(init=False)  # float64[pairs], over the states
    states: int = field(init=False)

    def __post_init__(self, heldout: Corpus) -> None:
        self.pair_documents, self.pair_terms, self.pair_counts = heldout.triples()
        self.tokens = heldout.token_count
        self.total = np.zeros(len(self.pair_counts))
        self.states = 0

    def add(self, state: State) -> None:
        counts = (state.document_topic, state.term_topic, state.topic_total)
        _add_probabilities(self.pair_documents, self.pair_terms, *counts, state.alpha, state.eta, self.total)
        self.states += 1

    def probabilities(self) -> np.ndarray:
        return self.total / self.states

    def log_score(self) -> float:
        """Mean log probability of a held-out word."""
        # not `@`: the bits of a BLAS product depend on its number of threads
        return float(np.sum(self.pair_counts * np.log(self.probabilities())) / self.tokens)

    def by_document(self) -> dict[str, list]:
        """Of every document with held-out words: how many, and their log probability."""
        documents, place = np.unique(self.pair_documents, return_inverse=True)
        tokens = np.bincount(place, self.pair_counts).astype(np.int64)
        logs = np.bincount(place, self.pair_counts * np.log(self.probabilities()))
        return {"document": documents.tolist(), "tokens": tokens.tolist(), "log_probability": logs.tolist()}

    def reset(self) -> None:
        self.total[:] = 0.0
        self.states = 0


@kernel
def _add_probabilities(
    pair_documents: np.ndarray,
    pair_terms: np.ndarray,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    total: np.ndarray,
) -> None:
    """total += sum_t E[theta_dt | z] E[phi_tv | z] for each pair; pairs are sorted by document."""
    terms, topics = term_topic.shape
    weight = np.empty(topics)
    current = -1
    for i in range(len(pair_documents)):
        d, v = pair_documents[i], pair_terms[i]
        if d != current:
            current = d
            length = document_topic[d].sum() + alpha.sum()
            for t in range(topics):
                weight[t] = (document_topic[d, t] + alpha[t]) / (length * (topic_total[t] + terms * eta))
        probability = 0.0
        for t in range(topics):
            probability += weight[t] * (term_topic[v, t] + eta)
        total[i] += probability


@dataclass(frozen=True)
class CompletionScore:
    log_score: float  # mean log probability of a held-out word
    standard_error: float | None  # its Monte Carlo error; None with fewer than two sweeps
    perplexity: float
    heldout_tokens: int
    heldout: dict[str, list]  # of every document with held-out words: document, tokens, log_probability of them all
    batches: dict[str, list]  # of the kept sweeps: first_sweep, sweeps, and where these alone would move log_score
    warnings: list[str]


def score(
    corpus: Corpus,
    topics: int,
    prior: Prior,
    *,
    sampler: str = "single-site",
    sweeps: int = 200,
    burn_in: int = 200,
    documents: int | None = None,
    rng: np.random.Generator | None = None,
    checkpoint: Checkpoint | None = None,
) -> CompletionScore:
    """The completion score of a model, averaged over all kept sweeps, with its Monte Carlo error by batch means.

    Half of the words of the last `documents` documents are held out; by default, of the last tenth of the documents.
    """
    rng, checkpoint = rng or generator(0, "score/completion"), checkpoint or NoCheckpoint()
    training, heldout = split(corpus, documents or max(1, corpus.document_count // 10), rng)
    module = sampler_by_name(sampler)
    batch_of = np.arange(sweeps) * min(BATCHES, sweeps) // sweeps
    batches = [Completion(heldout) for _ in range(min(BATCHES, sweeps))]
    if (saved := checkpoint.load()) is None:
        done, state = 0, module.init(training, topics, prior, rng)
    else:
        done, assignments, sums, rng.bit_generator.state = saved
        state = from_assignments(training, topics, prior, assignments)
        for batch, (total, states) in zip(batches, sums, strict=True):
            batch.total, batch.states = total, states
    for i in counted_sweeps(range(-burn_in, sweeps), "completion", done):
        if not module.sweep(state, rng).sound:
            raise not_finite("the density of a sweep", burn_in + i, state.assignments)
        if i >= 0:
            batches[batch_of[i]].add(state)
            if not finite(batches[batch_of[i]].total.sum()):
                raise not_finite("a predicted probability", burn_in + i, state.assignments)
        if checkpoint.due() or i == sweeps - 1:
            sums = [(batch.total, batch.states) for batch in batches]
            checkpoint.save((burn_in + i + 1, state.assignments, sums, rng.bit_generator.state))
    everything = Completion(heldout)
    everything.total = np.sum([batch.total for batch in batches], axis=0)
    everything.states = sweeps
    log_score = everything.log_score()
    # log score = sum_i c_i log p_i / N; to first order a batch b changes it by sum_i c_i (p_bi - p_i) / p_i / N
    mean = everything.probabilities()
    shifts = [np.sum(batch.pair_counts * batch.probabilities() / mean) / batch.tokens for batch in batches]
    error = float(np.std(shifts, ddof=1) / np.sqrt(len(shifts))) if len(shifts) > 1 else None
    doubts = []
    if error == 0 and topics > 1:
        error = None
        doubts.append(
            "The chain does not move: all batches of sweeps agree exactly, so the error is unknown. Use more sweeps "
            "(--sweeps)."
        )
    elif error and len(shifts) > 3 and np.corrcoef(shifts[:-1], shifts[1:])[0, 1] > CORRELATED:
        doubts.append(
            "Successive batches of sweeps are correlated, so the standard error is too small. Use more sweeps "
            "(--sweeps)."
        )
    sizes = [batch.states for batch in batches]
    by_batch = {"first_sweep": (np.cumsum(sizes) - sizes).tolist(), "sweeps": sizes}
    by_batch |= {"log_score": [log_score + float(shift - 1) for shift in shifts]}  # their mean is 1
    numbers = log_score, error, float(np.exp(-log_score)), heldout.token_count
    return CompletionScore(*numbers, everything.by_document(), by_batch, doubts)
