"""The Python functions of the project: one for each command, each with a result of its own kind.

Randomness comes from one number, `seed`. With `workers` > 1 several processes share the work, with the same results; a
script then needs the usual ``if __name__ == "__main__":``, because each process imports it. With `out` a record is kept
in that folder: a run that was killed goes on where it was, and a finished one is read back instead of computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior
from bayestopics.runs import driver
from bayestopics.runs.kinds import (
    EvidenceResult,
    FitResult,
    HdpResult,
    HyperResult,
    ScoreResult,
    SelectResult,
    TopicPosteriorResult,
)
from bayestopics.runs.result import Compute, Result
from bayestopics.runs.task import Task

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
    chains: int = 1,
    seed: int = 0,
    workers: int = 1,
    out: Folder = None,
    overwrite: bool = False,
) -> FitResult:
    """Run a sampler of LDA: the log joint of every kept sweep, and the topics.

    Parameters
    ----------
    corpus : Corpus
    topics : int
        The number of topics T.
    prior : Prior, optional
        The Dirichlet parameters alpha and eta.
    sampler : str
        One of `bayestopics.lda.SAMPLERS`.
    sweeps, burn_in : int
        Sweeps to keep from each chain, and sweeps to drop before them.
    chains : int
        Independent chains, each from a random start. With two or more, R-hat says whether they agree.
    seed, workers, out, overwrite
        See `bayestopics.api`.

    Returns
    -------
    FitResult
        Topics have no labels in common between chains, nor is there a mean over sweeps: the topics are those of chain
        0 after its last sweep.

    Examples
    --------
    >>> from bayestopics import fit, simulate
    >>> corpus = simulate(documents=30, length=40, terms=20, topics=3, seed=1)
    >>> result = fit(corpus, topics=3, sweeps=50, burn_in=50, chains=2)
    >>> result.log_joint.shape
    (2, 50)
    >>> result.tables["topics"].columns.tolist()
    ['topic', 'term', 'probability']
    """
    from bayestopics.runs import fit as run

    task = run.task_of(corpus, topics, prior or Prior(), sampler, sweeps, burn_in, chains, seed)
    return _run(FitResult, task, run.compute, corpus, workers, out, overwrite)


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
    seed: int = 0,
    workers: int = 1,
    out: Folder = None,
    overwrite: bool = False,
) -> EvidenceResult:
    """log m(T) = log p(w | T, alpha, eta), the evidence for each number of topics, with its error.

    Parameters
    ----------
    corpus : Corpus
    topics : ints, or one int
        The numbers of topics.
    prior : Prior, optional
    method : str
        ``"annealing"`` is the one to trust; ``"pseudo-marginal"``, ``"chib"``, ``"harmonic-z"`` and
        ``"harmonic-psi"`` are there to be compared with.
    path : str
        Of annealing: ``"reference"``, ``"ais"``, ``"replica-exchange"`` or ``"smc"``.
    sweeps, passes, repeats : int
        The length of one repeat, the passes over all T in search of good topics, and the independent repeats. See
        `bayestopics.evidence.compute.evidence`.
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

    given = [topics] if isinstance(topics, Integral) else topics
    numbers = list(dict.fromkeys(int(number) for number in given))  # type: ignore[union-attr]
    work = {"method": method, "path": path, "sweeps": sweeps, "passes": passes, "repeats": repeats}
    task = run.task_of(corpus, numbers, prior or Prior(), seed, **work)
    return _run(EvidenceResult, task, run.compute, corpus, workers, out, overwrite)


def topic_posterior(
    corpus: Corpus,
    prior: Prior | None = None,
    *,
    topic_prior: TopicPrior | None = None,
    starts: Sequence[int] | None = None,
    inner: int = 50,
    iterations: int = 1000,
    burn_in: int = 200,
    sampler: str = "single-site",
    z_start: str = "uniform",
    seed: int = 0,
    workers: int = 1,
    out: Folder = None,
    overwrite: bool = False,
) -> TopicPosteriorResult:
    """The posterior of the number of topics, by pseudo-marginal Metropolis-Hastings, and whether to believe it.

    Parameters
    ----------
    corpus : Corpus
    prior : Prior, optional
        Its alpha is one number, since the number of topics changes.
    topic_prior : TopicPrior, optional
        The prior of T; uniform from 1 to 100 if it is not given.
    starts : sequence of int, optional
        One chain starts at each: 5 and 30, or two others that are in the range.
    inner : int
        Sweeps of the sampler for one estimate of m(T).
    iterations, burn_in : int
        Steps to keep from each chain, and steps to drop before them.
    sampler : str
        The sampler of the estimates, or ``"prior"`` for draws of the prior in its place.
    z_start : str
        Where an estimate starts: ``"uniform"``, or ``"pilot"``, the end of one pilot run for each T.
    seed, workers, out, overwrite
        See `bayestopics.api`.

    Returns
    -------
    TopicPosteriorResult

    Examples
    --------
    >>> from bayestopics import TopicPrior, simulate, topic_posterior
    >>> corpus = simulate(documents=10, length=8, terms=6, topics=2, seed=1)
    >>> result = topic_posterior(corpus, topic_prior=TopicPrior(1, 5), iterations=50, burn_in=10, inner=5)
    >>> round(sum(result.posterior.values()), 9)
    1.0
    """
    from bayestopics.evidence.pmmh import Walk
    from bayestopics.evidence.pseudo_marginal import Inner
    from bayestopics.runs import topic_posterior as run

    over = topic_prior or TopicPrior(1, 100)
    first = default_starts(over.low, over.high) if starts is None else starts
    walk, estimate = Walk(over, tuple(first), iterations, burn_in), Inner(inner, sampler, z_start)
    task = run.task_of(corpus, prior or Prior(), walk, estimate, seed)
    compute = partial(run.compute, walk=walk, inner=estimate)
    return _run(TopicPosteriorResult, task, compute, corpus, workers, out, overwrite)


def default_starts(low: int, high: int | None) -> list[int]:
    """5 and 30, or two others that are in the range."""
    few, many = max(5, low), max(30, low + 25)
    if high is None or few < high:
        return [few, many if high is None else min(many, high)]
    return [low, high]


def hyper(
    corpus: Corpus,
    topics: int = 10,
    *,
    method: str = "tempering",
    alpha_range: tuple[float, float] | None = None,
    eta_range: tuple[float, float] | None = None,
    grid: tuple[int, int] | None = None,
    sweeps: int | None = None,
    search: str = "pilot",
    chains: int = 4,
    sampler: str = "single-site",
    seed: int = 0,
    workers: int = 1,
    out: Folder = None,
    overwrite: bool = False,
) -> HyperResult:
    """The alpha and eta of largest marginal likelihood, with their Monte Carlo error and their own uncertainty.

    Parameters
    ----------
    corpus : Corpus
    topics : int
        The number of topics T.
    method : str
        ``"tempering"`` is the one to trust; ``"gibbs-em"``, ``"variational-em"`` and ``"full-bayes"`` are there to be
        compared with.
    alpha_range, eta_range : pair of float, optional
        Where to look; without them, anywhere.
    grid : pair of int, optional
        Points of the grid, alpha by eta; without it, as many as the corpus needs.
    sweeps : int, optional
        Kept sweeps of the last run (10,000), of a step of Gibbs-EM (200), or passes of variational EM (500).
    search : str
        Where tempering's search starts: ``"pilot"``, at (0.5, 0.5), or ``"iterative-grid"``, where the paper's scheme
        on few documents ends.
    chains : int
        Independent chains of tempering. One chain cannot see other modes.
    sampler : str
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

    how = {"alphas": alpha_range, "etas": eta_range, "shape": grid, "search": search, "chains": chains}
    task = run.task_of(corpus, topics, method=method, sweeps=sweeps, seed=seed, sampler=sampler, **how)
    return _run(HyperResult, task, run.compute, corpus, workers, out, overwrite)


def select(
    corpus: Corpus,
    topics: Sequence[int] = tuple(range(2, 13)),
    *,
    sweeps: int = 2000,
    steps: int = 2000,
    repeats: int = 4,
    chains: int = 4,
    seed: int = 0,
    workers: int = 1,
    out: Folder = None,
    overwrite: bool = False,
) -> SelectResult:
    """The number of topics, alpha and eta together, with their uncertainty.

    Parameters
    ----------
    corpus : Corpus
    topics : sequence of int
        The numbers of topics to try, from 2 on.
    sweeps : int
        Sweeps of each chain that samples alpha and eta, after as many of burn-in, and of the last run.
    steps, repeats : int
        Steps of each ladder of annealing, and how many annealing runs to make for each T.
    chains : int
        Independent chains of tempering at the best number of topics.
    seed, workers, out, overwrite
        See `bayestopics.api`.

    Returns
    -------
    SelectResult

    Examples
    --------
    >>> from bayestopics import select, simulate
    >>> corpus = simulate(documents=12, length=20, terms=8, topics=2, seed=1)
    >>> result = select(corpus, topics=[2, 3], sweeps=100, steps=20, repeats=2, chains=2)
    >>> round(sum(result.posterior.values()), 9)
    1.0
    """
    from bayestopics.runs import select as run

    work = {"sweeps": sweeps, "steps": steps, "repeats": repeats, "chains": chains}
    task = run.task_of(corpus, topics, seed, **work)
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
    """The number of topics of a model without a fixed one: the HDP topic model, or a DP mixture of documents.

    Parameters
    ----------
    corpus : Corpus
    chains : int
        Of the samplers, from 1, 20, 5, 60, 1, ... topics; of the other methods, streams with other seeds.
    seed, workers, out, overwrite
        See `bayestopics.api`.
    **settings
        The fields of `bayestopics.nonparametric.compute.HdpSettings`: model (``"hdp"`` or ``"dp-mixture"``), method
        (``"gibbs"``, ``"split-merge"``, ``"truncation-free"`` or ``"truncated"``), eta, gamma, concentration, sweeps,
        burn_in, heldout and more.

    Returns
    -------
    HdpResult
        `posterior` is the share of the kept sweeps of all chains with K topics; of a variational method, the share of
        its streams that end with K components that hold a document (DP mixture) or a token (HDP). ``heldout_per_word``
        of the summary is sum_d log p(x_d) / tokens over the held-out documents, each on its own:

        - of the DP mixture, p is E_q[p(x)], exactly (`dp_mixture.collapsed`);
        - of the HDP by a variational method, p is an unbiased estimate by 60 particles of left-to-right of p(x) at the
          means of pi and theta (`hdp_held_out.left_to_right`); of several streams it is the mean;
        - of the HDP by a sampler, p is the mean over 20 states per chain of unbiased estimates of p(x | z, beta), 60
          particles in all (`hdp_held_out.left_to_right_of_states`).

        The log of an unbiased estimate is too low on average, the more so the larger ``heldout_standard_error`` is.

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
    except TypeError as error:  # a name that is none of its fields
        raise InputError(str(error).replace("HdpSettings.__init__()", "hdp")) from None
    task = run.task_of(corpus, checked, chains, seed)
    return _run(HdpResult, task, partial(run.compute, settings=checked), corpus, workers, out, overwrite)


def score(
    corpus: Corpus,
    topics: int = 10,
    prior: Prior | None = None,
    *,
    method: str = "completion",
    sampler: str = "single-site",
    sweeps: int = 200,
    burn_in: int = 200,
    heldout: float = 0.1,
    documents: int | Sequence[int] | None = None,
    thin: int = 5,
    particles: int = 10,
    beta: str = "integrated",
    warm_up: int = 0,
    seed: int = 0,
    workers: int = 1,
    out: Folder = None,
    overwrite: bool = False,
) -> ScoreResult:
    """The log probability of held-out words or documents, with its Monte Carlo error.

    Parameters
    ----------
    corpus : Corpus
    topics : int
        The number of topics T.
    prior : Prior, optional
    method : str
        ``"completion"``: the mean log probability of a held-out word; ``"leave-one-out"``: of a document given all
        others.
    sampler : str
    sweeps, burn_in : int
        Sweeps to keep, and sweeps to drop before them.
    heldout : float
        Completion: half of the words of this last share of the documents are held out.
    documents : int or sequence of int, optional
        Leave-one-out: so many documents, evenly spaced, or those in a list; without it, all.
    thin, particles, beta, warm_up
        Of leave-one-out, see `bayestopics.predict.leave_one_out.score`.
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
    """
    from bayestopics.runs import score as run

    options = {"heldout": heldout, "documents": documents, "thin": thin, "particles": particles, "beta": beta}
    options |= {"warm_up": warm_up, "sweeps": sweeps, "burn_in": burn_in}
    task = run.task_of(corpus, topics, prior or Prior(), method=method, sampler=sampler, seed=seed, **options)
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
    """Draw a corpus from LDA.

    Parameters
    ----------
    documents, length, terms, topics : int
        Numbers of documents, of words per document, of terms and of topics.
    alpha, eta : float
        Dirichlet parameters.
    poisson : bool
        Whether lengths are Poisson with mean `length`.
    seed : int

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


def _run(
    kind: type[Kind], task: Task, compute: Compute, corpus: Corpus, workers: int, out: Folder, overwrite: bool
) -> Kind:
    if workers < 1:
        raise InputError(f"nothing to do with {workers} workers")
    place = None if out is None else Path(out)
    result = driver.run(task, partial(compute, workers=workers), corpus, out=place, overwrite=overwrite)
    assert isinstance(result, kind)
    return result
