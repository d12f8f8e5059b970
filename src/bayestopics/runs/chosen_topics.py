"""The topics that `select` shows: those of the chosen T, and how far each of them can be trusted.

A chain over T keeps one state for each T. From the one with the chosen T, ordinary Gibbs sampling goes on with T, alpha
and eta as they were chosen, so that the topics are means over draws, as those of `fit` are. All chains do this, the one
whose topics are shown and the others, with which they are compared (`runs.reproducibility`). A chain that never had the
chosen T goes on from the nearest T that it had: a topic that it has is a topic, whatever the T.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.jump import Chain
from bayestopics.lda.state import Prior
from bayestopics.runs.chain import run_chain
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.draws import (
    KeptDraws,
    aligned,
    document_moments,
    documents_table,
    model_arrays,
    spread,
    term_topic_of,
    terms_table,
    topic_moments,
    vocabulary_table,
)
from bayestopics.runs.reproducibility import doubts, of_topics, reproducibility
from bayestopics.runs.task import Task
from bayestopics.runs.words import top_words, topic_shares

SAMPLER = "single-site"
SHARE = 10  # one sweep is kept for so many iterations of the chains, which take several times as long as a sweep
FEWEST, MOST = 25, 250
DROPPED = 5  # one sweep is dropped for so many that are kept: the state is a draw already, but for its alpha and eta


def sweeps_of(iterations: int) -> tuple[int, int]:
    """(sweeps to drop, sweeps to keep)"""
    kept = min(MOST, max(FEWEST, iterations // SHARE))
    return kept // DROPPED, kept


def nearest(chain: Chain, topics: int) -> int:
    """The T nearest to this one that the chain has drawn; of two, the one with the larger weight."""
    drawn = chain.drawn_by_topics
    return min(drawn, key=lambda one: (abs(one - topics), -drawn[one].weight))


def topics_of(
    corpus: Corpus, chains: list[Chain], best: Chain, topics: int, prior: Prior, task: Task, checkpoint: Checkpoint
) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, np.ndarray], list[str]]:
    """(the topics for people; tables as those of `fit`; arrays, with `assignments`, a draw; warnings)"""
    numbers = [nearest(chain, topics) for chain in chains]
    draws = [
        _draws(corpus, chain, number, prior, task, checkpoint.part(f"chain-{chain.number}"))
        for chain, number in zip(chains, numbers, strict=True)
    ]
    place = best.number
    draws[place] = _unused_last(corpus, draws[place], topics)
    moments = [topic_moments(corpus, *one, prior.eta) for one in zip(draws, numbers, strict=True)]
    shown = draws[place]
    counts = np.mean([term_topic_of(corpus, draw, topics) for draw in shown], axis=0)
    used = int(np.sum(counts.sum(axis=0) > 0))
    listed = top_words(corpus, counts[:, :used])
    tables = {
        "topics": terms_table(corpus, moments[place], counts),
        "shares": topic_shares(counts),
        "documents": documents_table(corpus, document_moments(corpus, shown, prior.alpha_vector(topics))),
        "vocabulary": vocabulary_table(corpus),
    }
    arrays = {"assignments": shown[-1].astype(np.int32), **model_arrays(corpus, shown, topics)}
    if len(chains) == 1:
        return listed, tables, arrays, []
    table = reproducibility(corpus, draws, [one.mean for one in moments], place, prior.eta)
    tables["reproducibility"] = table[table["topic"] < used].reset_index(drop=True)
    found = of_topics(tables["reproducibility"])
    listed = [{**one, **found[one["topic"]]} for one in listed]
    return listed, tables, arrays, doubts(found, "more iterations (--iterations)")


def _draws(
    corpus: Corpus, chain: Chain, topics: int, prior: Prior, task: Task, checkpoint: Checkpoint
) -> list[np.ndarray]:
    burn_in, kept = sweeps_of(task.params["iterations"])
    observer = KeptDraws(spread(burn_in, kept))
    found = run_chain(
        corpus,
        topics,
        prior,
        sampler=SAMPLER,
        sweeps=burn_in + kept,
        rng=generator(task.seed, f"select/topics/chain-{chain.number}"),
        start=chain.drawn_by_topics[topics].assignments,
        observer=observer,
        checkpoint=checkpoint,
        description="topics",
    )
    assert isinstance(found.observer, KeptDraws)
    return aligned(found.observer.draws, topics)


def _unused_last(corpus: Corpus, draws: list[np.ndarray], topics: int) -> list[np.ndarray]:
    """Renumber the topics so that those that no draw uses come last."""
    used = np.zeros(topics, bool)
    for draw in draws:
        used[np.unique(draw)] = True
    place = np.empty(topics, draws[0].dtype)
    place[np.argsort(~used, kind="stable")] = np.arange(topics)
    return [place[draw] for draw in draws]
