"""Score chains for an alpha of each topic: the T + 1 numbers (alpha_1, ..., alpha_T, eta), each with its error.

George & Doss allow an arbitrary Dirichlet (theorem 1, with p = T + 1), but a grid or a chain that tempers over T + 1
numbers is out of reach. Score chains at fixed values (`hyper.score`) need no grid. The steps are:

1. the best single alpha and eta, by `hyper.score`;
2. half of its chains go on; the others start anew, with alphas that follow their topics (`starts`). The topics of all
   chains are matched (`hyper.labels.aligned`);
3. Newton steps from the alphas of the best of these chains. The chains keep the names of their
   topics, so their score is the gradient of log m near one of its T! images. An alpha that presses against an end of
   its range stays there;
4. the gain in log m over the best single alpha (`hyper.gain`).

The Monte Carlo covariance is I^-1 S I^-1, as for a single alpha; the uncertainty given the corpus has the covariance
I^-1, and if the chains disagree, the covariance between their tops is added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtri, digamma, ndtri, stdtrit

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.guard import finite, not_finite
from bayestopics.base.problems import InputError
from bayestopics.base.processes import team
from bayestopics.base.progress import counted_sweeps, totalling
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors.pooled import DISAGREE, batches_each, hotelling
from bayestopics.hyper.best import EDGE, WIDEST
from bayestopics.hyper.gain import Gain, gain
from bayestopics.hyper.labels import aligned
from bayestopics.hyper.louis import LEVEL, Estimate, by_topic, prior_at
from bayestopics.hyper.score import LONGEST_STEP, Found, Walk, inside, score
from bayestopics.hyper.score_chains import Crew, Range
from bayestopics.hyper.search import SHORTEST
from bayestopics.hyper.several import check_precision, disagreement, short_of
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.lda.urns import ENDS

FIRST_STEPS = 200  # of Minka's iteration, for the first alphas
UNCHANGED = 20  # sweeps from a random start before alphas follow: random topics look as if alpha were infinite
PART, LEAST_SWEEPS = 20, 50  # at each rung of the gain, a chain keeps this part of the sweeps, and at least so many


class AsymmetricWalk(Walk):
    """Chains may be in different modes; parameters that press against an end of their range stay there."""

    apart: ClassVar[bool] = True

    def free(self, limits: np.ndarray) -> np.ndarray:
        gradient = self.scores.mean(axis=(0, 1))
        pressing = ((self.x - limits[:, 0] < EDGE) & (gradient < 0)) | ((limits[:, 1] - self.x < EDGE) & (gradient > 0))
        if pressing.all():
            raise InputError("every alpha and eta is at an end of its range; widen --alpha-range and --eta-range")
        return ~pressing

    def at_the_limit(self, now: Estimate, step: np.ndarray, target: np.ndarray) -> bool:
        return False  # the others go on


@dataclass(frozen=True, eq=False)
class Spread:
    """Errors of log h = (log alpha_1, ..., log alpha_T, log eta), in the order of the alphas."""

    center: np.ndarray  # float64[T + 1]: h
    log_covariance: np.ndarray  # nan for parameters without an error
    quantile: float  # of one parameter: so many standard deviations to either side
    radius_squared: float | None  # of all that have an error together; None if unknown
    level: float = LEVEL

    @property
    def deviations(self) -> np.ndarray:
        """float64[T + 1]: of each log."""
        return np.sqrt(np.diag(self.log_covariance))

    @property
    def intervals(self) -> np.ndarray:
        """float64[T + 1, 2]: of each parameter by itself."""
        return self.center[:, None] * np.exp(self.quantile * np.outer(self.deviations, (-1, 1)))

    def covers(self, h: np.ndarray) -> bool:
        """All parameters that have an error, together."""
        known = np.isfinite(self.deviations)
        away = np.log(h[known] / self.center[known])
        distance = away @ np.linalg.solve(self.log_covariance[np.ix_(known, known)], away)
        return self.radius_squared is not None and bool(distance <= self.radius_squared)

    def summary(self) -> dict[str, Any]:
        intervals = [[None if end != end else end for end in pair] for pair in self.intervals.tolist()]
        covariance = [[None if one != one else one for one in row] for row in self.log_covariance.tolist()]
        whole = {"log_covariance": covariance, "radius_squared": self.radius_squared}
        return {"level": self.level, "alpha": intervals[:-1], "eta": intervals[-1], **whole}


@dataclass(frozen=True, eq=False)
class Asymmetric:
    """The answer: alphas from large to small, with their errors."""

    h: np.ndarray  # float64[T + 1]: alpha_1 >= ... >= alpha_T, eta
    known: np.ndarray  # bool[T + 1]: which have an error; the others are at an end of their range, or nearly free
    estimate: Estimate  # of those that are known, in the order of `labels`
    labels: np.ndarray  # int64[T]: the topic of each alpha, as the chains number them
    symmetric: Found
    gain: Gain
    scores: np.ndarray  # float64[m, n, T + 1]: of every kept sweep at the last h, in the order of h
    path: list[list[float]]  # h of every step, in the order of h
    assignments: np.ndarray  # of the first chain, at the end; topic 0 has the largest alpha
    warnings: list[str]

    @property
    def ellipse(self) -> Spread:
        """Monte Carlo error."""
        if not self.known.any():
            return self._nothing
        count, p = self.estimate.count, len(self.estimate.x)
        radius = hotelling(count, LEVEL, p) if count > p + 1 else None
        return self._spread(self.estimate.covariance, float(stdtrit(count - 1, (1 + LEVEL) / 2)), radius)

    @property
    def region(self) -> Spread:
        """How well the corpus determines h itself."""
        if not self.known.any():
            return self._nothing
        last, covariance = self.estimate, np.linalg.inv(self.estimate.information)
        if last.agreement is not None and last.agreement < DISAGREE:
            covariance = covariance + np.atleast_2d(np.cov(last.of_chains.T))
        return self._spread(covariance, float(ndtri((1 + LEVEL) / 2)), float(chdtri(len(last.x), 1 - LEVEL)))

    @property
    def _nothing(self) -> Spread:
        """The corpus determines no alpha, nor eta."""
        return Spread(self.h, np.full((len(self.h), len(self.h)), np.nan), float(ndtri((1 + LEVEL) / 2)), None)

    def _spread(self, covariance: np.ndarray, quantile: float, radius_squared: float | None) -> Spread:
        whole = np.full((len(self.h), len(self.h)), np.nan)
        whole[np.ix_(self.known, self.known)] = covariance
        return Spread(self.h, whole, quantile, radius_squared)

    def summary(self) -> dict[str, Any]:
        """What `bayestopics hyper --asymmetric` prints."""
        errors = [None if one != one else one for one in (self.h * self.ellipse.deviations).tolist()]
        best = {"alpha": float(self.symmetric.h[0]), "eta": float(self.symmetric.h[1])}
        return {
            "alpha": self.h[:-1].tolist(),
            "eta": float(self.h[-1]),
            "standard_error": {"alpha": errors[:-1], "eta": errors[-1]},
            "ellipse": self.ellipse.summary(),
            "region": self.region.summary(),
            "agreement": self.estimate.agreement,
            "precision": self.estimate.imprecision if self.known.any() else None,
            "symmetric": best,
            "gain": self.gain.summary(),
            "path": self.path,
            "warnings": self.warnings,
        }


def asymmetric(
    corpus: Corpus,
    topics: int,
    *,
    sweeps: int,
    chains: int,
    seed: int = 0,
    alphas: Range | None = None,
    etas: Range | None = None,
    shape: tuple[int, int] | None = None,
    sampler: str = "single-site",
    precision: float | None = None,
    workers: int = 1,
    checkpoint: Checkpoint | None = None,
) -> Asymmetric:
    """Find the best alpha of each topic, and eta; the arguments are those of `score`."""
    check_precision(precision)
    checkpoint, some = checkpoint or NoCheckpoint(), max(SHORTEST, sweeps // 5)
    if min(chains, workers) < 1:
        raise InputError(f"at least 1 chain and 1 worker are needed, not {chains} chains and {workers} workers")
    work: Any = {"seed": seed, "alphas": alphas, "etas": etas, "shape": shape, "sampler": sampler}
    with team(corpus, chains, min(workers, chains)) as run:
        before = checkpoint.part("symmetric")
        found = score(corpus, topics, sweeps=sweeps, chains=chains, run=run, checkpoint=before, **work)
        checkpoint, limits = checkpoint.part("asymmetric"), np.log([*([alphas or ENDS] * topics), etas or ENDS])
        crew = Crew(run, topics, sampler, seed, batches_each(chains, topics + 1), checkpoint)
        if (walk := checkpoint.load()) is None:
            x, states = starts(crew, corpus, found, some)
            walk = AsymmetricWalk(np.clip(x, *limits.T), states)
            if checkpoint.due():
                checkpoint.save(walk)
        while not walk.finished:
            walk.round(crew, sweeps if walk.long else some, some, limits, precision)
            if checkpoint.due():
                checkpoint.save(walk)
        x, known, last = last_step(walk, limits)
        ends = np.log(np.append(np.full(topics, found.h[0]), found.h[1])), x
        gained = gain(crew, ends, (found.states, walk.states), max(LEAST_SWEEPS, sweeps // PART))
    return _answer(walk, x, known, last, found, gained, limits, precision)


def starts(crew: Crew, corpus: Corpus, found: Found, sweeps: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """log h, and the matched assignments of each chain.

    Every second chain starts where the single alpha ended; the others, where a chain from a random start ended whose
    alphas followed its topics. With a single alpha, a frequent topic is often split in two and rare ones are joined.
    The chain with the largest log joint, at its own alphas, gives log h and the names of the topics.
    """
    h, topics = found.h, crew.topics
    jobs = [(topics, crew.seed, number, h, 3 * sweeps, crew.sampler) for number in range(1, len(found.states), 2)]
    states = list(found.states)
    states[1::2] = crew.run(_follow, jobs, 3 * sweeps * len(jobs)) if jobs else []
    own = [np.append(first_alphas(corpus, topics, one, float(h[0])), h[1]) for one in states]
    joints = [log_joint(from_assignments(corpus, topics, prior_at(x), z)) for x, z in zip(own, states, strict=True)]
    best = int(np.argmax(joints))
    return np.log(own[best]), aligned(corpus, topics, [states[best], *states])[1:]


def _follow(
    corpus: Corpus,
    topics: int,
    seed: int,
    number: int,
    h: np.ndarray,
    sweeps: int,
    sampler: str,
    progress: Callable[[int], None],
) -> np.ndarray:
    """The last assignments of a chain from a random start, whose alphas make a step of Minka's after each sweep."""
    module, rng = sampler_by_name(sampler), generator(seed, f"hyper/score/follow/{number}")
    state, most = module.init(corpus, topics, prior_at(h), rng), int(corpus.document_lengths.max()) + 1
    with totalling(progress):
        for i in counted_sweeps(range(sweeps), "first alphas"):
            if not module.sweep(state, rng).sound:
                raise not_finite("the density of a sweep", i, state)
            if i >= UNCHANGED:
                state = replace(state, alpha=minka(by_topic(state, most), corpus.document_lengths, state.alpha))
                if not finite(state.alpha):
                    raise not_finite("an alpha", i, state)
    return state.assignments


def first_alphas(corpus: Corpus, topics: int, assignments: np.ndarray, alpha: float) -> np.ndarray:
    """The alphas with the largest log p(z | alpha), nearly."""
    most, alphas = int(corpus.document_lengths.max()) + 1, np.full(topics, alpha)
    often = by_topic(from_assignments(corpus, topics, Prior(alpha), assignments), most)
    for _ in range(FIRST_STEPS):
        alphas = minka(often, corpus.document_lengths, alphas)
    return alphas


def minka(often: np.ndarray, lengths: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """A step of Minka's fixed point (2003) for log p(z | alpha); `often` is from `louis.by_topic`."""
    up = np.einsum("tc,tc->t", often, digamma(np.arange(often.shape[1]) + alphas[:, None]) - digamma(alphas)[:, None])
    down = (digamma(lengths + alphas.sum()) - digamma(alphas.sum())).sum()
    return np.asarray(np.maximum(alphas * up / down, ENDS[0]))


def last_step(walk: Walk, limits: np.ndarray) -> tuple[np.ndarray, np.ndarray, Estimate]:
    """log h, which parameters have an error, and the estimate of these. As long as there is a direction without a
    clearly positive information, or in which log m is not nearly quadratic, the parameter with the largest part in it
    is left out; so are those at an end. If none is left, the estimate is that of the last one."""
    known = walk.free(limits)
    while True:
        last, x = walk.estimate(known), walk.x.copy()
        x[known] += np.clip(last.step, -LONGEST_STEP, LONGEST_STEP)
        x = inside(x, limits)[0]
        at_end = known & at_ends(x, limits)
        narrow = last.clear and not _wide(last)
        if narrow and not at_end.any():
            return x, known, last
        if known.sum() == 1:
            return x, np.zeros_like(known), last
        if narrow:
            known[np.flatnonzero(at_end)[0]] = False
        else:
            weakest = np.linalg.eigh(last.information)[1][:, 0]
            known[np.flatnonzero(known)[int(np.argmax(np.abs(weakest)))]] = False


def _wide(last: Estimate) -> bool:
    """A single alpha, or eta, is determined so badly that log m is not nearly quadratic as far as its interval goes."""
    deviations = np.sqrt(np.diag(np.linalg.inv(last.information)))
    return bool(np.any(ndtri((1 + LEVEL) / 2) * deviations > WIDEST))


def at_ends(x: np.ndarray, limits: np.ndarray) -> np.ndarray:
    return np.asarray(np.any(np.abs(x[:, None] - limits) < EDGE, axis=1))


def _answer(
    walk: Walk,
    x: np.ndarray,
    known: np.ndarray,
    last: Estimate,
    found: Found,
    gained: Gain,
    limits: np.ndarray,
    precision: float | None,
) -> Asymmetric:
    """Everything in the order of the alphas, from large to small."""
    topics = len(x) - 1
    labels = np.argsort(-x[:-1], kind="stable")
    order = np.append(labels, topics)
    place = np.argsort(labels)
    among = np.cumsum(known) - 1  # where the parameters that are known are in `last`
    kept = among[order[known[order]]]
    last = last.of(kept) if known.any() else last
    said = _doubts(walk, last, known[order], at_ends(x, limits)[order], precision)
    path = [[step[k] for k in order] for step in walk.path]
    return Asymmetric(
        np.exp(x[order]),
        known[order],
        last,
        labels,
        found,
        gained,
        walk.scores[:, :, order],
        path,
        place[walk.states[0]].astype(np.int32),
        [*said, *gained.warnings()],
    )


def _doubts(walk: Walk, last: Estimate, known: np.ndarray, at_end: np.ndarray, precision: float | None) -> list[str]:
    """What a user should know before trusting the answer."""
    said = list(disagreement(len(walk.states), last.agreement))
    names = [*(f"alpha of topic {number}" for number in range(len(known) - 1)), "eta"]
    ends = [name for name, there in zip(names, at_end, strict=True) if there]
    if ends:
        said.append(
            f"{_listed(ends)} at the end of the range, without an error: the best value may lie beyond. A smallest "
            "alpha means that the topic is hardly used; try fewer topics (--topics)."
        )
    weak = [name for name, k, there in zip(names, known, at_end, strict=True) if not k and not there]
    if weak:
        said.append(
            f"{_listed(weak)} hardly determined by the corpus, without an error, and the other errors hold for this "
            "value only. Use more sweeps (--sweeps), or fewer topics (--topics)."
        )
    if not known.any():
        return said
    if last.count <= len(last.x) + 1:
        said.append(
            f"{last.count} batches or chains are too few for a joint ellipse of {len(last.x)} numbers; the errors of "
            "single numbers hold. Use more chains (--chains)."
        )
    if not last.settled:
        said.append("The last Newton step was still longer than its own Monte Carlo error. Use more sweeps (--sweeps).")
    if precision is not None and last.imprecision > precision:
        said.append(short_of(last.imprecision, precision))
    return said


def _listed(names: list[str]) -> str:
    """The subject of a sentence, with its verb."""
    text = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{text[0].upper()}{text[1:]} {'is' if len(names) == 1 else 'are'}"
