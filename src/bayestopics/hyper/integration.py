"""Thermodynamic integration: log m along a line of h, as the integral of its gradient; a check of M-hat.

By Fisher's identity the derivative of log m along log alpha (or log eta) is the posterior mean of the score
(`hyper.louis`), which a chain at fixed h estimates. Chains climb a ladder of h along the line, half of them from its
lower end and half from its upper end, and each integrates its own means by the trapezoidal rule. The scatter between
chains gives the error. Chains that depend on where they came from (a mode of z that they do not leave) show as a
difference between the two starts. Nothing is reweighted, so this shares no weakness with M-hat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.problems import InputError
from bayestopics.base.processes import team
from bayestopics.base.progress import totalling
from bayestopics.base.seeds import generator
from bayestopics.base.wording import NAT
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.estimates import Terms
from bayestopics.hyper.score_chains import leg
from bayestopics.hyper.tempering import TemperedChain
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.state import Prior

RUNGS = 9  # on each line
SIDES, STARTS = ("alpha", "eta"), ("below", "above")
FALSE_ALARM = 1e-3  # the probability that a right difference counts as too large
LEAST = 1.0  # nats: smaller differences are not worth a warning

Ends = tuple[tuple[float, float], tuple[float, float]]


def integrate(
    corpus: Corpus,
    topics: int,
    h: np.ndarray,
    ends: Ends,
    *,
    sweeps: int,
    chains: int,
    seed: int = 0,
    sampler: str = "single-site",
    workers: int = 1,
    checkpoint: Checkpoint | None = None,
) -> pd.DataFrame:
    """log m along alpha and along eta through h, between the ends: one row per side, start and rung, with the columns
    side, start, alpha, eta, log_m (less its value at the rung nearest to h), error and chains.

    At every rung, a chain drops half as many sweeps as it keeps; at its first rung, five times as many.
    """
    if chains < 4:
        raise InputError(f"integration needs at least 4 chains, two from either end, not {chains}")
    checkpoint, lines = checkpoint or NoCheckpoint(), [line(h, ends, side) for side in range(2)]
    jobs = []
    for side, points in enumerate(lines):
        for number in range(chains):
            name = f"{SIDES[side]}/{number}"
            way = points if number % 2 == 0 else points[::-1]
            jobs.append((topics, way, side, sweeps, sampler, seed, name, checkpoint.part(name)))
    steps = 2 * chains * (RUNGS * (sweeps + sweeps // 2) + 5 * sweeps)
    with team(corpus, len(jobs), min(workers, len(jobs))) as run:
        found = np.array(run(_climb, jobs, steps)).reshape(2, chains, RUNGS)
    tables = []
    for side, points in enumerate(lines):
        for start, name in enumerate(STARTS):
            slopes = found[side, start::2]
            tables.append(_table(points, side, name, slopes if start == 0 else slopes[:, ::-1], h))
    return pd.concat(tables, ignore_index=True)


def line(h: np.ndarray, ends: Ends, side: int) -> np.ndarray:
    """float64[RUNGS, 2]: points between the ends of a side, evenly spaced in its log; the other parameter is that of
    h."""
    points = np.repeat(h[None], RUNGS, axis=0)
    points[:, side] = np.geomspace(*ends[side], RUNGS)
    return points


def _climb(
    corpus: Corpus,
    topics: int,
    way: np.ndarray,
    side: int,
    sweeps: int,
    sampler: str,
    seed: int,
    name: str,
    checkpoint: Checkpoint,
    progress: Callable[[int], None],
) -> np.ndarray:
    """The mean score along the side at every rung, for one chain from a random start."""
    rng = generator(seed, f"hyper/integration/{name}")
    z = sampler_by_name(sampler).init(corpus, topics, Prior(*way[0].tolist()), rng).assignments
    slopes = np.empty(len(way))
    with totalling(progress):
        for number, h in enumerate(way):
            burn_in = sweeps // 2 if number else 5 * sweeps
            how: dict[str, Any] = {"sweeps": sweeps, "burn_in": burn_in, "batches": 1, "sampler": sampler}
            own, part = generator(seed, f"hyper/integration/{name}/{number}"), checkpoint.part(f"rung-{number}")
            made = leg(corpus, topics, h, z, rng=own, checkpoint=part, **how)
            slopes[number], z = made.scores[:, side].mean(), made.assignments
    return slopes


def _table(points: np.ndarray, side: int, start: str, slopes: np.ndarray, h: np.ndarray) -> pd.DataFrame:
    """From the slopes (chains x rungs) of the chains with one start, in the order of the points."""
    x = np.log(points[:, side])
    pieces = (slopes[:, 1:] + slopes[:, :-1]) / 2 * np.diff(x)
    log_m = np.concatenate([np.zeros((len(slopes), 1)), np.cumsum(pieces, axis=1)], axis=1)
    log_m -= log_m[:, [nearest(x, np.log(h[side]))]]
    errors = log_m.std(axis=0, ddof=1) / np.sqrt(len(log_m))
    columns = {"alpha": points[:, 0], "eta": points[:, 1], "log_m": log_m.mean(axis=0), "error": errors}
    return pd.DataFrame({"side": SIDES[side], "start": start, **columns, "chains": len(slopes)})


def nearest(x: np.ndarray, to: float) -> int:
    return int(np.argmin(np.abs(x - to)))


def beside(table: pd.DataFrame, chain: TemperedChain, h: np.ndarray) -> pd.DataFrame:
    """The table with a column `log_m_hat`: log M-hat of a tempered chain, less its value at the rung nearest to h."""
    terms, parts = Terms.of(chain), []
    for (side, _), rows in table.groupby(["side", "start"], sort=False):
        values = np.array([terms.log_mean(alpha, eta) for alpha, eta in zip(rows["alpha"], rows["eta"], strict=True)])
        at = nearest(np.log(rows[side].to_numpy()), np.log(h[SIDES.index(side)]))
        parts.append(rows.assign(log_m_hat=values - values[at]))
    return pd.concat(parts, ignore_index=True)


def doubts(table: pd.DataFrame) -> list[str]:
    """Where the two starts, or M-hat and the integral, differ by more than their errors."""
    said = []
    for side, rows in table.groupby("side", sort=False):
        below, above = (rows[rows["start"] == start].reset_index(drop=True) for start in STARTS)
        degrees = below["chains"][0] + above["chains"][0] - 2
        far = stdtrit(degrees, 1 - FALSE_ALARM / 2) * np.hypot(below["error"], above["error"])
        if (worst := _worst(below["log_m"] - above["log_m"], far)) > 0:
            said.append(
                f"Along {side}, chains that start at one end of the line find another log m than chains from the other "
                f"end: they differ by up to {worst:.1f} nats ({NAT}), so chains depend on their start. Use more sweeps "
                "(--sweeps)."
            )
        middle = (below["log_m"] + above["log_m"]) / 2
        if (worst := _worst(below["log_m_hat"] - middle, far / 2)) > 0:
            said.append(
                f"The surface of log M-hat is wrong along {side}, by up to {worst:.1f} nats: an integral of the score, "
                "from two starts, says otherwise. Do not trust the surface or its region; compare with --method score."
            )
    return said


def _worst(difference: pd.Series, allowed: pd.Series) -> float:
    """The largest difference that is larger than allowed, or 0."""
    too_large = np.abs(difference)[np.abs(difference) > np.maximum(allowed, LEAST)]
    return float(too_large.max()) if len(too_large) else 0.0
