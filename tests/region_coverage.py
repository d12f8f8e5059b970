"""How often does `hyper --method score` cover what it should, on new corpora? A script, for people:

    python tests/region_coverage.py --topics 2 --documents 16 --length 6 --terms 3 --alpha 0.5 --eta 0.3

Every replication is a new corpus, drawn with the same alpha and eta, and a search that stops at `--precision`. It says
how often the region, an ellipse or a level set, covers the alpha and eta that drew the corpus; and, with two topics and
few terms, where `two_topics_oracle.best` knows the best h exactly, how often the Monte Carlo ellipse covers that.
With more topics, it says how often two independent searches of the same corpus differ by no more than a 95 % ellipse
for their difference. `--unbalanced` draws the lengths of documents from 1 to twice the mean. Answers at an end of the
range have no ellipse and no region.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import beta

from bayestopics.corpus.corpus import Corpus
from bayestopics.errors.pooled import hotelling
from bayestopics.hyper.best import Ellipse
from bayestopics.hyper.level_set import DEEP, Profile
from bayestopics.hyper.score import score
from oracle import tiny_corpus
from two_topics_oracle import best


def drawn(options: argparse.Namespace, rng: np.random.Generator) -> Corpus:
    lengths = np.full(options.documents, options.length)
    if options.unbalanced:
        lengths = rng.integers(1, 2 * options.length, options.documents)
    topics = rng.dirichlet(np.full(options.terms, options.eta), options.topics)
    weights = rng.dirichlet(np.full(options.topics, options.alpha), options.documents)
    words = [rng.choice(options.terms, n, p=one @ topics).tolist() for n, one in zip(lengths, weights, strict=True)]
    return tiny_corpus(words, options.terms)


def within(region: Ellipse | Profile, h: np.ndarray) -> bool:
    """For a level set: interpolated along the ridge, and a parabola across it."""
    if isinstance(region, Ellipse):
        return region.covers(h)
    x, side = np.log(h), region.side
    low, high = region.ends()
    if (low is not None and h[side] < low) or (high is not None and h[side] > high):
        return False
    along = region.points[:, side]
    log_m, ridge, across = (
        np.interp(x[side], along, one) for one in (region.log_m, region.points[:, 1 - side], region.across)
    )
    return bool(log_m - across * (x[1 - side] - ridge) ** 2 / 2 >= -DEEP)


def exactly(corpus: Corpus, options: argparse.Namespace, h: np.ndarray) -> np.ndarray:
    """The best h near this one."""
    counts = np.zeros((corpus.document_count, options.terms), int)
    np.add.at(counts, (corpus.documents, corpus.terms), 1)
    return best(counts, tuple(h))


def agree(one: Ellipse, other: Ellipse, count: int) -> bool:
    """Whether the difference of two independent answers is within their errors."""
    away = np.log(one.center) - np.log(other.center)
    both = np.array(one.log_covariance) + np.array(other.log_covariance)
    return bool(away @ np.linalg.solve(both, away) <= hotelling(count - 1, 0.95))


def here(corpus: Corpus, function: Callable[..., Any], jobs: list[tuple], _: int) -> list[Any]:
    """Every job in this process."""
    return [function(corpus, *job, lambda *_: None) for job in jobs]


def share(hits: int, of: int) -> str:
    low = beta.ppf(0.025, hits, of - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, of - hits) if hits < of else 1.0
    return f"{hits} of {of} ({low:.0%} to {high:.0%})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--topics", type=int, default=2)
    parser.add_argument("--documents", type=int, default=16)
    parser.add_argument("--length", type=int, default=6)
    parser.add_argument("--terms", type=int, default=3)
    parser.add_argument("--alpha", type=float, default=0.5)
    parser.add_argument("--eta", type=float, default=0.3)
    parser.add_argument("--unbalanced", action="store_true")
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--precision", type=float, default=0.1)
    parser.add_argument("--replications", type=int, default=100)
    options = parser.parse_args()
    truth, seen, begin, lengths = np.array([options.alpha, options.eta]), Counter[str](), time.process_time(), []
    for number in range(options.replications):
        corpus = drawn(options, np.random.default_rng([options.topics, options.documents, number]))
        how: Any = {"sweeps": options.sweeps, "chains": 8, "precision": options.precision, "seed": number}
        found = score(corpus, options.topics, run=partial(here, corpus), **how)
        lengths.append(found.scores.shape[1])
        seen["at an end"] += found.on_edge
        if found.region is not None:
            kind = "ellipse" if isinstance(found.region, Ellipse) else "level set"
            seen[f"region: {kind}"] += 1
            seen[f"{kind} covers the truth"] += within(found.region, truth)
        if found.ellipse is not None and options.topics == 2:
            seen["Monte Carlo"] += 1
            top = exactly(corpus, options, found.h)
            seen["exact"] += (hit := found.ellipse.covers(top))
            if not hit:
                print(f"missed: {number}, h {found.h}, exactly {top}, {found.warnings}", flush=True)
        elif found.ellipse is not None:
            again = score(corpus, options.topics, run=partial(here, corpus), **{**how, "seed": 10_000 + number})
            if again.ellipse is not None:
                seen["pairs"] += 1
                seen["pairs agree"] += agree(found.ellipse, again.ellipse, found.estimate.count + again.estimate.count)
        seen["warned of the chains"] += any("disagree" in said or "Newton" in said for said in found.warnings)
        if (number + 1) % 20 == 0 or number + 1 == options.replications:
            regions = [(seen[f"{k} covers the truth"], seen[f"region: {k}"]) for k in ("ellipse", "level set")]
            all_regions = share(*(sum(one) for one in zip(*regions, strict=True)))
            print(
                f"| {number + 1} | exact best in the ellipse: {share(seen['exact'], seen['Monte Carlo'])} | two "
                f"searches agree: {share(seen['pairs agree'], seen['pairs'])} | truth in "
                f"the region: {all_regions}; ellipses {share(*regions[0])}, level sets {share(*regions[1])} | at an "
                f"end {seen['at an end']} | chains warned {seen['warned of the chains']} | median sweeps "
                f"{np.median(lengths):.0f} | {(time.process_time() - begin) / (number + 1):.2f} CPU seconds each |",
                flush=True,
            )


if __name__ == "__main__":
    main()
