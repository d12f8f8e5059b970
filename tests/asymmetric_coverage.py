"""How often do the regions of `hyper --asymmetric` cover the truth? A script, for people:

    python tests/asymmetric_coverage.py --sweeps 200 --replications 20

Every replication is a corpus of its own, drawn with five different alphas. One line for each says whether the joint
region covers the truth, and how many of the six intervals do; the last line sums up.
"""

from __future__ import annotations

import argparse
import time
from unittest import mock

import numpy as np
from scipy.stats import beta

from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.hyper.asymmetric import asymmetric
from bayestopics.hyper.gain import Gain

TRUTH = np.array([1.0, 0.5, 0.2, 0.1, 0.05, 0.25])  # five alphas, and eta
SIZE = {"documents": 400, "length": 80, "terms": 40, "topics": 5}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--chains", type=int, default=8)
    parser.add_argument("--replications", type=int, default=20)
    options = parser.parse_args()
    begin, jointly, single, warned = time.process_time(), 0, 0, 0
    for number in range(options.replications):
        rng = np.random.default_rng(100 + number)
        corpus = simulate_lda(**SIZE, alpha=TRUTH[:-1], eta=TRUTH[-1], rng=rng).corpus
        with mock.patch("bayestopics.hyper.asymmetric.gain", return_value=Gain(np.zeros(1))):  # takes as long again
            found = asymmetric(corpus, 5, sweeps=options.sweeps, chains=options.chains, seed=number)
        low, high = found.region.intervals.T
        covered, inside = found.region.covers(TRUTH), int(np.sum((low <= TRUTH) & (high >= TRUTH)))
        jointly, single, warned = jointly + covered, single + inside, warned + bool(found.warnings)
        errors = f"Monte Carlo {np.round(found.ellipse.deviations, 3)}, region {np.round(found.region.deviations, 3)}"
        print(f"{number}: {covered} {inside} of 6, h {np.round(found.h, 3)}, in log h: {errors}", flush=True)
    total, seconds = options.replications, (time.process_time() - begin) / options.replications
    ends = beta.ppf(0.025, jointly, total - jointly + 1), beta.ppf(0.975, jointly + 1, total - jointly)
    print(f"jointly {jointly} of {total} ({ends[0]:.0%} to {ends[1] if jointly < total else 1:.0%})")
    print(f"single {single} of {6 * total}, {warned} with a warning, {seconds:.1f} CPU seconds each")


if __name__ == "__main__":
    main()
