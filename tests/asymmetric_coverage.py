"""How often do the regions of `hyper --asymmetric` cover the truth? A script, for people:

    python tests/asymmetric_coverage.py --sweeps 200 --replications 20

Every replication is a corpus of its own, drawn with five different alphas. It says whether the joint region covers the
truth and how many of the six intervals do, and sums up the runs so far, with and without a warning.
"""

from __future__ import annotations

import argparse
import time
from unittest import mock

import numpy as np

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
    parser.add_argument("--first", type=int, default=0, help="number of the first corpus")
    options = parser.parse_args()
    begin, rows = time.process_time(), []
    for number in range(options.first, options.first + options.replications):
        rng = np.random.default_rng(100 + number)
        corpus = simulate_lda(**SIZE, alpha=TRUTH[:-1], eta=TRUTH[-1], rng=rng).corpus
        with mock.patch("bayestopics.hyper.asymmetric.gain", return_value=Gain(np.zeros(1))):  # takes as long again
            found = asymmetric(corpus, 5, sweeps=options.sweeps, chains=options.chains, seed=number)
        low, high = found.region.intervals.T
        rows.append((found.region.covers(TRUTH), int(np.sum((low <= TRUTH) & (high >= TRUTH))), bool(found.warnings)))
        errors = f"Monte Carlo {np.round(found.ellipse.deviations, 3)}, region {np.round(found.region.deviations, 3)}"
        told = "with a warning" if rows[-1][2] else "without a warning"
        seconds = (time.process_time() - begin) / len(rows)
        print(f"{number}: joint {rows[-1][0]}, single {rows[-1][1]} of 6, {told}, h {np.round(found.h, 3)}, {errors}")
        for warned in (False, True):
            some = np.array([row[:2] for row in rows if row[2] == warned]).reshape(-1, 2).astype(int)
            joint, single = some.sum(axis=0)
            print(f"    warned {warned}: joint {joint} of {len(some)}, single {single} of {6 * len(some)}")
        print(f"    {seconds:.1f} CPU seconds each", flush=True)


if __name__ == "__main__":
    main()
