"""Gibbs-EM (Wallach 2006): alpha and eta by Monte Carlo EM, with the tokens' topics as the missing data
[George & Doss, section 5.1].

E step: run a chain of z at the current h, from its last state. M step: maximise over h
G(h) = (1/m) sum_i log p(w, z_i | h), which is the sum of a function of alpha and a function of eta. The maximum is
found exactly, or by Minka's fixed point as in the paper; both end where the derivative of G is zero. The chain's counts
are kept as histograms, so the memory does not grow with its length.
"""

from __future__ import annotations

from dataclasses import InitVar, astuple, dataclass, field, replace
from types import ModuleType

import numpy as np

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.guard import finite, not_finite
from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.base.progress import Progress, tick
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.louis import Derivatives
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.state import Prior, State
from bayestopics.lda.urns import Urns, at_ends, check_model

UPDATES = ("exact", "minka")
LENGTHS = ("constant", "doubling")
LONGEST = 2**14  # most kept sweeps in a step; the paper doubles from 2^7 to 2^26, 10^8 sweeps in all
STEADY = 3  # it has converged after this many steps in a row that hardly change h; one alone is often chance


@dataclass(frozen=True, eq=False)
class GibbsEM:
    path: np.ndarray  # float64[k + 1, 2]: alpha and eta at the start and after every step
    sweeps: np.ndarray  # int64[k]: kept sweeps of each step
    converged: bool
    last: State
    warnings: list[str]

    @property
    def prior(self) -> Prior:
        return Prior(*self.path[-1].tolist())


def gibbs_em(
    corpus: Corpus,
    topics: int,
    *,
    sweeps: int,
    burn_in: int,
    rng: np.random.Generator,
    update: str = "exact",
    lengths: str = "constant",
    longest: int = LONGEST,
    steps: int = 50,
    tolerance: float = 1e-3,
    sampler: str = "single-site",
    start: Prior = Prior(0.5, 0.5),  # noqa: B008 (frozen)
    checkpoint: Checkpoint | None = None,
) -> GibbsEM:
    """Make at most `steps` steps; in each, `burn_in` sweeps are dropped and `sweeps` kept.

    With "doubling" lengths, each step keeps twice as many sweeps as the one before, but at most `longest`.
    Gibbs-EM counts as converged when the relative change of alpha and of eta is below `tolerance` in three steps in a
    row. This is a rule of thumb: on small corpora a step covers as little as a twentieth of the remaining distance,
    however long its chain, and the noise of short chains hides this. To reduce the noise, average the end of `path`.
    """
    check_model(corpus, topics, start)
    if update not in UPDATES or lengths not in LENGTHS:
        raise InputError(f"update is one of {UPDATES}, lengths is one of {LENGTHS}; not {update!r} and {lengths!r}")
    if min(sweeps, steps) < 1 or burn_in < 0:
        sizes = f"{steps} steps of {sweeps} sweeps and a burn-in of {burn_in}"
        raise InputError(f"at least 1 step and 1 sweep are needed, and a burn-in of 0 or more, not {sizes}")
    module, checkpoint = sampler_by_name(sampler), checkpoint or NoCheckpoint()
    if (saved := checkpoint.load()) is None:
        state = module.init(corpus, topics, start, rng)
        chain = _Chain(state, Histograms(corpus), [(float(state.alpha[0]), state.eta)])
    else:
        chain, rng.bit_generator.state = saved
    with Progress("Gibbs-EM", steps, "step", len(chain.kept)) as bar:
        while len(chain.kept) < steps and chain.steady < STEADY:
            longer = 2 ** len(chain.kept) if lengths == "doubling" else 1
            _e_step(chain, module, burn_in, max(sweeps, min(longer * sweeps, longest)), rng, checkpoint)
            h = m_step(chain.histograms, *chain.path[-1], update)
            if not finite(h):
                raise not_finite("alpha or eta", len(chain.kept), chain)
            chain.move_to(*h, tolerance)
            bar.update()
    doubts = at_ends(*m_step(chain.histograms, *chain.path[-1], "exact"))  # Minka's update goes there too, but slowly
    return GibbsEM(np.array(chain.path), np.array(chain.kept), chain.steady == STEADY, chain.state, doubts)


def rate(
    corpus: Corpus,
    topics: int,
    prior: Prior,
    *,
    sweeps: int,
    burn_in: int,
    rng: np.random.Generator,
    sampler: str = "single-site",
) -> float:
    """The share of the distance from the best h, in its slowest direction, that one step of EM without noise leaves.

    Near the best h a step multiplies the distance by I - C^-1 (C - M) = C^-1 M [Dempster, Laird & Rubin 1977, section
    3]: C is the information about log h in (w, z), and M what of it is missing in w alone, the covariance of the score
    (`hyper.louis`). A chain of `sweeps` sweeps at `prior` estimates both.
    """
    module = sampler_by_name(sampler)
    state, derivatives = module.init(corpus, topics, prior, rng), Derivatives(corpus, topics, np.array(astuple(prior)))
    scores, bends = np.empty((sweeps, 2)), np.zeros((2, 2))
    for i in range(-burn_in, sweeps):
        module.sweep(state, rng)
        if i >= 0:
            scores[i], bend = derivatives(state)
            if not finite((scores[i].sum(), bend.sum())):
                raise not_finite("the score", burn_in + i, state)
            bends += bend / sweeps
    return float(np.linalg.eigvals(np.linalg.solve(-bends, np.cov(scores.T))).real.max())


@dataclass
class _Chain:
    """Everything that the next sweep depends on, except the generator."""

    state: State
    histograms: Histograms  # of this step; before it begins, of the last step
    path: list[tuple[float, float]]
    kept: list[int] = field(default_factory=list)  # kept sweeps of each step
    sweeps: int = 0  # sweeps of this step that are done
    steady: int = 0  # number of steps in a row that hardly changed h

    def move_to(self, alpha: float, eta: float, tolerance: float) -> None:
        """End a step, with this alpha and eta."""
        self.state = replace(self.state, alpha=np.full(self.state.topics, alpha), eta=eta)
        self.path.append((alpha, eta))
        self.kept.append(self.histograms.states)
        moved = np.max(np.abs(np.log(self.path[-1]) - np.log(self.path[-2])))
        self.steady, self.sweeps = self.steady + 1 if moved < tolerance else 0, 0


def _e_step(
    chain: _Chain, module: ModuleType, burn_in: int, sweeps: int, rng: np.random.Generator, checkpoint: Checkpoint
) -> None:
    if chain.sweeps == 0:
        chain.histograms.reset()
    for i in range(chain.sweeps - burn_in, sweeps):
        if not module.sweep(chain.state, rng).sound:
            raise not_finite(f"the density of a sweep in step {len(chain.kept) + 1}", chain.sweeps, chain)
        if i >= 0:
            chain.histograms.add(chain.state)
        chain.sweeps += 1
        tick()
        if checkpoint.due():
            checkpoint.save((chain, rng.bit_generator.state))


def m_step(histograms: Histograms, alpha: float, eta: float, update: str) -> tuple[float, float]:
    """The next alpha and eta."""
    documents, topics = histograms.documents(), histograms.topics()
    if update == "minka":
        return documents.minka(alpha), topics.minka(eta)
    return documents.argmax(), topics.argmax()


@dataclass(eq=False)
class Histograms:
    """How often each count occurs in the states that were added; G(h) depends on nothing else."""

    corpus: InitVar[Corpus]
    lengths: np.ndarray = field(init=False)  # of documents
    document_topic: np.ndarray = field(init=False)
    term_topic: np.ndarray = field(init=False)
    topic_total: np.ndarray = field(init=False)
    term_count: int = field(init=False)
    topic_count: int = 0
    states: int = 0

    def __post_init__(self, corpus: Corpus) -> None:
        self.lengths = np.bincount(corpus.document_lengths)
        of_terms = np.bincount(corpus.terms, minlength=corpus.term_count)
        self.document_topic = np.zeros(corpus.document_lengths.max() + 1, np.int64)
        self.term_topic = np.zeros(of_terms.max() + 1, np.int64)
        self.topic_total = np.zeros(corpus.token_count + 1, np.int64)
        self.term_count = corpus.term_count

    def reset(self) -> None:
        for histogram in (self.document_topic, self.term_topic, self.topic_total):
            histogram[:] = 0
        self.states = 0

    def add(self, state: State) -> None:
        _add(state.document_topic.ravel(), self.document_topic)
        _add(state.term_topic.ravel(), self.term_topic)
        _add(state.topic_total, self.topic_total)
        self.states, self.topic_count = self.states + 1, state.topics

    def documents(self) -> Urns:
        """(1/m) sum_i log p(z_i | alpha)."""
        counts, lengths = occurring(self.document_topic), occurring(self.lengths)
        often, documents = self.document_topic[counts] / self.states, self.lengths[lengths].astype(float)
        return Urns(counts, often, lengths, documents, self.topic_count)

    def topics(self) -> Urns:
        """(1/m) sum_i log p(w | z_i, eta)."""
        counts, totals = occurring(self.term_topic), occurring(self.topic_total)
        often, topics = self.term_topic[counts] / self.states, self.topic_total[totals] / self.states
        return Urns(counts, often, totals, topics, self.term_count)


def occurring(histogram: np.ndarray) -> np.ndarray:
    """The counts that occur, without zero, which adds nothing to a density."""
    return np.flatnonzero(histogram[1:]) + 1


@kernel
def _add(counts: np.ndarray, histogram: np.ndarray) -> None:
    for count in counts:
        histogram[count] += 1
