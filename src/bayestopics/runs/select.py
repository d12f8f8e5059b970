"""`select`: chooses T, alpha and eta together, with their uncertainty.

A first answer comes in seconds (`evidence.first_answer`). Then chains over (T, z, alpha, eta) run from different
starts: one topic, half of the first answer, the first answer itself, and twice as many (`evidence.jump`). Together they
give the posterior of T, with alpha and eta integrated out, and its Monte Carlo error; whether they agree tells whether
to trust it. alpha, eta and the topics that are shown are those of the most probable T (`runs.chosen_topics`).
"""

from __future__ import annotations

import heapq
from dataclasses import asdict
from math import ceil, isqrt
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import chdtri

from bayestopics.base.code import code_hash
from bayestopics.base.progress import say
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.burn_in import share_of_part
from bayestopics.evidence.first_answer import FirstAnswer, first_answer
from bayestopics.evidence.jump import SMALL, Chain, run_chains
from bayestopics.evidence.jump_tables import batches_table, moves_table, trace_table
from bayestopics.evidence.pmmh import Walk
from bayestopics.evidence.topic_law import TopicLaw, covered, doubts, hyper_law, interval, law
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.hyper.best import Ellipse
from bayestopics.lda.state import Prior
from bayestopics.lda.urns import ENDS, at_ends
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.chosen_topics import sweeps_of, topics_of
from bayestopics.runs.draws import spread
from bayestopics.runs.fit import empty_documents, small
from bayestopics.runs.jump import hyper_doubts, hyper_numbers, numbers_of, posterior_table
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe

LEVEL = 0.95
# iterations to keep, by default: as many as 4 chains can make in 20 minutes on 2 cores, between these
FEWEST, MOST = 500, 5000
MINUTES = 20
# seconds of an iteration, and of each token in it: on Reuters, 3.4e-3 in all were measured on 5,000 tokens with 52
# topics, 5.3e-3 on 19,000 with 74, and 28e-3 on 116,000 with 120
ITERATION, DRAW = 3e-3, 200e-9
# A chain that tries other topics makes about so many ratings: 3 at its start, and 2 to 5 in each of 6 trials. It has
# more topics then than the first answer: on Reuters 1.8 times as many, on simulated corpora hardly more.
RATINGS, GROWN = 30, 1.5


def default_prior(corpus: Corpus) -> TopicPrior:
    """Uniform from 1 to the square root of the number of tokens. It depends on the size of the corpus alone, and the
    chains go only where the posterior is."""
    return TopicPrior(1, max(2, isqrt(corpus.token_count)))


def default_iterations(corpus: Corpus) -> int:
    return min(MOST, iterations_within(corpus, 60 * MINUTES, chains=4, workers=2))


def iterations_within(corpus: Corpus, seconds: float, chains: int, workers: int) -> int:
    """How many iterations each chain can keep if all chains, with a burn-in as long, may take so many seconds. This
    depends on the size of the corpus alone, not on the speed of the machine, so that a run can be repeated."""
    for_each = seconds / ceil(chains / workers)
    return max(FEWEST, int(for_each / (2 * (ITERATION + DRAW * corpus.token_count))))


def task_of(
    corpus: Corpus, topic_prior: TopicPrior, seed: int, *, chains: int, iterations: int, burn_in: int | None = None
) -> Task:
    burn_in = iterations if burn_in is None else burn_in
    Walk(topic_prior, (topic_prior.low,) * chains, iterations, burn_in)  # refuses what cannot be run
    params = {"topics": asdict(topic_prior), "chains": chains, "iterations": iterations, "burn_in": burn_in}
    return Task("select", OWN, "select", params, seed, **describe(corpus), code=code_hash(__name__))


def starts(first: int, topic_prior: TopicPrior, chains: int) -> tuple[int, ...]:
    """Where the chains start: first the one that has the topics of the first answer, then from below and above."""
    around = (first, 1, 2 * first, first // 2)
    high = topic_prior.high or 2 * first
    return tuple(min(max(around[number % len(around)], topic_prior.low), high) for number in range(chains))


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, *, workers: int = 1) -> Result:
    """Tables: `posterior`, every T with its error; `trace`, `moves` and `batches` of the chains, as in `topics`;
    `first_answer`, the steps that led to it; and of the chosen topics those that `fit` has. The array `assignments` is
    one draw of theirs."""
    params = task.params
    topic_prior = TopicPrior(**params["topics"])
    first = _first(task, corpus, topic_prior, checkpoint.part("first-answer"), workers)
    begin_at = starts(first.topics, topic_prior, params["chains"])
    walk = Walk(topic_prior, begin_at, params["iterations"], params["burn_in"])
    work: Any = {"seed": task.seed, "workers": workers, "checkpoint": checkpoint.part("chains")}
    begin = Prior(first.alpha, first.eta)
    chains = run_chains(corpus, begin, walk, hyper=ENDS, found={0: first.assignments}, **work)
    trace, moves, batches = trace_table(chains), moves_table(chains), batches_table(chains)
    found = law(batches)
    kept = trace[trace["step"] >= walk.burn_in]
    all_hyper = hyper_numbers(kept)
    numbers = numbers_of(found, chains, kept, moves[moves["iteration"] >= walk.burn_in])
    number, best = chosen(chains, found)
    at_number = hyper_at(kept, number)
    prior = Prior(at_number["alpha"] or 1.0, at_number["eta"])  # with one topic there is no alpha
    shown = topics_of(corpus, chains, best, number, prior, task, checkpoint.part("topics"))
    top_words, topic_tables, arrays, unstable = shown
    draws = len(spread(*sweeps_of(params["iterations"])))
    answer = {
        **headline(found, number),
        **at_number,
        **{name: numbers.pop(name) for name in ("mean", "mean_error")},
        **{name: value for name, value in numbers.items() if name != "mode"},
        **{name: value for name, value in all_hyper.items() if name.startswith("rhat")},
        "first_answer": {"topics": first.topics, "alpha": first.alpha, "eta": first.eta},
        "topics_of": f"chain {best.number}, means over {draws} draws given T = {number}",
        "top_words": top_words,
    }
    said = [
        *small(corpus, number),
        *empty_documents(corpus),
        *doubts(found, topic_prior, walk.starts),
        *hyper_doubts(all_hyper),
        *unstable,
    ]
    if answer["alpha"] is not None:
        said += at_ends(answer["alpha"], answer["eta"])
    return Result(
        task,
        {key: value for key, value in answer.items() if isinstance(value, int | float)},
        said,
        tables={
            "posterior": _with_intervals(posterior_table(found), found),
            "trace": trace,
            "moves": moves,
            "batches": batches,
            "first_answer": pd.DataFrame(first.steps, columns=["topics", "log_mass"]),
            **topic_tables,
        },
        arrays=arrays,
        answer=answer,
    )


def _first(task: Task, corpus: Corpus, topic_prior: TopicPrior, checkpoint: Any, workers: int) -> FirstAnswer:
    """The first answer, told at once, with how long the chains will take."""
    found: FirstAnswer | None = checkpoint.load()
    if found is None:
        found = first_answer(corpus, topic_prior, generator(task.seed, "select/first-answer"))
        checkpoint.save(found)
        chains, each = task.params["chains"], task.params["burn_in"] + task.params["iterations"]
        minutes = round(expected_seconds(found, corpus, chains, each, workers) / 60)
        say(
            f"first answer, without an error: {found.topics} topics, alpha {found.alpha:.3g}, eta {found.eta:.3g}; "
            f"{chains} chains of {each:,} iterations follow, "
            + (f"for about {minutes} minutes" if minutes > 1 else "for a minute or two")
        )
    return found


def expected_seconds(found: FirstAnswer, corpus: Corpus, chains: int, iterations: int, workers: int) -> float:
    """How long chains of so many iterations will take. The first goes on from the first answer; on all but small
    corpora the others try other topics, on a part of the documents if the corpus is large."""
    rated = RATINGS * GROWN * found.rating * share_of_part(corpus) if corpus.token_count > SMALL else 0.0
    free = [0.0] * workers  # when each worker is free again
    for number in range(chains):
        heapq.heapreplace(free, free[0] + iterations * found.seconds + (rated if number > 0 else 0.0))
    return max(free)


def _with_intervals(table: pd.DataFrame, found: TopicLaw) -> pd.DataFrame:
    """Where the probability of each T is, as in the headline: a standard error of 0 would promise too much."""
    ends = np.array([interval(found, topics) for topics in table["topics"].tolist()])
    return table.assign(low=ends[:, 0], high=ends[:, 1])


def headline(found: TopicLaw, number: int) -> dict[str, Any]:
    """T and what is known about it. If the chains disagree, no probability can be trusted: `between` is None then, and
    the answer is the range of T that the chains cover."""
    agree = found.agrees
    low, high = interval(found, number)
    return {
        "topics": number,
        "agree": agree,
        "probability": found.posterior[number] if agree else None,
        "between": [low, high] if agree else None,
        "range": list(covered(found, LEVEL)),
    }


def hyper_at(kept: pd.DataFrame, topics: int) -> dict[str, Any]:
    """alpha and eta given T: the medians, the ends of the middle 95 %, and a region for both. With one topic there is
    no alpha."""
    here = kept[kept["topics"] == topics]
    logs = np.log(here[["alpha", "eta"]].to_numpy())
    shares = _shares(here)
    alpha, eta = (hyper_law(column[None], shares[None]) for column in logs.T)
    if topics == 1:
        return {"alpha": None, "eta": eta["median"], "hyper": {"alpha": None, "eta": eta}, "region": None}
    centre = shares @ logs
    covariance = (logs - centre).T @ ((logs - centre) * shares[:, None])
    region = Ellipse.around(np.exp(centre), covariance, float(chdtri(2, 1 - LEVEL)), LEVEL)
    medians = {"alpha": alpha["median"], "eta": eta["median"], "hyper": {"alpha": alpha, "eta": eta}}
    return {**medians, "region": None if region is None else region.summary()}


def _shares(here: pd.DataFrame) -> np.ndarray:
    """The weights of these draws; they sum to one. The weights of different chains have different units, so each chain
    counts by its number of draws."""
    logs = here["log_weight"]
    weights = np.exp(logs - logs.groupby(here["chain"]).transform("max"))
    sums = weights.groupby(here["chain"]).transform("sum")
    sizes = weights.groupby(here["chain"]).transform("size")
    return np.asarray(weights / sums * sizes / len(here))


def chosen(chains: list[Chain], found: TopicLaw) -> tuple[int, Chain]:
    """The most probable T, and the chain that has it most. In very short chains a T may be probable without having been
    drawn; then it is not chosen."""
    drawn = {number for chain in chains for number in chain.drawn_by_topics}
    number = max(drawn, key=lambda one: found.posterior[one])
    with_it = [chain for chain in chains if number in chain.drawn_by_topics]
    return number, max(with_it, key=lambda chain: found.by_chain[chain.number].get(number, 0.0))
