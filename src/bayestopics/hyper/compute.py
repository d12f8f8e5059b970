"""The best (alpha, eta) by any method, always in the same form: what `bayestopics hyper` prints."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtri

from bayestopics.base.checkpoint import Checkpoint
from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.base.stages import Stages
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper import METHODS, SEARCHES
from bayestopics.hyper.best import CORRELATED, Ellipse, at_ends, best
from bayestopics.hyper.full_bayes import FullBayes, full_bayes
from bayestopics.hyper.gibbs_em import gibbs_em
from bayestopics.hyper.grid import Grid
from bayestopics.hyper.score import score
from bayestopics.hyper.search import AT_THE_END, MOST_ON_EDGE, check, correlated, edges
from bayestopics.hyper.several import CHAINS, search_several
from bayestopics.hyper.tempering import temper
from bayestopics.hyper.variational_em import variational_em
from bayestopics.lda.urns import ENDS

STEPS = 60  # of Gibbs-EM
END = 20  # the answer is the average over this many last steps, which reduces its noise
DRIFT = 0.1  # in log alpha or log eta, between the halves of these steps: more than the noise of default-length chains
LEVEL = 0.95
REFINED = 2.0  # full Bayes: the best h is searched within this factor of the mode; 1.2 cut off a third of the batches
NO_ERROR = (
    "Gibbs-EM tells no error, and does not notice where the corpus hardly determines alpha or eta. Compare it with the "
    "method score."
)

Range = tuple[float, float]


def hyper(
    corpus: Corpus,
    topics: int,
    *,
    method: str = "tempering",
    alphas: Range | None = None,
    etas: Range | None = None,
    shape: tuple[int, int] | None = None,
    sweeps: int | None = None,
    seed: int = 0,
    sampler: str = "single-site",
    search: str = SEARCHES[0],
    chains: int = CHAINS,
    precision: float | None = None,
    workers: int = 1,
    checkpoint: Checkpoint | None = None,
) -> dict[str, Any]:
    """{"alpha", "eta", "ellipse", "region", "warnings", ...}, and the `path` of EM, or the `draws` of full Bayes.
    `chains`, `precision` and `workers` are used by tempering and by score chains only."""
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; choose from {', '.join(METHODS)}")
    sweeps = METHODS[method] if sweeps is None else sweeps
    if method == "tempering":
        how = {"alphas": alphas, "etas": etas, "shape": shape, "search": search, "sweeps": sweeps, "sampler": sampler}
        several = {"chains": chains, "workers": workers, "seed": seed, "checkpoint": checkpoint}
        return search_several(corpus, topics, **several, **how).summary()  # type: ignore[arg-type]
    if method == "score":
        ranges = {"alphas": alphas, "etas": etas, "shape": shape}
        several = {"chains": chains, "workers": workers, "seed": seed, "checkpoint": checkpoint}
        return score(corpus, topics, sweeps=sweeps, sampler=sampler, precision=precision, **ranges, **several).summary()  # type: ignore[arg-type]
    if precision is not None:
        raise InputError(f"the method {method} has no Monte Carlo error to stop by: leave out --precision")
    if shape is not None:
        raise InputError(f"the method {method} has no grid: leave out --grid")
    if method == "full-bayes":
        return _full_bayes(corpus, topics, alphas, etas, sweeps, seed, sampler, checkpoint)
    if alphas is not None or etas is not None:
        raise InputError(f"the method {method} takes no ranges: leave out --alpha-range and --eta-range")
    rng = generator(seed, f"hyper/{method}")
    if method == "gibbs-em":
        work: Any = {"sweeps": sweeps, "burn_in": sweeps // 4, "steps": STEPS, "sampler": sampler}
        em = gibbs_em(corpus, topics, rng=rng, checkpoint=checkpoint, **work)
        h = np.exp(np.log(em.path[-END:]).mean(axis=0))
        path, doubts = em.path.tolist(), [*em.warnings, *_drift(em.path[-END:]), NO_ERROR]
    else:
        variational = variational_em(corpus, topics, rng=rng, steps=sweeps, checkpoint=checkpoint)
        h, path, doubts = variational.path[-1], variational.path.tolist(), list(variational.warnings)
        if not variational.converged:
            doubts.append(f"Variational EM has not converged after {sweeps} passes. Use more passes (--sweeps).")
        doubts.append(
            "Variational EM maximises a lower bound of the marginal likelihood, not the marginal likelihood itself: "
            "the answer depends on the start and may be far off. Compare it with the method score."
        )
    return {**_h(h), "ellipse": None, "region": None, "path": path, "warnings": doubts}


def _drift(end: np.ndarray) -> list[str]:
    """A warning if Gibbs-EM still moves in one direction; it moves slowly where m(h) is flat."""
    first, second = (np.exp(np.log(half).mean(axis=0)) for half in np.array_split(end, 2))
    return [
        f"Gibbs-EM still moves: {name} went from {before:.3g} to {after:.3g} over the last {len(end)} steps, so it may "
        "be far from its final value. Compare it with the method score."
        for name, before, after in zip(("alpha", "eta"), first, second, strict=True)
        if abs(np.log(after / before)) > DRIFT
    ]


def _full_bayes(
    corpus: Corpus,
    topics: int,
    alphas: Range | None,
    etas: Range | None,
    sweeps: int,
    seed: int,
    sampler: str,
    checkpoint: Checkpoint | None,
) -> dict[str, Any]:
    """The mode of the estimated density of h, refined by a chain at this mode (2.1)."""
    check(alphas, etas, None, sweeps, method="full-bayes")
    stages = Stages(generator(seed, "hyper/full-bayes"), checkpoint)
    pilot: Any = {"alphas": alphas or ENDS, "etas": etas or ENDS, "burn_in": sweeps // 4}
    work: Any = {"sweeps": sweeps, "sampler": sampler}
    found = stages(lambda rng: full_bayes(corpus, topics, rng=rng, checkpoint=stages.inside, **pilot, **work))
    mode = found.mode
    limits = np.array([alphas or ENDS, etas or ENDS])
    ends = tuple((max(x / REFINED, low), min(x * REFINED, high)) for x, (low, high) in zip(mode, limits, strict=True))
    at = Grid((mode[0],), (mode[1],))
    work |= {"start": found.last, "ends": ends}
    chain = stages(lambda rng: temper(corpus, topics, at, rng=rng, checkpoint=stages.inside, **work))
    refined, doubts = best(chain), []
    if at_ends(np.array([refined.alpha, refined.eta]), tuple(map(tuple, limits))).any():  # type: ignore[arg-type]
        doubts.append(AT_THE_END)
    elif refined.on_edge:
        doubts.append(
            "The last chain was too short to refine the answer, which is the mode of a density estimate. Use more "
            "sweeps (--sweeps)."
        )
    if refined.ellipse is not None and refined.batch_correlation > CORRELATED:
        doubts.append(correlated(refined.batch_correlation))
    if refined.ellipse is not None and refined.batches_on_edge > MOST_ON_EDGE:
        doubts.append(edges(refined.batches_on_edge))
    h = mode if refined.on_edge else np.array([refined.alpha, refined.eta])
    region = posterior_region(found)
    if region is not None and (
        region.wide or np.any((region.extent < limits[:, :1]) | (region.extent > limits[:, 1:]))
    ):
        region = None
        doubts.append(_open(found, limits))
    flat = refined.region is None or refined.region.wide
    ellipse = None if refined.ellipse is None or flat else refined.ellipse.summary()
    return {
        **_h(h),
        "ellipse": ellipse,
        "region": None if region is None else region.summary(),
        "mode": mode.tolist(),
        "draws": found.draws.tolist(),
        "warnings": doubts,
    }


def _open(found: FullBayes, limits: np.ndarray) -> str:
    """What to say of draws that fill no ellipse within the range: where they are, on each side by itself."""
    tail = (1 - LEVEL) / 2
    ends = np.quantile(found.draws, [tail, 1 - tail], axis=0).T
    sides = [
        f"{name} from {low:.3g} to {high:.3g} (its range is {least:.3g} to {most:.3g})"
        for name, (low, high), (least, most) in zip(("alpha", "eta"), ends, limits, strict=True)
    ]
    return (
        f"The corpus does not bound alpha and eta on all sides, so there is no region: {LEVEL:.0%} of the draws have "
        f"{' and '.join(sides)}, and they depend on the range. The method score finds the level set."
    )


def posterior_region(found: FullBayes) -> Ellipse | None:
    """The region for h itself, from draws with a prior that is uniform in log h."""
    logs = np.log(found.draws)
    return Ellipse.around(np.exp(logs.mean(axis=0)), np.cov(logs.T), float(chdtri(2, 1 - LEVEL)), LEVEL)


def _h(h: np.ndarray) -> dict[str, float]:
    return {"alpha": float(h[0]), "eta": float(h[1])}
