"""How often do the 95 % Monte Carlo ellipses of `hyper` cover the best h? A script, for people:

    python tests/hyper_coverage.py --corpus exact --method score --sweeps 500 --chains 8 --replications 400

The corpus `exact` has 96 tokens, and its best h is known exactly (tests/two_topics_oracle.py). For any other corpus of
the registry, --best gives the answer of a far longer run. Every replication is a complete search with its own seed,
from its own random starts. The last line is a row of a table: method, sweeps, chains, precision, replications, covered
(with an exact 95 % interval), the median half-width of the ellipse in log alpha, and CPU seconds of one search.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.stats import beta

from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.registry import Registry
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.hyper.best import Ellipse
from bayestopics.hyper.score import score
from bayestopics.hyper.several import search_several

EXACT = np.array([0.43472317, 0.18625087])  # of the corpus `exact`, by two_topics_oracle.best


def exact_corpus() -> Corpus:
    rng = np.random.default_rng(2)
    return simulate_lda(documents=16, length=6, terms=4, topics=2, alpha=0.4, eta=0.3, rng=rng).corpus


def ellipse_of(corpus: Corpus, options: argparse.Namespace, seed: int) -> tuple[Ellipse | None, int]:
    """The ellipse, and the sweeps of a chain after which it stopped."""
    how = {"sweeps": options.sweeps, "chains": options.chains, "precision": options.precision, "seed": seed}
    if options.method == "score":
        found = score(corpus, options.topics, **how)
        return found.ellipse, found.scores.shape[1]
    several = search_several(corpus, options.topics, **how)
    return several.best.ellipse, len(several.chains[0])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", default="exact")
    parser.add_argument("--topics", type=int, default=2)
    parser.add_argument("--best", type=lambda text: np.array([float(one) for one in text.split(",")]), default=EXACT)
    parser.add_argument("--method", choices=("score", "tempering"), default="score")
    parser.add_argument("--sweeps", type=int, default=500)
    parser.add_argument("--chains", type=int, default=8)
    parser.add_argument("--precision", type=float)
    parser.add_argument("--replications", type=int, default=400)
    options = parser.parse_args()
    corpus = exact_corpus() if options.corpus == "exact" else Registry().load(options.corpus)
    begin, covered, known, halves, lengths = time.process_time(), 0, 0, [], []
    for number in range(options.replications):
        ellipse, length = ellipse_of(corpus, options, 1000 + number)
        lengths.append(length)
        if ellipse is not None:
            known += 1
            covered += ellipse.covers(options.best)
            halves.append(np.log(ellipse.extent[0, 1] / ellipse.center[0]))
        if (number + 1) % 20 == 0 or number + 1 == options.replications:
            missed = known - covered
            low, high = beta.ppf(0.025, covered, missed + 1), beta.ppf(0.975, covered + 1, missed) if missed else 1.0
            how = f"{options.method} | {np.median(lengths):.0f} | {options.chains} | {options.precision}"
            print(
                f"| {how} | {number + 1} | {covered} of {known} "
                f"({covered / max(known, 1):.1%}; {low:.0%} to {high:.0%}) "
                f"| {np.median(halves):.3f} | {(time.process_time() - begin) / (number + 1):.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
