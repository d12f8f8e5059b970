"""Where log m(h) is flat: its profile along alpha or eta by integrating the score, and the level set that it bounds.

The chains walk outwards from a start in both directions, along one side (alpha or eta). At every rung they run at fixed
h, and the gradient of log m there (`hyper.louis`) is integrated along the path by the trapezoidal rule. The path
follows the ridge: from rung to rung the other parameter moves along the tangent of the ridge, plus a Newton step. What
the ridge is higher than the path is added to second order. Every chain has its own integral, so the scatter between the
chains gives the error, however the rungs depend on each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import chdtri

from bayestopics.base.seeds import generator
from bayestopics.base.stages import Stages
from bayestopics.hyper.best import PART, Ellipse
from bayestopics.hyper.louis import LEVEL, estimate
from bayestopics.hyper.score_chains import Crew

STRIDE = 0.35  # between rungs, in log h
REACH = float(np.log(30))  # the walk ends this far from its start; the level set is then open at that end
MOST_ASIDE = 0.7  # in log h: the other parameter moves by at most this much from rung to rung
DEEP = float(chdtri(2, 1 - LEVEL)) / 2  # nats: the level set is where log m is at most this much below its top
NAMES = ("alpha", "eta")


@dataclass(frozen=True, eq=False)
class Rung:
    x: np.ndarray  # log h
    gradients: np.ndarray  # float64[m, 2]: of each chain
    information: np.ndarray  # where it is not clearly positive, as much as it may be
    states: list[np.ndarray]

    def ridge(self, side: int) -> tuple[float, float, float]:
        """(where the ridge is in the other parameter, by how much it is higher, the information across it)."""
        other = 1 - side
        across, gradient = float(self.information[other, other]), float(self.gradients[:, other].mean())
        return float(self.x[other]) + gradient / across, gradient**2 / across / 2, across

    def next(self, side: int, stride: float, limits: np.ndarray) -> np.ndarray:
        """The next x along the ridge."""
        at, _, across = self.ridge(side)
        aside = at - self.x[1 - side] - stride * self.information[0, 1] / across
        moved = self.x.copy()
        moved[side] += stride
        moved[1 - side] += np.clip(aside, -MOST_ASIDE, MOST_ASIDE)
        return np.clip(moved, *limits.T)


@dataclass(frozen=True, eq=False)
class Profile:
    """log m along the ridge, less its largest value."""

    side: int  # 0: along alpha, 1: along eta
    points: np.ndarray  # float64[k, 2]: log h on the ridge, rising along the side
    log_m: np.ndarray  # float64[k]
    errors: np.ndarray  # float64[k]: Monte Carlo errors of the differences from the largest; nan for a single chain
    across: np.ndarray  # float64[k]: the information across the ridge
    closed: tuple[bool, bool]  # whether log m falls below the level set before the walk ends, below and above

    @property
    def top(self) -> np.ndarray:
        return np.asarray(self.points[np.argmax(self.log_m)])

    def ends(self) -> tuple[float | None, float | None]:
        """Where log m along the side falls to the level; None if it does not. The root of the fall is interpolated
        linearly, which is exact for a parabola, however far apart the rungs are."""
        top, x, height = int(np.argmax(self.log_m)), self.points[:, self.side], -np.sqrt(-self.log_m)
        low, high, level = height[: top + 1], height[top:], -np.sqrt(DEEP)
        below = float(np.exp(np.interp(level, *_rising(low, x[: top + 1])))) if self.closed[0] else None
        above = float(np.exp(np.interp(level, *_rising(high[::-1], x[top:][::-1])))) if self.closed[1] else None
        return below, above

    @property
    def narrow(self) -> bool:
        """The level set is closed, and its ends differ by less than a factor of 2."""
        below, above = self.ends()
        return below is not None and above is not None and above < 2 * below

    def aside(self) -> tuple[float, float]:
        """The smallest and largest value of the other parameter in the level set, among the rungs."""
        inside = self.log_m >= -DEEP
        half = np.sqrt(2 * (self.log_m[inside] + DEEP) / self.across[inside])
        other = self.points[inside, 1 - self.side]
        return float(np.exp((other - half).min())), float(np.exp((other + half).max()))

    def summary(self) -> dict[str, Any]:
        """The smallest and largest alpha and eta in the level set, null where it is open; and the profile."""
        along, other = list(self.ends()), list(self.aside())
        sides = {NAMES[self.side]: along, NAMES[1 - self.side]: other}
        columns = {**{name: np.exp(self.points[:, k]).tolist() for k, name in enumerate(NAMES)}}
        errors = [None if error != error else float(error) for error in self.errors]
        columns |= {"log_m": self.log_m.tolist(), "error": errors}
        return {"level": LEVEL, **{name: sides[name] for name in NAMES}, "profile": columns}

    def warnings(self, top_known: bool = False) -> list[str]:
        """`top_known`: the top itself is sharp, but log m falls slowly away from it."""
        name, ends = NAMES[self.side], self.ends()
        reached = np.exp(self.points[[0, -1], self.side])
        words = [
            f"{end:.3g}" if end is not None else f"{open_end} {far:.3g}"
            for end, open_end, far in zip(ends, ("below", "above"), reached, strict=True)
        ]
        why = f"The corpus hardly determines {name}"
        if top_known:
            why = f"The corpus does not bound {name} as an ellipse would"
        elif self.narrow:
            why = "The chains are too short to tell how sharp the top is"
        said = [
            f"{why}: the log marginal likelihood is within {DEEP:.0f} nats of its top for {name} from {words[0]} "
            f"to {words[1]}. The region is this level set{'' if top_known else '; there is no Monte Carlo ellipse'}."
        ]
        worst = float(np.max(self.errors[self.log_m >= -DEEP]))
        if not worst < 1:  # nor nan
            size = "unknown" if worst != worst else f"up to {worst:.1f} nats"
            said.append(
                f"The Monte Carlo error of this level set is {size}. Use more sweeps (--sweeps) or chains (--chains)."
            )
        return said


def trace(crew: Crew, x: np.ndarray, states: list[np.ndarray], side: int, sweeps: int, limits: np.ndarray) -> Profile:
    """Walk along the ridge from x in both directions, with chains of `sweeps` sweeps and a burn-in of half as many at
    every rung."""
    stages = Stages(generator(crew.seed, "hyper/level-set"), crew.checkpoint.part("level-set"))
    rung = partial(_rung, crew, sweeps)
    middle = stages(partial(rung, x, states, "level-set/start"))
    ways = []
    for stride in (-STRIDE, STRIDE):
        way = [middle]
        while not (_fallen(way, side) or _at_the_end(way, x, side)):
            at, last = way[-1].next(side, stride, limits), way[-1]
            name = f"level-set/{len(way)}-{'up' if stride > 0 else 'down'}"
            way.append(stages(partial(rung, at, last.states, name)))
        ways.append(way)
    return profile([*ways[0][:0:-1], *ways[1]], side)


def bent(crew: Crew, region: Ellipse, states: list[np.ndarray], sweeps: int) -> int | None:
    """The side along which log m is not nearly quadratic in the region, if there is one.

    At the ends of the region, the slope of a parabola away from the top, times the way, is minus the squared radius.
    """
    stages = Stages(generator(crew.seed, "hyper/probe"), crew.checkpoint.part("probe"))
    for side, ends in enumerate(region.tips):
        for number, x in enumerate(ends):
            way = x - np.log(region.center)
            if abs(way[side]) <= STRIDE:
                continue
            at_end: Rung = stages(partial(_rung, crew, sweeps, x, states, f"probe/{side}-{number}"))
            slopes = -np.einsum("cp,p->c", at_end.gradients, way)
            error = slopes.std(ddof=1) / np.sqrt(len(slopes)) if len(slopes) > 1 else 0.0
            if slopes.mean() + 2 * error < PART * region.radius_squared:
                return side
    return None


def _rung(crew: Crew, sweeps: int, at: np.ndarray, states: list[np.ndarray], name: str, _: np.random.Generator) -> Rung:
    made = crew.legs(at, states, name, sweeps, sweeps // 2)
    scores, bends = np.array([one.scores for one in made]), np.array([one.bends for one in made])
    found = estimate(at, scores, bends)
    return Rung(at, scores.mean(axis=1), found.upwards, [one.assignments for one in made])


def profile(rungs: list[Rung], side: int) -> Profile:
    """The profile from rungs that rise along the side."""
    log_m, points, across = integral(rungs), [], []
    for number, one in enumerate(rungs):
        at, higher, information = one.ridge(side)
        point = one.x.copy()
        point[1 - side] = at
        log_m[:, number] += higher
        points.append(point)
        across.append(information)
    means = log_m.mean(axis=0)
    top = int(np.argmax(means))
    chains = len(log_m)
    errors = np.full(len(rungs), np.nan)
    if chains > 1:
        errors = (log_m - log_m[:, top : top + 1]).std(axis=0, ddof=1) / np.sqrt(chains)
    means -= means[top]
    deep = np.nan_to_num(errors) * 2 + DEEP
    closed = bool(means[0] < -deep[0]), bool(means[-1] < -deep[-1])
    return Profile(side, np.array(points), means, errors, np.array(across), closed)


def integral(rungs: list[Rung]) -> np.ndarray:
    """float64[m, k]: log m at every rung less that at the first, by the trapezoidal rule along the path, for each
    chain."""
    x, gradients = np.array([one.x for one in rungs]), np.array([one.gradients for one in rungs])
    pieces = np.einsum("kcp,kp->ck", (gradients[1:] + gradients[:-1]) / 2, np.diff(x, axis=0))
    return np.concatenate([np.zeros((gradients.shape[1], 1)), np.cumsum(pieces, axis=1)], axis=1)


def _fallen(way: list[Rung], side: int) -> bool:
    """log m has fallen below the level set at the last rung of a way outwards."""
    return profile(way, side).closed[1]


def _at_the_end(way: list[Rung], x: np.ndarray, side: int) -> bool:
    """It has reached as far as it may, or a limit."""
    here = way[-1].x
    return abs(here[side] - x[side]) > REACH or (len(way) > 1 and bool(here[side] == way[-2].x[side]))


def _rising(values: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For interpolation: values that never fall, and their x."""
    return np.maximum.accumulate(values), x
