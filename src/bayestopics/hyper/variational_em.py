"""Variational EM for LDA with random topics (Blei, Ng & Jordan 2003, section 5.4) [George & Doss, section 5.1].

Mean field: q(theta, beta, z) = prod_d Dir(theta_d | gamma_d) prod_t Dir(beta_t | lambda_t) prod_i phi_i(z_i). Given
gamma and lambda the best phi_i(t) is proportional to exp E[log theta_dt + log beta_tv]; with that phi the bound is

  sum_i log sum_t exp E[log theta_dt + log beta_tv] - sum_d KL(gamma_d | alpha) - sum_t KL(lambda_t | eta) <= log m(h),

with all constants, for the sequence of tokens. Every update (of gamma, of lambda, of h) is an exact step of coordinate
ascent, so the bound never falls. The result is a local maximum of the bound, which is not the maximum of m(h).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.guard import finite, not_finite
from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.base.progress import Progress
from bayestopics.base.special import digamma as kernel_digamma
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.sides import DirichletSide
from bayestopics.lda.state import Prior
from bayestopics.lda.urns import ENDS, at_ends, check_model, peak

MOST_UPDATES = 100  # of one document's gamma in a pass [George & Doss, section 5.1]
STILL = 1e-6  # a document's gamma has settled when an update moves less than this share of its tokens
START_SHAPE = 100.0  # lambda starts from gamma variables with this shape and mean 1 (Hoffman, Blei & Bach 2010)


@dataclass(frozen=True, eq=False)
class VariationalEM:
    path: np.ndarray  # float64[k + 1, 2]: alpha and eta at the start and after every step
    bounds: np.ndarray  # float64[k]: the bound of log m(h) at the h before each step, after q has settled
    converged: bool
    gamma: np.ndarray  # float64[D, T]: Dirichlet parameters of each document's topics (rows)
    lambda_: np.ndarray  # float64[V, T]: Dirichlet parameters of each topic's terms (columns)
    warnings: list[str]

    @property
    def prior(self) -> Prior:
        return Prior(*self.path[-1].tolist())


def variational_em(
    corpus: Corpus,
    topics: int,
    *,
    rng: np.random.Generator,
    steps: int = 1000,
    passes: int = 1,
    tolerance: float = 1e-5,
    start: Prior = Prior(0.5, 0.5),  # noqa: B008 (frozen)
    checkpoint: Checkpoint | None = None,
) -> VariationalEM:
    """Make at most `steps` steps; each has `passes` updates of q, then one update of h.

    It has converged when the relative change of the bound, of alpha and of eta in a step are all below `tolerance`.
    """
    check_model(corpus, topics, start)
    if min(steps, passes) < 1:
        raise InputError(f"at least 1 step and 1 pass are needed, not {steps} steps of {passes} passes")
    checkpoint, field = checkpoint or NoCheckpoint(), MeanField(corpus, topics, start, rng)
    path, bounds = [(field.alpha, field.eta)], []
    if (saved := checkpoint.load()) is not None:
        path, bounds, field.gamma, field.lambda_ = saved
        field.alpha, field.eta = path[-1]
    with Progress("variational EM", steps, "step", len(bounds)) as bar:
        while len(bounds) < steps and not _converged(path, bounds, tolerance):
            bounds.append(field.step(passes))
            path.append((field.alpha, field.eta))
            if not finite((bounds[-1], *path[-1])):
                raise not_finite("the bound, alpha or eta", len(bounds) - 1, (path, field.gamma, field.lambda_))
            bar.update()
            if checkpoint.due():
                checkpoint.save((path, bounds, field.gamma, field.lambda_))
    everywhere = np.full((corpus.document_count, topics), field.alpha)
    everywhere[corpus.document_lengths > 0] = field.gamma
    converged, doubts = _converged(path, bounds, tolerance), at_ends(field.alpha, field.eta)
    return VariationalEM(np.array(path), np.array(bounds), converged, everywhere, field.lambda_, doubts)


def _converged(path: list[tuple[float, float]], bounds: list[float], tolerance: float) -> bool:
    if len(bounds) < 2:
        return False
    moved, ratio = np.abs(np.log(path[-1]) - np.log(path[-2])).max(), bounds[-1] / bounds[-2]
    return bool(max(moved, ratio - 1, 1 - ratio) < tolerance)


class MeanField:
    """q and h, and their updates. Empty documents are left out: their q is the prior, and they add nothing to the
    bound."""

    def __init__(self, corpus: Corpus, topics: int, prior: Prior, rng: np.random.Generator) -> None:
        counts = corpus.counts[corpus.document_lengths > 0]
        self.pairs = (counts.indptr.astype(np.int64), counts.indices.astype(np.int64), counts.data.astype(np.float64))
        self.sides = DirichletSide(counts.shape[0], topics), DirichletSide(topics, corpus.term_count)
        self.alpha, self.eta = float(prior.alpha), float(prior.eta)  # type: ignore[arg-type]
        lengths = corpus.document_lengths[corpus.document_lengths > 0]
        self.gamma = np.repeat(self.alpha + lengths[:, None] / topics, topics, axis=1)
        self.lambda_ = rng.gamma(START_SHAPE, 1 / START_SHAPE, (corpus.term_count, topics))

    def step(self, passes: int) -> float:
        """`passes` updates of q, then one of h; returns the bound before the last update of the topics and of h."""
        for _ in range(passes):
            self.update_documents()
            words, expected = self.tokens()
            value = self.bound(words)
            self.update_topics(expected)
        self.update_prior()
        return value

    def update_documents(self) -> None:
        """gamma_dt = alpha + sum_i phi_i(t), repeated until it settles (Blei et al., fig. 6)."""
        log_beta = expected_log(self.lambda_, axis=0)
        # only ratios within a term matter, so each row is scaled until its largest entry is 1
        beta = np.exp(log_beta - log_beta.max(axis=1, keepdims=True))
        _update_documents(*self.pairs, self.alpha, log_beta, beta, self.gamma)

    def tokens(self) -> tuple[float, np.ndarray]:
        """The first sum of the bound, and the expected number of tokens of each term in each topic (V x T)."""
        expected = np.zeros_like(self.lambda_)
        logs = (expected_log(self.gamma, axis=1), expected_log(self.lambda_, axis=0))
        return _tokens(*self.pairs, *logs, expected), expected

    def update_topics(self, expected: np.ndarray) -> None:
        """lambda_tv = eta + sum_i phi_i(t) over the tokens of term v (Blei et al., section 5.4)."""
        self.lambda_ = self.eta + expected

    def update_prior(self) -> None:
        """alpha and eta where E[log nu_h] is largest: a concave function of alpha plus a concave function of eta."""
        sums = (expected_log(self.gamma, axis=1).sum(), expected_log(self.lambda_, axis=0).sum())
        self.alpha, self.eta = (
            peak(lambda x, side=side, row=row: side.slope(x, row), *ENDS)  # type: ignore[misc]
            for side, row in zip(self.sides, sums, strict=True)
        )

    def bound(self, words: float) -> float:
        """The bound of log m(h), given the first sum of it, from `tokens`."""
        of_documents = divergence(self.gamma, self.alpha, axis=1)
        return words - of_documents - divergence(self.lambda_, self.eta, axis=0)


def expected_log(parameters: np.ndarray, axis: int) -> np.ndarray:
    """E[log x] of Dirichlet variables x with these parameters along the axis."""
    return digamma(parameters) - digamma(parameters.sum(axis=axis, keepdims=True))


def divergence(parameters: np.ndarray, prior: float, axis: int) -> float:
    """Sum of KL( Dir(parameters) | Dir(prior, ..., prior) ) of Dirichlets along the axis."""
    size, total = parameters.shape[axis], parameters.sum(axis=axis)
    constants = gammaln(total) - gammaln(size * prior)
    terms = gammaln(prior) - gammaln(parameters) + (parameters - prior) * expected_log(parameters, axis)
    return float(constants.sum() + terms.sum())


@kernel
def _update_documents(
    starts: np.ndarray,
    terms: np.ndarray,
    counts: np.ndarray,
    alpha: float,
    log_beta: np.ndarray,
    beta: np.ndarray,
    gamma: np.ndarray,
) -> None:
    documents, topics = gamma.shape
    log_theta, theta, phi, new = np.empty(topics), np.empty(topics), np.empty(topics), np.empty(topics)
    for d in range(documents):
        length = counts[starts[d] : starts[d + 1]].sum()
        for _ in range(MOST_UPDATES):
            for t in range(topics):  # without psi(sum gamma_d), which does not change phi
                log_theta[t] = kernel_digamma(gamma[d, t])
            theta[:] = np.exp(log_theta - log_theta.max())
            new[:] = alpha
            for i in range(starts[d], starts[d + 1]):
                v, mass = terms[i], 0.0
                for t in range(topics):
                    phi[t] = theta[t] * beta[v, t]
                    mass += phi[t]
                if mass < 1e-250:  # every product underflows, or nearly: compute again from the logs
                    _responsibilities(log_theta, log_beta[v], phi)
                    mass = 1.0
                for t in range(topics):
                    new[t] += counts[i] / mass * phi[t]
            moved = np.abs(new - gamma[d]).sum()
            gamma[d] = new
            if moved <= STILL * length:
                break


@kernel
def _tokens(
    starts: np.ndarray,
    terms: np.ndarray,
    counts: np.ndarray,
    log_theta: np.ndarray,
    log_beta: np.ndarray,
    expected: np.ndarray,
) -> float:
    documents, topics = log_theta.shape
    phi, total = np.empty(topics), 0.0
    for d in range(documents):
        for i in range(starts[d], starts[d + 1]):
            total += counts[i] * _responsibilities(log_theta[d], log_beta[terms[i]], phi)
            for t in range(topics):
                expected[terms[i], t] += counts[i] * phi[t]
    return total


@kernel
def _responsibilities(log_theta: np.ndarray, log_beta: np.ndarray, phi: np.ndarray) -> float:
    """phi(t) proportional to exp(log_theta_t + log_beta_t); returns the log of the normalising constant."""
    largest, mass = -np.inf, 0.0
    for t in range(len(phi)):
        phi[t] = log_theta[t] + log_beta[t]
        largest = max(largest, phi[t])
    for t in range(len(phi)):
        phi[t] = np.exp(phi[t] - largest)
        mass += phi[t]
    for t in range(len(phi)):
        phi[t] /= mass
    return np.log(mass) + largest
