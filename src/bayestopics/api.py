"""The Python functions of the project: one for each command, each with its own kind of result.

These mean the same in all of them:

- `seed` determines all random numbers: the same seed gives the same result.
- With `workers` > 1, several processes share the work; the result does not change. A script then needs the usual
  ``if __name__ == "__main__":``, because each process imports it.
- Within ``with bayestopics.using_cluster("tcp://..."):``, a Dask cluster takes the place of the processes.
- With `out`, the result is kept in that folder as a record. If the folder already holds the same run, the record is
  read instead of computed again.
- With `overwrite`, the run is computed again, and replaces the one in `out`, even if it is a different run.

A run that was interrupted continues where it stopped when the same function is called again with the same arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior
from bayestopics.runs import driver
from bayestopics.runs.fit_result import FitResult
from bayestopics.runs.infer_result import InferResult
from bayestopics.runs.kinds import (
    EvidenceResult,
    HdpResult,
    HyperResult,
    TopicPosteriorResult,
)
from bayestopics.runs.result import Compute, Result
from bayestopics.runs.score_result import ScoreResult
from bayestopics.runs.select_result import SelectResult
from bayestopics.runs.task import Task
from bayestopics.runs.topics_result import TopicsResult

Folder = Path | str | None
Kind = TypeVar("Kind", bound=Result)


def fit(
    corpus: Corpus,
    topics: int = 10,
    prior: Prior | None = None,
    *,
    sampler: str = "single-site",
    sweeps: int = 500,
    burn_in: int = 500,
    chains: int = 4,
    start: str = "random",
    seed: int = 0,
    workers: int = 1,
    threads: int | None = None,
    out: Folder = None,
    overwrite: bool = False,
) -> FitResult:
    """Find the topics of a corpus by sampling from LDA with a fixed number of topics.

    Parameters
    ----------
    corpus : Corpus
    topics : int
        The number of topics T.
    prior : Prior, optional
        The Dirichlet parameters alpha and eta. By default, ``Prior()``.
    sampler : str
        The name of a sampler in `bayestopics.lda.SAMPLERS`.
    sweeps, burn_in : int
        The number of sweeps to keep from each chain, and the number to drop before them. A sweep updates the topic of
        every token once.
    chains : int
        The number of independent chains, each from a random start. With two or more, R-hat shows whether they agree,
        and each topic says in how many of them it was found.
    start : str
        Where each chain starts: ``"random"``, with a random topic for each token, or ``"progressive"``, with each token
        drawn given those before it, which shortens the burn-in.
    threads : int, optional
        The number of threads of each chain, for samplers that are parallel. By default, the chains that run at the same
        time share all cores. The result does not change.
    seed, workers, out, overwrite
        See `bayestopics.api`.

    Returns
    -------
    FitResult
        The log joint probability of every kept sweep; the topics of the chain with the highest mean log joint, as
        means over its draws; and, for each of these topics, how well the other chains reproduce it.

    Examples
    --------
    >>> from bayestopics import fit, simulate
    >>> corpus = simulate(documents=30, length=40, terms=20, topics=3, seed=1)
    >>> result = fit(corpus, topics=3, sweeps=50, burn_in=50, chains=2)
    >>> result.log_joint.shape
    (2, 50)
    >>> result.topic_terms().columns.tolist()
    ['topic', 'term', 'probability', 'standard_deviation']
    >>> result.document_topics().columns.tolist()
    ['document', 'tokens', 'topic_0', 'topic_1', 'topic_2']
    >>> [topic["chains"] for topic in result.summary()["topics"]]
    [2, 2, 2]
    """
    from bayestopics.runs import fit as run

    task = run.task_of(corpus, topics, prior or Prior(), sampler, sweeps, burn_in, chains, seed, start)
    return _run(FitResult, task, partial(run.compute, threads=threads), corpus, workers, out, overwrite)


def infer(
    corpus: Corpus,
    fit: TopicsResult | Path | str,
    *,
    sweeps: int = 12,
    burn_in: int = 10,
    seed: int = 0,
    workers: int = 1,
    out: Folder = None,
    overwrite: bool = False,
) -> InferResult:
    """Find the topics of new documents, given the topics of a fit.

    Parameters
    ----------
    corpus : Corpus
        The new documents. Terms are recognised by name; those that the fit does not know are left out and counted.
    fit : FitResult, SelectResult, or folder
        The result of `fit` or `select`, or the folder of its record.
    sweeps, burn_in : int
        The number of sweeps over each document to keep for each of ten draws of the topics, and the number to drop
        before the first of them (before the others, a fifth of it).
    workers : int
        The number of threads that share the documents.
    seed, out, overwrite
        See `bayestopics.api`.

    Returns
    -------
    InferResult
        `document_topics()` is a table with one row per document. The row of a document depends neither on the number of
        threads nor on the other documents.

    Examples
    --------
    >>> from bayestopics import fit, infer, simulate
    >>> corpus = simulate(documents=40, length=60, terms=20, topics=2, seed=1)
    >>> found = fit(corpus, topics=2, sweeps=50, burn_in=50, chains=2)
    >>> infer(simulate(documents=3, length=60, terms=20, topics=2, seed=2), found).document_topics().columns.tolist()
    ['document', 'tokens', 'unknown', 'topic_0', 'topic_1']
    """
    from bayestopics.runs import infer as run

    known = fit if isinstance(fit, TopicsResult) else TopicsResult.load(fit)
    task = run.task_of(corpus, known, sweeps, burn_in, seed)
    return _run(InferResult, task, partial(run.compute, fit=known), corpus, workers, out, overwrite)


def evidence(
    corpus: Corpus,
    topics: Iterable[int] | int = (1, 2, 3, 4, 5, 6),
    prior: Prior | None = None,
    *,
    method: str = "annealing",
    path: str = "reference",
    sweeps: int = 2000,
    passes: int = 4,
    repeats: int = 4,
    start: np.ndarray | Folder = None,
    seed: int = 0,
    workers: int = 1,
    out: Folder = None,
    overwrite: bool = False,
) -> EvidenceResult:
    """Estimate the evidence of each number of topics T, with its error.

    The evidence m(T) = p(w | T, alpha, eta) is the probability of the whole corpus given T topics. The result is its
    log, in nats: a difference of 1 nat is a factor of 2.7 in probability.

    Parameters
    ----------
    corpus : Corpus
    topics : ints, or one int
        The numbers of topics to compare.
    prior : Prior, optional
        The Dirichlet parameters alpha and eta. By default, ``Prior()``.
    method : str
        ``"annealing"`` is the method to trust; ``"pseudo-marginal"``, ``"chib"``, ``"chib-independent"``,
        ``"harmonic-z"`` and ``"harmonic-psi"`` are there for comparison.
    path : str
        Where annealing starts: ``"reference"``, a distribution fitted to the corpus; or the prior, with ``"ais"``,
        ``"smc"`` or ``"replica-exchange"``. ``"both-ways"`` goes from the reference to the posterior and back, for
        corpora where one way lags behind; its value is that of the topics that were found alone. It and
        ``"replica-exchange"`` are biased.
    sweeps : int
        The length of one run; see `bayestopics.evidence.compute.evidence`.
    passes : int
        With the paths from a reference, how often each run goes through all T to find good topics before it anneals.
    repeats : int
        The number of independent runs for each T. Their scatter gives the standard error.
    start : int array of chains x tokens, or folder, optional
        With the paths from a reference: assignments from which the search for good topics begins, such as
        ``topic_posterior(...).arrays["assignments"]``, or the folder of such a record. The runs take the rows in turn.
        Without it, topics are found by annealing.
    seed, workers, out, overwrite
        See `bayestopics.api`.

    Returns
    -------
    EvidenceResult

    Examples
    --------
    >>> from bayestopics import evidence, simulate
    >>> corpus = simulate(documents=20, length=20, terms=12, topics=2, seed=1)
    >>> result = evidence(corpus, topics=[1, 2, 3], sweeps=50, repeats=2)
    >>> result.tables["evidence"].columns.tolist()
    ['topics', 'log_evidence', 'standard_error']
    """
    from bayestopics.runs import evidence as run

    numbers = _numbers(topics)
    work = {"method": method, "path": path, "sweeps": sweeps, "passes": passes, "repeats": repeats}
    first = run.found_by(Path(start), corpus) if isinstance(start, Path | str) else start
    task = run.task_of(corpus, numbers, prior or Prior(), seed, first, **work)
    return _run(EvidenceResult, task, partial(run.compute, start=first), corpus, workers, out, overwrite)


def topic_posterior(
    corpus: Corpus,
    prior: Prior | None = None,
    *,
    method: str = "jump",
    topic_prior: TopicPrior | None = None,
    starts: Sequence[int] | None = None,
    iterations: int | None = None,
    burn_in: int | None = None,
    hyper: str = "fixed",
    estimate: str = "gibbs",
    inner: int | None = None,
    runs: int | None = None,
    reach: int | None = None,
    sampler: str = "single-site",
    z_start: str = "uniform",
    seed: int = 0,
    workers: int = 1,
    out: Folder = None,
    overwrite: bool = False,
) -> TopicPosteriorResult:
    """Estimate the posterior of the number of topics T.

    The diagnostics and warnings of the result say whether it can be trusted.

    Parameters
    ----------
    corpus : Corpus
    prior : Prior, optional
        The Dirichlet parameters. Its alpha must be one number, because the number of topics changes.
    method : str
        ``"jump"``, chains over T and the assignments together, in which topics are born, die, split and merge; or
        ``"pmmh"``, pseudo-marginal Metropolis-Hastings [Chen & Doss].
    topic_prior : TopicPrior, optional
        The prior of T. By default it is uniform from 1 to 100.
    starts : sequence of int, optional
        The numbers of topics at which chains start, one chain for each. By default 1, 30 and 60 (jump) or 5 and 30
        (pmmh), or the nearest values in the range.
    iterations, burn_in : int, optional
        The number of iterations to keep from each chain, by default 5000 (jump) or 1000 (pmmh), and the number to drop
        before them, by default 5000 or 200.
    hyper : str
        For jump: ``"fixed"``, alpha and eta are those of the prior; or ``"sampled"``, they start there and are sampled
        together with T, under a prior that is uniform in log alpha and log eta from 0.0001 to 10,000.
    estimate : str
        For pmmh: how the evidence m(T) is estimated: ``"gibbs"``, by the sweeps of a sampler as in the paper, or
        ``"annealed"``, by annealing from a fitted reference, which takes longer but scatters by a few nats only.
    inner : int, optional
        The number of sweeps for each estimate, by default 50, or of annealing steps for each run, by default 1000. More
        give less noise.
    runs : int, optional
        For annealed estimates: the number of annealing runs whose mean is one estimate, by default 4.
    reach : int, optional
        For pmmh: the largest distance between T and a proposal; a proposal k away has a weight of 1 / k^2. By default 1
        (gibbs), as in the paper, or 50 (annealed).
    sampler : str
        The sampler that makes the estimates ``"gibbs"``, or ``"prior"`` for draws from the prior instead.
    z_start : str
        Where such an estimate starts: ``"uniform"``, with random topics, or ``"pilot"``, at the end of one pilot run
        for each T.
    seed, workers, out, overwrite
        See `bayestopics.api`.

    Returns
    -------
    TopicPosteriorResult

    Examples
    --------
    >>> from bayestopics import TopicPrior, simulate, topic_posterior
    >>> corpus = simulate(documents=10, length=8, terms=6, topics=2, seed=1)
    >>> result = topic_posterior(corpus, topic_prior=TopicPrior(1, 5), iterations=100, burn_in=50)
    >>> round(sum(result.posterior.values()), 9)
    1.0
    """
    from bayestopics.evidence import WALKS
    from bayestopics.evidence.pmmh import Walk
    from bayestopics.runs import jump
    from bayestopics.runs import topic_posterior as pmmh

    if method not in WALKS:
        raise InputError(f"unknown method {method!r}; choose from {', '.join(WALKS)}")
    how, over = WALKS[method], topic_prior or TopicPrior(1, 100)
    first = within(how.starts, over.low, over.high) if starts is None else starts
    kept, dropped = (how.iterations if iterations is None else iterations), how.burn_in if burn_in is None else burn_in
    walk = Walk(over, tuple(first), kept, dropped)
    compute: Compute
    if method == "jump":
        others = {"estimate": (estimate, "gibbs"), "sampler": (sampler, "single-site"), "z_start": (z_start, "uniform")}
        for name, (value, default) in {
            **others,
            "inner": (inner, None),
            "runs": (runs, None),
            "reach": (reach, None),
        }.items():
            if value != default:
                raise InputError(f"{name} {value!r} is for the method pmmh; jump has no such choice")
        task, compute = jump.task_of(corpus, prior or Prior(), walk, seed, hyper), partial(jump.compute, walk=walk)
    else:
        if hyper != "fixed":
            raise InputError(f"hyper {hyper!r} is for the method jump; pmmh needs a fixed alpha and eta")
        recipe = pmmh.recipe(estimate, inner, runs, sampler, z_start)
        walk = replace(walk, reach=pmmh.REACH[estimate] if reach is None else reach)
        task = pmmh.task_of(corpus, prior or Prior(), walk, recipe, seed)
        compute = partial(pmmh.compute, walk=walk, inner=recipe)
    return _run(TopicPosteriorResult, task, compute, corpus, workers, out, overwrite)


def within(starts: Sequence[int], low: int, high: int | None) -> list[int]:
    """These starts, each moved up or down into the range; if only one is left, both ends of the range, or its lower
    end and 25 more."""
    moved = [max(start, low) if high is None else min(max(start, low), high) for start in starts]
    different = list(dict.fromkeys(moved))
    return different if len(different) > 1 else [low, low + 25 if high is None else high]


def hyper(
    corpus: Corpus,
    topics: int = 10,
    *,
    method: str | None = None,
    asymmetric: bool = False,
    alpha_range: tuple[float, float] | None = None,
    eta_range: tuple[float, float] | None = None,
    grid: tuple[int, int] | None = None,
    sweeps: int | None = None,
    search: str = "pilot",
    chains: int = 8,
    precision: float | None = None,
    integrate: bool = False,
    sampler: str = "single-site",
    seed: int = 0,
    workers: int = 1,
    out: Folder = None,
    overwrite: bool = False,
) -> HyperResult:
    """Find the hyperparameters alpha and eta that make the corpus most probable.

    The result contains their Monte Carlo error, and the uncertainty about alpha and eta given the corpus.

    Parameters
    ----------
    corpus : Corpus
    topics : int
        The number of topics T.
    method : str, optional
        ``"score"``, the default, and ``"tempering"`` are the methods to trust; ``"gibbs-em"``, ``"variational-em"`` and
        ``"full-bayes"`` are there for comparison. With an argument that only tempering knows (``grid``, ``search`` or
        ``integrate``), tempering is the default.
    asymmetric : bool
        For score chains: find an alpha for each topic. The answer's ``alpha`` is then a list from large to small, with
        ``standard_error``, ``region`` and ``top_words`` in the same order, and ``gain`` is how much larger log m is
        than with the best single alpha (``symmetric``). ``Prior(tuple(alpha), eta)`` takes such a list.
    alpha_range, eta_range : pair of float, optional
        The ranges to search, for score chains, tempering and full Bayes. By default, 0.0001 to 10,000.
    grid : pair of int, optional
        The number of grid points for alpha and for eta, for tempering. By default, as many as the corpus needs.
    sweeps : int, optional
        The number of sweeps to keep (by default 10,000 for tempering and full Bayes, 2,000 for score chains, and 200 in
        each step of Gibbs-EM), or the largest number of passes of variational EM (by default 500).
    search : str
        Where the search of tempering starts: ``"pilot"``, at alpha = eta = 0.5, or ``"iterative-grid"``, at the result
        of the paper's scheme on part of the documents.
    chains : int
        The number of independent chains of tempering and of score chains. A single chain may stay in one mode and miss
        the others.
    precision : float, optional
        Run longer chains of tempering, or longer score chains, until the Monte Carlo deviation of alpha and eta is at
        most this part of their own uncertainty. By default, they stop after ``sweeps``.
    integrate : bool
        Check the surface of tempering by integrating the derivative of the log marginal likelihood along alpha and
        along eta, with chains from both ends. The table ``integration`` has the result.
    sampler : str
        The name of a sampler in `bayestopics.lda.SAMPLERS`.
    seed, workers, out, overwrite
        See `bayestopics.api`.

    Returns
    -------
    HyperResult

    Examples
    --------
    >>> from bayestopics import hyper, simulate
    >>> corpus = simulate(documents=12, length=20, terms=8, topics=2, seed=1)
    >>> result = hyper(corpus, topics=2, method="gibbs-em", sweeps=20)
    >>> sorted(result.metrics)
    ['alpha', 'eta']
    """
    from bayestopics.runs import hyper as run

    if method is None:
        method = "score" if grid is None and search == "pilot" and not integrate else "tempering"
    ranges = {"alphas": alpha_range, "etas": eta_range, "shape": grid}
    how: dict[str, Any] = {**ranges, "search": search, "chains": chains, "precision": precision, "integrate": integrate}
    how["asymmetric"] = asymmetric
    task = run.task_of(corpus, topics, method=method, sweeps=sweeps, seed=seed, sampler=sampler, **how)
    return _run(HyperResult, task, run.compute, corpus, workers, out, overwrite)


def select(
    corpus: Corpus,
    topics: TopicPrior | Sequence[int] | None = None,
    *,
    chains: int = 4,
    iterations: int | None = None,
    burn_in: int | None = None,
    budget: float | None = None,
    seed: int = 0,
    workers: int = 1,
    out: Folder = None,
    overwrite: bool = False,
) -> SelectResult:
    """Choose the number of topics T, alpha and eta together, with their uncertainty.

    A first answer comes in seconds; then chains over T, the topics, alpha and eta give the posterior with its error.

    Parameters
    ----------
    corpus : Corpus
    topics : TopicPrior or range, optional
        The prior of T, or a range on which it is uniform, such as ``range(2, 13)``. By default it is uniform from 1 to
        the square root of the number of tokens.
    chains : int
        The number of chains. They start from the first answer, from 1, from twice the first answer and from half of it.
    iterations, burn_in : int, optional
        The number of iterations to keep from each chain, by default according to the size of the corpus, and the number
        to drop before them, by default as many.
    budget : float, optional
        Instead of `iterations`: about how many seconds the chains may take with this number of workers. The length of
        the chains follows from the size of the corpus, not from the speed of the machine.
    seed, workers, out, overwrite
        See `bayestopics.api`.

    Returns
    -------
    SelectResult

    Examples
    --------
    >>> from bayestopics import select, simulate
    >>> corpus = simulate(documents=12, length=20, terms=8, topics=2, seed=1)
    >>> result = select(corpus, range(1, 6), chains=2, iterations=60)
    >>> round(sum(result.posterior.values()), 9)
    1.0
    """
    from bayestopics.runs import select as run

    prior = run.default_prior(corpus) if topics is None else topics
    if not isinstance(prior, TopicPrior):
        numbers = sorted(set(prior))
        if not numbers or numbers != list(range(numbers[0], numbers[-1] + 1)):
            raise InputError(f"the numbers of topics must be a range without gaps, not {list(prior)}")
        prior = TopicPrior(numbers[0], numbers[-1])
    if budget is not None and iterations is not None:
        raise InputError("give either a budget or a number of iterations")
    if budget is not None:
        if not 0 < budget < math.inf:
            raise InputError(f"a budget of {budget} seconds is not positive and finite")
        iterations = run.iterations_within(corpus, budget, chains, workers)
    kept = run.default_iterations(corpus) if iterations is None else iterations
    task = run.task_of(corpus, prior, seed, chains=chains, iterations=kept, burn_in=burn_in)
    return _run(SelectResult, task, run.compute, corpus, workers, out, overwrite)


def hdp(
    corpus: Corpus,
    *,
    chains: int = 1,
    seed: int = 0,
    workers: int = 1,
    out: Folder = None,
    overwrite: bool = False,
    **settings: Any,
) -> HdpResult:
    """Let the model find the number of topics: an HDP topic model, or a DP mixture of documents.

    HDP stands for hierarchical Dirichlet process, DP for Dirichlet process.

    Parameters
    ----------
    corpus : Corpus
    chains : int
        The number of independent chains. Samplers start them with 1, 20, 5, 60, 1, ... topics; variational methods run
        one stream for each, with different seeds.
    seed, workers, out, overwrite
        See `bayestopics.api`.
    **settings
        The fields of `bayestopics.nonparametric.compute.HdpSettings`: model (``"hdp"`` or ``"dp-mixture"``), method
        (``"gibbs"``, ``"split-merge"``, ``"truncation-free"`` or ``"truncated"``), eta, gamma, concentration, sweeps,
        burn_in, heldout and more.

    Returns
    -------
    HdpResult
        `posterior` gives, for each number of topics K, its share of the kept sweeps of all chains. For a variational
        method it is the share of the streams that end with K components in use, that is, components that hold a
        document (DP mixture) or a token (HDP).

        ``heldout_per_word`` in the summary is sum_d log p(x_d) / tokens over the held-out documents, which are
        predicted one by one. What p is depends on the model and the method:

        - DP mixture: p is E_q[p(x)], exactly (`dp_mixture.collapsed`);
        - HDP, variational: p is an unbiased left-to-right estimate, with 60 particles, of p(x) at the means of pi and
          theta (`hdp_held_out.left_to_right`); with several streams, the result is their mean;
        - HDP, sampled: p is the mean, over 20 states per chain, of unbiased estimates of p(x | z, beta), with 60
          particles in all (`hdp_held_out.left_to_right_of_states`).

        The log of an unbiased estimate is too low on average, and more so if ``heldout_standard_error`` is large.

    Examples
    --------
    >>> from bayestopics import hdp, simulate
    >>> corpus = simulate(documents=20, length=20, terms=12, topics=2, seed=1)
    >>> result = hdp(corpus, method="split-merge", sweeps=50, burn_in=20)
    >>> round(sum(result.posterior.values()), 9)
    1.0
    """
    from bayestopics.nonparametric.compute import HdpSettings
    from bayestopics.runs import hdp as run

    try:
        checked = HdpSettings(**settings)
    except TypeError as error:  # an argument that is not one of its fields
        raise InputError(str(error).replace("HdpSettings.__init__()", "hdp")) from None
    task = run.task_of(corpus, checked, chains, seed)
    return _run(HdpResult, task, partial(run.compute, settings=checked), corpus, workers, out, overwrite)


def score(
    corpus: Corpus,
    topics: Iterable[int] | int = 10,
    prior: Prior | None = None,
    *,
    method: str = "completion",
    sampler: str = "single-site",
    sweeps: int = 200,
    burn_in: int = 200,
    heldout: float = 0.1,
    documents: int | Sequence[int] | None = None,
    thin: int = 5,
    estimator: str = "bridge",
    chains: int = 16,
    forget: int = 20,
    steps: int = 200,
    tolerance: float = 0.5,
    particles: int = 10,
    beta: str = "integrated",
    warm_up: int = 0,
    seed: int = 0,
    workers: int = 1,
    out: Folder = None,
    overwrite: bool = False,
) -> ScoreResult:
    """Measure how well a model predicts held-out words or documents, with the Monte Carlo error.

    Parameters
    ----------
    corpus : Corpus
    topics : int, or ints
        The number of topics T; with several, each is scored on the same held-out words or documents.
    prior : Prior, optional
        The Dirichlet parameters alpha and eta. By default, ``Prior()``.
    method : str
        ``"completion"`` gives the mean log probability of a held-out word, given the rest of its document;
        ``"leave-one-out"`` gives the mean log probability of a document, given all the others.
    sampler : str
        The name of a sampler in `bayestopics.lda.SAMPLERS`.
    sweeps, burn_in : int
        The number of sweeps to keep from each chain, and the number to drop before them.
    heldout : float
        For completion: half of the words of this last share of the documents are held out.
    documents : int or sequence of int, optional
        For leave-one-out: how many documents to leave out, evenly spaced, or their numbers. By default, all.
    estimator : str
        For leave-one-out: ``"bridge"`` combines draws with and without the document; ``"left-to-right"`` needs only
        draws without it, but is too low if few of them carry the weight.
    thin, chains, forget, steps, tolerance, particles, beta, warm_up
        For leave-one-out; see `bayestopics.predict.leave_one_out.score`.
    seed, workers, out, overwrite
        See `bayestopics.api`.

    Returns
    -------
    ScoreResult

    Examples
    --------
    >>> from bayestopics import score, simulate
    >>> corpus = simulate(documents=20, length=20, terms=12, topics=2, seed=1)
    >>> result = score(corpus, topics=2, sweeps=20, burn_in=20)
    >>> result.metrics["perplexity"] > 1
    True
    >>> score(corpus, topics=[1, 2, 3], sweeps=20, burn_in=20).tables["scores"]["topics"].tolist()
    [1, 2, 3]
    """
    from bayestopics.runs import score as run

    options: dict[str, Any] = {"estimator": estimator, "particles": particles, "beta": beta, "warm_up": warm_up}
    options |= {"heldout": heldout, "documents": documents, "thin": thin, "sweeps": sweeps, "burn_in": burn_in}
    options |= {"chains": chains, "forget": forget, "steps": steps, "tolerance": tolerance}
    numbers = _numbers(topics)
    task = run.task_of(corpus, numbers, prior or Prior(), method=method, sampler=sampler, seed=seed, **options)
    return _run(ScoreResult, task, run.compute, corpus, workers, out, overwrite)


def simulate(
    *,
    documents: int = 100,
    length: int = 100,
    terms: int = 100,
    topics: int = 10,
    alpha: float | tuple[float, ...] = 0.1,
    eta: float = 0.1,
    poisson: bool = False,
    seed: int = 0,
) -> Corpus:
    """Simulate a corpus from latent Dirichlet allocation (LDA).

    Parameters
    ----------
    documents, length, terms, topics : int
        The number of documents, of tokens per document, of terms in the vocabulary, and of topics.
    alpha, eta : float
        The Dirichlet parameters; alpha may also be a tuple with one number per topic.
    poisson : bool
        Whether the length of each document is drawn from a Poisson distribution with mean `length`.
    seed : int
        The seed of the random numbers.

    Returns
    -------
    Corpus

    Examples
    --------
    >>> from bayestopics import simulate
    >>> simulate(documents=5, length=10, terms=4, topics=2).token_count
    50
    """
    law = {"documents": documents, "length": length, "terms": terms, "topics": topics, "alpha": alpha, "eta": eta}
    return simulate_lda(**law, poisson=poisson, rng=generator(seed, "simulate")).corpus  # type: ignore[arg-type]


def _numbers(topics: Iterable[int] | int) -> list[int]:
    """The numbers of topics, each once."""
    given: Any = [topics] if isinstance(topics, Integral) else topics
    return list(dict.fromkeys(int(number) for number in given))


def _run(
    kind: type[Kind], task: Task, compute: Compute, corpus: Corpus, workers: int, out: Folder, overwrite: bool
) -> Kind:
    if workers < 1:
        raise InputError(f"at least 1 worker is needed, not {workers} workers")
    place = None if out is None else Path(out)
    result = driver.run(task, partial(compute, workers=workers), corpus, out=place, overwrite=overwrite)
    assert isinstance(result, kind)
    return result
