"""How often do the 95 % bands for I(h) of tempered chains cover the whole function? A script, for people:

    python tests/band_coverage.py --sweeps 1000 --chains 8 --replications 400

The corpus has 96 tokens, and I(h) is known exactly (tests/two_topics_oracle.py): the probability that two documents
have nearly the same topics, and the mean squared distance of the topics. With --corpus the functionals are those of
figure 4, and I(h) is that of `--long` chains of a far longer run. Every replication has chains from random starts, with
a burn-in of a fifth of their length, on one grid and with one zeta. Each row of the table: functional, band, sweeps,
chains, covered (with an exact 95 % interval), and the median half-width over the range of I(h).
"""

from __future__ import annotations

import argparse
import time
from functools import partial

import numpy as np
from scipy.stats import beta

import two_topics_oracle
from bayestopics.base.stages import Stages
from bayestopics.corpus.registry import Registry
from bayestopics.errors.simultaneous import half_width
from bayestopics.hyper.bands import Band, deviations, independent, paper_band
from bayestopics.hyper.estimates import expectation
from bayestopics.hyper.grid import Grid
from bayestopics.hyper.search import Runner
from bayestopics.hyper.tempering import TemperedChain, joined, tune
from bayestopics.studies.hyperparameters.compute_surface import CLOSE, FUNCTIONALS, documents_are_close
from hyper_coverage import exact_corpus


def squared_distance(parameters, state) -> float:
    first, second = np.exp(parameters.log_beta.T)
    return float(np.square(first - second).sum())


def bands_of(chains: list[TemperedChain], points: np.ndarray, number: int) -> dict[str, Band]:
    middle, away = deviations(chains, points, number)
    found = {"paper, first chain": paper_band(chains[0], points, number)}
    if len(chains) > 1:
        found["paper, all chains"] = paper_band(joined(chains), points, number)
    for name, units in (("pooled", independent(away)[0]), ("chains", away.mean(axis=1))):
        if len(units) > 1:
            half = half_width(units)
            found[name] = Band(middle - half, middle, middle + half, len(units), 0.0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus")
    parser.add_argument("--topics", type=int, default=2)
    parser.add_argument("--alpha", type=lambda text: tuple(map(float, text.split(","))), default=(0.15, 1.2, 8))
    parser.add_argument("--eta", type=lambda text: tuple(map(float, text.split(","))), default=(0.07, 0.6, 8))
    parser.add_argument("--sampler", default="augmented")
    parser.add_argument("--moves", default="neighbours")
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=8)
    parser.add_argument("--long", type=int, default=8, help="chains of the reference, each ten times as long")
    parser.add_argument("--replications", type=int, default=400)
    parser.add_argument("--fine", type=int, default=6)
    options = parser.parse_args()
    begin, made = time.process_time(), np.linspace if options.corpus else np.geomspace
    sides = [made(low, high, int(count)).tolist() for low, high, count in (options.alpha, options.eta)]
    grid = Grid(tuple(sides[0]), tuple(sides[1]))
    points = np.array([(a, e) for a in made(*grid.ends[0], options.fine) for e in made(*grid.ends[1], options.fine)])
    corpus = Registry().load(options.corpus) if options.corpus else exact_corpus()
    exact = {"documents close": documents_are_close, "squared distance": squared_distance}
    functionals = FUNCTIONALS if options.corpus else exact
    runner = Runner(corpus, options.topics, options.sampler, options.moves, tuple(functionals.values()))
    rng = np.random.default_rng(1)
    how = {"sampler": options.sampler, "moves": options.moves, "sweeps": 5 * options.sweeps, "adapt": np.inf}
    zeta = tune(corpus, options.topics, grid, rng=rng, **how).log_zeta
    run = partial(runner.fresh, grid, zeta, options.sweeps // 5)
    if options.corpus:
        long = [run(10 * options.sweeps, Stages(rng, None)) for _ in range(options.long)]
        truth = np.array([expectation(joined(long), points, number) for number in range(len(functionals))])
    else:
        counts = corpus.counts.toarray().astype(int)
        truth = np.array([two_topics_oracle.expectations(counts, *h, (6, 7), CLOSE) for h in points]).T
    print(f"ready after {time.process_time() - begin:.0f} CPU seconds", flush=True)
    found: dict[tuple[str, str], list[tuple[bool, float]]] = {}
    for replication in range(options.replications):
        stages = Stages(np.random.default_rng([2, replication]), None)
        chains = [run(options.sweeps, stages) for _ in range(options.chains)]
        for number, (name, right) in enumerate(zip(functionals, truth, strict=True)):
            for kind, one in bands_of(chains, points, number).items():
                inside = bool(np.all((one.lower <= right) & (right <= one.upper)))
                width = float((one.upper - one.middle)[0] / np.ptp(right))
                found.setdefault((name, kind), []).append((inside, width))
        if (replication + 1) % 20 == 0 or replication + 1 == options.replications:
            report(found, options, (time.process_time() - begin) / (replication + 1))


def report(found: dict, options: argparse.Namespace, seconds: float) -> None:
    for (name, kind), rows in found.items():
        covered, of = sum(inside for inside, _ in rows), len(rows)
        low = beta.ppf(0.025, covered, of - covered + 1) if covered else 0.0
        high = beta.ppf(0.975, covered + 1, of - covered) if covered < of else 1.0
        width = np.median([one for _, one in rows])
        how = f"{options.sweeps} | {options.chains}"
        print(f"| {name} | {kind} | {how} | {covered} of {of} ({low:.0%} to {high:.0%}) | {width:.3f} |", flush=True)
    print(f"{seconds:.2f} CPU seconds a replication", flush=True)


if __name__ == "__main__":
    main()
