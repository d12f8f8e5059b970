"""Score chains: the best h = (alpha, eta) from chains at fixed h, by Newton's method.

Several chains, from starts far apart, run at the same h. Their pooled means give the gradient of log m there and its
information I, minus the second derivative (`hyper.louis`); a Newton step leads to the next h, until the step is no
larger than its own error. Nothing has to cross a grid. The Monte Carlo covariance of the answer is I^-1 S I^-1, with
the batch means covariance S of the gradient. Where I is not clearly positive, log m is flat, and the answer is a level
set (`hyper.level_set`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtri

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.problems import InputError
from bayestopics.base.processes import team
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors.pooled import FEWEST, batches_each, hotelling, into_batches
from bayestopics.hyper.best import EDGE, Ellipse
from bayestopics.hyper.level_set import Profile, bent, trace
from bayestopics.hyper.louis import CLEAR, LEVEL, Estimate, estimate
from bayestopics.hyper.score_chains import Crew, Leg, Range
from bayestopics.hyper.search import AT_THE_END, SHORTEST, check
from bayestopics.hyper.several import check_precision, disagreement, short_of, within_reach
from bayestopics.lda.state import Prior
from bayestopics.lda.urns import ENDS, check_model

LONGEST_STEP = float(np.log(2))  # in log h: far from the top, a Newton step may be far too long
MOST_STEPS = 20  # Newton steps
STEADY = 500  # sweeps of a chain before a precision counts as reached: batches of shorter ones may be correlated
PATIENCE = 8  # chains may become so many times longer if the information is then clearly positive
MODES = 1e-6  # the chains stay in different modes if the p-value of their agreement is smaller
NOTHING = np.zeros(0, np.int32)


@dataclass
class Walk:
    """Everything that the next round depends on."""

    x: np.ndarray
    states: list[np.ndarray]  # the assignments of each chain
    path: list[list[float]] = field(default_factory=list)  # h of every step
    rounds: int = 0
    long: bool = False  # the chains have their full length
    finished: bool = False
    legs: list[list[Leg]] = field(default_factory=list)  # at x, one list per round
    apart: ClassVar[bool] = False  # of `louis.estimate`

    @property
    def scores(self) -> np.ndarray:
        """float64[m, n, p]: of all kept sweeps at x."""
        return np.concatenate([[one.scores for one in legs] for legs in self.legs], axis=1)

    def free(self, limits: np.ndarray) -> np.ndarray:
        """bool[p]: which parameters the next step may move."""
        return np.ones(len(limits), bool)

    def estimate(self, free: np.ndarray) -> Estimate:
        """Of the free parameters.

        On large corpora each chain stays in its own mode, and the variance between the modes may hide how sharp log m
        is. If the chains disagree beyond doubt, each one tells how sharp log m is in its mode, and their scatter is the
        error.
        """
        bends = np.concatenate([[one.bends for one in legs] for legs in self.legs], axis=1)
        bends = into_batches(bends[:, :, free][..., free], bends.shape[1] // len(self.legs))
        scores = self.scores[..., free]
        found = estimate(self.x[free], scores, bends, self.apart)
        modes = found.agreement is not None and found.agreement < MODES and len(scores) >= FEWEST
        return estimate(self.x[free], scores, bends, apart=True) if modes and not found.clear else found

    def at_the_limit(self, now: Estimate, step: np.ndarray, target: np.ndarray) -> bool:
        """A side is at its limit and would go on, and the other is there too or its step is within its own error."""
        beyond = np.abs(now.x + step - target) > EDGE
        still = (np.abs(target - now.x) < EDGE) | (~beyond & (np.abs(step) < 3 * np.sqrt(np.diag(now.covariance))))
        return bool(beyond.any() and still.all())

    def longer(self, now: Estimate, precision: float | None, kept: int) -> bool:
        """Whether longer chains at x are needed, and may help; each has `kept` sweeps there."""
        if now.clear:
            short = precision is not None and (now.imprecision > precision or kept < STEADY)
            return short and within_reach(now.imprecision, precision, len(self.legs))
        # the clearness grows with the square root of the length
        return now.clearness * np.sqrt(PATIENCE / len(self.legs)) > CLEAR and len(self.legs) < PATIENCE

    def round(self, crew: Crew, sweeps: int, burn_in: int, limits: np.ndarray, precision: float | None) -> None:
        """Run the chains at x; then stay there for more sweeps, or move to the next x, or finish."""
        made = crew.legs(self.x, self.states, f"round-{self.rounds}", sweeps, 0 if self.legs else burn_in)
        self.states = [one.assignments for one in made]
        self.legs.append([replace(one, assignments=NOTHING) for one in made])
        self.rounds += 1
        free = self.free(limits)
        now, step = self.estimate(free), np.zeros(len(self.x))
        step[free] = np.clip(now.step, -LONGEST_STEP, LONGEST_STEP)
        target = inside(self.x + step, limits)[0]
        if self.long and self.at_the_limit(now, step, target):
            self.finished = True
            return
        if self.long and (now.settled or not now.clear or len(self.path) >= MOST_STEPS):
            self.finished = not self.longer(now, precision, len(self.legs) * sweeps)
            return
        self.long = self.long or now.settled or len(self.path) >= MOST_STEPS // 2
        self.x, self.legs = target, []
        self.path.append(np.exp(self.x).tolist())


@dataclass(frozen=True, eq=False)
class Found:
    """The answer of score chains: an ellipse and a region, or a level set."""

    h: np.ndarray
    estimate: Estimate  # at the last h
    profile: Profile | None  # where log m is flat, or not nearly quadratic
    on_edge: bool
    scores: np.ndarray  # float64[m, n, 2]: of every kept sweep at the last h
    path: list[list[float]]  # alpha and eta of every step
    states: list[np.ndarray]  # the last assignments of each chain there
    warnings: list[str]

    @property
    def ellipse(self) -> Ellipse | None:
        """Monte Carlo error of h."""
        if _flat(self.estimate) or self.on_edge or self.estimate.count < FEWEST:
            return None
        radius = hotelling(self.estimate.count, LEVEL)
        return Ellipse.around(self.h, self.estimate.covariance, radius, LEVEL)

    @property
    def region(self) -> Ellipse | Profile | None:
        """How well the corpus determines h itself."""
        if self.profile is not None or self.on_edge:
            return self.profile
        return _region(self.h, self.estimate)

    def summary(self) -> dict[str, Any]:
        """What `bayestopics hyper` prints."""
        last, known = self.estimate, {"ellipse": self.ellipse, "region": self.region}
        tops = np.exp(last.x + last.of_chains)
        return {
            "alpha": float(self.h[0]),
            "eta": float(self.h[1]),
            **{name: None if one is None else one.summary() for name, one in known.items()},
            "agreement": last.agreement,
            "precision": last.imprecision if self.ellipse is not None else None,
            "chains": [{"alpha": float(alpha), "eta": float(eta)} for alpha, eta in tops],
            "path": self.path,
            "warnings": self.warnings,
        }


def score(
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
    run: Callable[..., list[Any]] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Found:
    """Find the best h, within the ranges if they are given; the bits do not depend on `workers`.

    `sweeps` is the length of the last chains at fixed h. Before them come pilots that sample h, and shorter chains
    between the Newton steps, of a fifth of this length and with a burn-in as long. With a `precision`, the last chains
    become longer until their Monte Carlo deviation is at most this part of the uncertainty of h itself. The chains run
    in new processes, or by `run`, of a team that is there.
    """
    check(alphas, etas, None, sweeps, method="score")
    _check(corpus, topics, shape, chains, workers, precision)
    checkpoint, limits = checkpoint or NoCheckpoint(), np.log([alphas or ENDS, etas or ENDS])
    some = max(SHORTEST, sweeps // 5)
    with nullcontext(run) if run is not None else team(corpus, chains, min(workers, chains)) as run:
        crew = Crew(run, topics, sampler, seed, batches_each(chains), checkpoint)
        if (walk := checkpoint.load()) is None:
            x, states = crew.pilots(chains, some, alphas or ENDS, etas or ENDS)
            walk = Walk(x, states)
            if checkpoint.due():
                checkpoint.save(walk)
        while not walk.finished:
            walk.round(crew, sweeps if walk.long else some, some, limits, precision)
            if checkpoint.due():
                checkpoint.save(walk)
        last, profile = walk.estimate(walk.free(limits)), None
        x, on_edge = inside(last.x + last.step, limits)
        if not on_edge and _flat(last):
            side = int(np.argmax(np.abs(np.linalg.eigh(last.information)[1][:, 0])))
            profile = trace(crew, last.x, walk.states, side, some, limits)
            x = profile.top
        elif not on_edge and (slow := bent(crew, _region(np.exp(x), last), walk.states, some)) is not None:
            profile = trace(crew, x, walk.states, slow, some, limits)
    said = _doubts(chains, last, profile, on_edge, precision)
    scores = walk.scores
    return Found(np.exp(x), last, profile, on_edge, scores, walk.path, walk.states, said)


def _flat(last: Estimate) -> bool:
    """The information is not clearly positive, or the region so wide that log m is not nearly quadratic in it."""
    return not last.clear or _region(np.exp(last.x), last).wide


def _region(h: np.ndarray, last: Estimate) -> Ellipse:
    """Where log m is clearly curved."""
    region = Ellipse.around(h, np.linalg.inv(last.information), float(chdtri(2, 1 - LEVEL)), LEVEL)
    assert region is not None
    return region


def inside(x: np.ndarray, limits: np.ndarray) -> tuple[np.ndarray, bool]:
    """x moved into the limits, and whether it is at one of them."""
    moved = np.clip(x, *limits.T)
    return moved, bool(np.any(np.abs(moved[:, None] - limits) < EDGE))


def _check(
    corpus: Corpus,
    topics: int,
    shape: tuple[int, int] | None,
    chains: int,
    workers: int,
    precision: float | None,
) -> None:
    check_model(corpus, topics, Prior(0.5, 0.5))
    if shape is not None:
        raise InputError("the method score has no grid: leave out --grid")
    if min(chains, workers) < 1:
        raise InputError(f"at least 1 chain and 1 worker are needed, not {chains} chains and {workers} workers")
    check_precision(precision)


def _doubts(chains: int, last: Estimate, profile: Profile | None, on_edge: bool, precision: float | None) -> list[str]:
    """What a user should know before trusting the answer."""
    said = list(disagreement(chains, last.agreement))
    if on_edge:
        return [*said, AT_THE_END]
    if profile is not None:
        said += profile.warnings(not _flat(last))
        if _flat(last):
            return said
    if not last.settled:
        said.append(
            f"The last of {MOST_STEPS} Newton steps was still longer than its own Monte Carlo error. Use more sweeps "
            "(--sweeps)."
        )
    if precision is not None and last.imprecision > precision:
        said.append(short_of(last.imprecision, precision))
    return said
