"""`topics`: the posterior of the number of topics, by pseudo-marginal Metropolis-Hastings [Chen & Doss]."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pandas as pd

from bayestopics.base.code import code_hash
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.annealed import RUNS, STEPS, Annealed
from bayestopics.evidence.pmmh import TopicPosterior, Walk, pmmh
from bayestopics.evidence.pseudo_marginal import SWEEPS, Inner
from bayestopics.evidence.recipe import Recipe
from bayestopics.evidence.topic_law import BATCHES, TopicLaw, law
from bayestopics.lda import SAMPLERS
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe

REACH = {"gibbs": 1, "annealed": 50}  # of proposals, by default; 1 as in the paper


def recipe(estimate: str, inner: int | None, runs: int | None, sampler: str, z_start: str) -> Recipe:
    """How estimates are made. The sampler and the start are for the estimate gibbs, several runs for annealed."""
    if estimate == "gibbs":
        if runs is not None:
            raise InputError("runs are for the estimate annealed; gibbs makes one run for each estimate")
        return Inner(SWEEPS if inner is None else inner, sampler, z_start)
    if estimate == "annealed":
        return Annealed(STEPS if inner is None else inner, RUNS if runs is None else runs)
    raise InputError(f"unknown estimate {estimate!r}; choose from gibbs, annealed")


def task_of(corpus: Corpus, prior: Prior, walk: Walk, inner: Recipe, seed: int) -> Task:
    params = {
        "topics": asdict(walk.topics),
        "alpha": prior.alpha,
        "eta": prior.eta,
        "starts": list(walk.starts),
        "iterations": walk.iterations,
        "burn_in": walk.burn_in,
        "reach": walk.reach,
        **inner.settings(),
    }
    sampler = SAMPLERS.get(params.get("sampler", ""))  # none for annealed estimates, and for draws from the prior
    code = code_hash(__name__, *([sampler.module] if sampler else []))
    return Task("topics", OWN, "pmmh", params, seed, **describe(corpus), code=code)


def compute(
    task: Task, corpus: Corpus, checkpoint: Checkpoint, *, walk: Walk, inner: Recipe, workers: int = 1
) -> Result:
    """Run the chains. Tables: `trace`, one row per step and chain, with the burn-in; `posterior`, each T with its share
    of the kept steps."""
    prior = Prior(task.params["alpha"], task.params["eta"])
    found = pmmh(corpus, prior, walk, inner, seed=task.seed, workers=workers, checkpoint=checkpoint)
    steps = found.trace[found.trace["step"] >= walk.burn_in]
    known = law(_batches(steps, walk))
    numbers = {**_numbers(found), "chains": _chains(steps, known, walk)}
    posterior = pd.DataFrame(sorted(found.posterior.items()), columns=["topics", "probability"])
    return Result(
        task,
        {key: value for key, value in numbers.items() if isinstance(value, int | float)},
        found.warnings,
        tables={
            "trace": found.trace,
            "posterior": posterior.assign(standard_error=posterior["topics"].map(known.standard_error)),
        },
        arrays={"fresh_log_estimates": found.fresh_log_estimates},
        answer=numbers,
        volatile=found.volatile,
    )


def _batches(steps: pd.DataFrame, walk: Walk) -> pd.DataFrame:
    """How many steps of each batch are at each T."""
    batch = (steps["step"] - walk.burn_in) * BATCHES // walk.iterations
    counts = steps.assign(batch=batch).groupby(["chain", "batch", "topics"]).size()
    return counts.rename("weight").reset_index()


def _chains(steps: pd.DataFrame, known: TopicLaw, walk: Walk) -> list[dict[str, Any]]:
    """Each chain's own answer."""
    accepted = steps.groupby("chain")["accepted"].mean()
    return [
        {
            "start": start,
            "mean": sum(t * one for t, one in share.items()),
            "mode": max(share, key=share.__getitem__),
            "acceptance_rate": float(accepted[number]),
        }
        for number, (start, share) in enumerate(zip(walk.starts, known.by_chain, strict=True))
    ]


def _numbers(found: TopicPosterior) -> dict[str, Any]:
    keys = ("mode", "acceptance_rate", "longest_stay", "log_estimate_sd", "rhat", "total_variation")
    return {key: getattr(found, key) for key in keys}
