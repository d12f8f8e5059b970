"""Every estimator of the evidence against enumeration on tiny corpora.

The unbiased ones: the mean of exp(log-estimate) over independent runs, in units of its standard error, and of its
reciprocal for the harmonic means (with a large eta where there is no variance otherwise). The others: the log-estimate,
long chains.
"""

import math

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import oracle
from bayestopics.base.problems import InputError
from bayestopics.errors.bennett import bennett
from bayestopics.evidence import ESTIMATORS, PATHS, annealing, chib_independent, smc, tempered
from bayestopics.evidence import chib as chib_module
from bayestopics.evidence import harmonic as harmonic_module
from bayestopics.evidence.chib import chib
from bayestopics.evidence.compute import estimator, evidence
from bayestopics.evidence.estimate import combine, not_excluded
from bayestopics.evidence.harmonic import harmonic, harmonic_mean, log_likelihood_given_beta
from bayestopics.evidence.replica_exchange import exchange
from bayestopics.lda.density import log_joint, log_likelihood
from bayestopics.lda.parameters import draw_parameters
from bayestopics.lda.state import Prior, from_assignments

LIMIT = 4.9  # standard errors: two-sided false-alarm rate 1e-6
CORPUS = oracle.tiny_corpus([[0, 0, 1], [1, 2], []], 3)
CASES = [
    pytest.param(2, Prior(0.4, 0.3), id="2 topics"),
    pytest.param(3, Prior((0.2, 0.5, 1.3), 0.3), id="3 topics, asymmetric"),
    pytest.param(3, Prior(0.05, 0.1), id="3 topics, small prior"),
]


def from_prior(topics: int, prior: Prior, ladder: np.ndarray, rng: np.random.Generator) -> float:
    return annealing.anneal(tempered.Tempered(tempered.draw_prior(CORPUS, topics, prior, rng)), ladder, rng)


@pytest.mark.parametrize(("topics", "prior"), CASES)
def test_annealing_is_unbiased_forward_and_backward(topics, prior):
    exact, rng = oracle.enumerate_all(CORPUS, topics, prior), np.random.default_rng(1)
    ladder = annealing.first_ladder(4)
    forward = np.array([from_prior(topics, prior, ladder, rng) for _ in range(1000)])
    oracle.check_unbiased(forward, exact.log_evidence)
    rows = rng.choice(len(exact.posterior), size=1000, p=exact.posterior)
    backward = np.array([annealing.anneal_backward(exact.state(row), ladder, rng) for row in rows])
    oracle.check_unbiased(-backward, -exact.log_evidence)
    assert forward.mean() < exact.log_evidence < backward.mean()  # the sandwich


@pytest.mark.parametrize("name", [name for name, entry in ESTIMATORS.items() if entry.unbiased])
def test_whatever_the_registry_calls_unbiased_is(name):
    exact, rng = oracle.enumerate_all(CORPUS, 2, Prior(0.4, 0.3)).log_evidence, np.random.default_rng(12)
    repeats = [estimator(name).repeat(CORPUS, 2, Prior(0.4, 0.3), 6, rng) for _ in range(300)]
    oracle.check_unbiased(np.array(repeats), exact)


def test_a_wrong_power_is_caught(monkeypatch):
    """The sweep at b forgets b: the weights no longer fit."""
    exact, rng = oracle.enumerate_all(CORPUS, 2, Prior(0.05, 0.1)), np.random.default_rng(2)
    right = tempered.Tempered.sweep
    monkeypatch.setattr(tempered.Tempered, "sweep", lambda self, b, rng: right(self, 1.0, rng))
    ladder = np.linspace(0, 1, 9)
    wrong = np.array([from_prior(2, Prior(0.05, 0.1), ladder, rng) for _ in range(1000)])
    with pytest.raises(AssertionError, match="standard errors off"):
        oracle.check_unbiased(wrong, exact.log_evidence)


@pytest.mark.parametrize("b", [0.0, 0.4, 1.0])
def test_tempered_sweeps_have_their_law(b):
    """Shares of sweeps at each assignment against p(z) p(w | z)^b, normalised; batch means, Bonferroni."""
    topics, prior = 2, Prior((0.3, 1.2), 0.3)
    z = oracle.all_assignments(CORPUS.token_count, topics)
    log_prior = oracle.log_prior(CORPUS.documents, z, np.array(prior.alpha))
    law = np.exp(log_prior + b * oracle.log_likelihood(CORPUS.terms, z, topics, prior.eta, 3))
    law /= law.sum()
    rng, sweeps, batches = np.random.default_rng(3), 15_000, 100
    chain = tempered.Tempered(tempered.draw_prior(CORPUS, topics, prior, rng))
    visits = np.empty(sweeps, int)
    for i in range(sweeps):
        chain.sweep(b, rng)
        visits[i] = oracle.index_of(chain.state.assignments, topics)
    shares = (visits[:, None] == np.arange(len(law))).reshape(batches, -1, len(law)).mean(axis=1)
    scores = (shares.mean(axis=0) - law) / (shares.std(axis=0, ddof=1) / np.sqrt(batches))
    assert np.abs(scores).max() < 5.9  # Student t, 99 degrees, 32 of them: 1e-6
    assert chain.log_likelihood == pytest.approx(log_likelihood(chain.state), abs=1e-8)


def test_the_urn_draws_from_the_prior():
    prior, rng = Prior((0.3, 1.2), 0.3), np.random.default_rng(4)
    draws = [oracle.index_of(tempered.draw_prior(CORPUS, 2, prior, rng).assignments, 2) for _ in range(20_000)]
    law = np.exp(oracle.log_prior(CORPUS.documents, oracle.all_assignments(5, 2), np.array(prior.alpha)))
    observed = np.bincount(draws, minlength=len(law))
    scores = (observed - 20_000 * law) / np.sqrt(20_000 * law * (1 - law))
    assert np.abs(scores).max() < 6


@pytest.mark.parametrize(("topics", "prior"), CASES[:2])
def test_smc_is_unbiased(topics, prior):
    exact, rng = oracle.enumerate_all(CORPUS, topics, prior).log_evidence, np.random.default_rng(5)
    ladder = annealing.first_ladder(4)
    oracle.check_unbiased(np.array([smc.smc(CORPUS, topics, prior, ladder, 4, rng) for _ in range(500)]), exact)


@pytest.mark.parametrize(("topics", "prior"), CASES)
def test_replica_exchange(topics, prior):
    exact, rng = oracle.enumerate_all(CORPUS, topics, prior).log_evidence, np.random.default_rng(6)
    found = np.array([exchange(CORPUS, topics, prior, np.linspace(0, 1, 4), 250, rng).log_evidence for _ in range(12)])
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - exact) < 9.0 * error + 0.005  # Student t with 11 degrees: 2e-6; and a bias of 1 / rounds


def test_bennett_on_two_normal_laws():
    """Weights x with density ratio e^(x - r): N(mu, s^2) below and N(mu + s^2, s^2) above, r = mu + s^2 / 2."""
    rng = np.random.default_rng(7)
    found = [bennett(rng.normal(2, 1.5, 2000), rng.normal(2 + 2.25, 1.5, 2000)) for _ in range(50)]
    assert abs(np.mean(found) - (2 + 1.125)) < LIMIT * np.std(found, ddof=1) / np.sqrt(50)


# p(w | z) has finitely many values; 1 / p(w | beta, z) has ten moments where eta is ten times the largest count
HARMONIC = [
    pytest.param(0, 2, Prior(0.4, 0.3), id="z"),
    pytest.param(0, 3, Prior((0.2, 0.5, 1.3), 0.3), id="z, asymmetric"),
    pytest.param(1, 2, Prior(0.4, 20.0), id="psi"),
]


def harmonic_means(which: int, topics: int, prior: Prior) -> np.ndarray:
    """Of 300 chains. The second eigenvalue of a sweep is below 0.7, so what is left of the start after 20 sweeps is
    below 0.001: a tenth of a standard error for z, less for psi."""
    rng = np.random.default_rng(8)
    return np.array([harmonic(CORPUS, topics, prior, sweeps=30, burn_in=20, rng=rng)[which] for _ in range(300)])


@pytest.mark.parametrize(("which", "topics", "prior"), HARMONIC)
def test_the_reciprocal_of_a_harmonic_mean_is_unbiased(which, topics, prior):
    """For 1 / m(T), whatever the length of the chain: Student t with 299 degrees, false-alarm rate 2e-6."""
    exact = oracle.enumerate_all(CORPUS, topics, prior).log_evidence
    oracle.check_unbiased(-harmonic_means(which, topics, prior), -exact)


@pytest.mark.parametrize(("which", "topics", "prior"), HARMONIC)
def test_other_means_than_the_harmonic_are_caught(which, topics, prior, monkeypatch):
    """The arithmetic mean, and the mean of the logs."""
    exact = oracle.enumerate_all(CORPUS, topics, prior).log_evidence
    monkeypatch.setattr(harmonic_module, "harmonic_mean", lambda log_values: log_values)
    log_values = harmonic_means(which, topics, prior)  # chains x sweeps
    for wrong in (logsumexp(log_values, axis=1) - np.log(30), log_values.mean(axis=1)):
        with pytest.raises(AssertionError, match="standard errors off"):
            oracle.check_unbiased(-wrong, -exact)


@pytest.mark.parametrize("continued", [True, False])
def test_chib_with_a_large_prior(continued):
    """The estimates scatter by 0.001."""
    prior, rng = Prior(20.0, 20.0), np.random.default_rng(8)
    exact = oracle.enumerate_all(CORPUS, 2, prior).log_evidence
    found = chib(CORPUS, 2, prior, sweeps=3000, pilot=50, rng=rng, continued=continued)
    assert found.log_evidence == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("continued", [True, False])
def test_chib_with_a_small_prior_and_its_labellings(continued):
    """Here the labels switch freely, so that it does not matter where the main chain starts."""
    prior, rng = Prior(0.4, 0.3), np.random.default_rng(9)
    exact = oracle.enumerate_all(CORPUS, 2, prior).log_evidence
    found = [chib(CORPUS, 2, prior, sweeps=1500, pilot=50, rng=rng, continued=continued) for _ in range(10)]
    values = np.array([one.log_evidence for one in found])
    assert abs(values.mean() - exact) < 9.5 * values.std(ddof=1) / np.sqrt(10)
    assert found[0].one_labelling == pytest.approx(found[0].log_evidence + math.log(2))


def test_a_main_chain_of_its_own_has_other_labels():
    """Two documents of one word each that is the other's: no chain of ten sweeps exchanges its labels."""
    corpus, prior = oracle.tiny_corpus([40 * [0], 40 * [1]], 2), Prior(0.1, 0.1)
    together, apart = (
        [module.repeat(corpus, 2, prior, 10, np.random.default_rng(seed)) for seed in range(8)]
        for module in (chib_module, chib_independent)
    )
    assert np.ptp(together) < 5
    assert np.ptp(apart) > 20  # by chance the labels of some of the eight agree


def test_beta_cancels_in_chibs_identity():
    """p(w, beta, z) / p(beta | z, w) = p(w, z) for any beta."""
    prior, rng = Prior(0.4, 0.3), np.random.default_rng(10)
    state = from_assignments(CORPUS, 2, prior, np.array([0, 1, 1, 0, 1]))
    parameters = draw_parameters(state, rng)

    def log_dirichlet(shape: np.ndarray) -> float:
        constant = gammaln(shape.sum(axis=0)) - gammaln(shape).sum(axis=0)
        return float(np.sum(constant + ((shape - 1) * parameters.log_beta).sum(axis=0)))

    joint = log_likelihood_given_beta(state, parameters) + log_dirichlet(np.full((3, 2), prior.eta))
    joint += float(oracle.log_prior(CORPUS.documents, state.assignments[None], np.full(2, 0.4))[0])
    assert joint - log_dirichlet(state.term_topic + prior.eta) == pytest.approx(log_joint(state))


# -- one front door --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_one_topic_is_closed_form(path):
    exact = oracle.enumerate_all(CORPUS, 1, Prior(0.4, 0.3)).log_evidence
    found = evidence(CORPUS, [1], Prior(0.4, 0.3), path=path, sweeps=40, repeats=2)
    assert found["log_evidence"][0] == pytest.approx(exact, abs=1e-9)


def test_methods_agree_on_a_small_corpus_and_seeds_decide():
    prior, corpus = Prior(0.4, 0.3), oracle.random_corpus(np.random.default_rng(11), 8, 3, 3)
    exact = oracle.enumerate_all(corpus, 3, prior).log_evidence
    found = {
        path: evidence(corpus, [3], prior, path=path, sweeps=600, repeats=10) for path in ("reference", "ais", "smc")
    }
    for one in found.values():
        assert one["unbiased"]
        assert abs(one["log_evidence"][0] - exact) < 9.5 * one["standard_error"][0]
    again = evidence(corpus, [3], prior, path="ais", sweeps=600, repeats=10)
    assert found["ais"]["log_estimates"] == again["log_estimates"]


def test_errors_do_not_lie():
    assert combine(np.array([0.0, 0.2, -0.2])).standard_error == pytest.approx(0.2 / np.sqrt(3))
    wide = combine(np.array([0.0, 10.0, -10.0]))
    assert wide.standard_error == pytest.approx(10.0)
    assert len(wide.warnings) == 2
    assert "the runs differ by about 10 nats" in wide.warnings[0]
    assert combine(np.array([1.0])).standard_error is None
    assert harmonic_mean(np.log([1.0, 2.0])) == pytest.approx(np.log(4 / 3))


def test_what_errors_do_not_exclude():
    """Deviations of many repeats: twice sqrt(3^2 + 4^2) = 5. Errors of three: Student's t has 4.303 with 2 degrees."""
    assert not_excluded([0.0, -9.9, -10.1], [3.0, 4.0, 4.0], 100).tolist() == [True, True, False]
    assert not_excluded([-1e9, 0.0, -3.0], [None, 0.3, 0.4], 100).tolist() == [True, True, False]
    assert not_excluded([0.0, -2.15, -2.16], [0.3, 0.4, 0.4], 3).tolist() == [True, True, False]
    assert not_excluded([0.0, -12.4, -12.5], [3.0, 4.0, 4.0], 3).tolist() == [True, True, False]
    assert not_excluded([0.0, -1e9], [None, None], 1).tolist() == [True, True]
    found = evidence(CORPUS, [1, 2, 3], Prior(0.4, 0.3), path="ais", sweeps=10, repeats=3)
    near = not_excluded(found["log_evidence"], found["standard_error"], 3)
    assert found["not_excluded"] == [t for t, one in zip([1, 2, 3], near, strict=True) if one]
    assert found["best"] == 1 + int(np.argmax(found["log_evidence"]))


def test_without_a_variance_there_is_no_standard_error():
    """The harmonic mean with beta: the scatter is told, and no error."""
    found = {
        method: evidence(CORPUS, [2], Prior(0.4, 0.3), method=method, sweeps=20, repeats=3)
        for method in ("harmonic-psi", "harmonic-z")
    }
    assert found["harmonic-psi"]["standard_error"] == [None]
    spread = np.std(found["harmonic-psi"]["log_estimates"][0], ddof=1)
    assert f"scatter by {spread:.2g} nats" in found["harmonic-psi"]["warnings"][0]
    assert found["harmonic-z"]["standard_error"][0] > 0  # p(w | z) has finitely many values


def test_bad_requests_are_refused():
    with pytest.raises(InputError, match="rise"):
        from_prior(2, Prior(), np.array([0.0, 0.5]), np.random.default_rng(1))
    with pytest.raises(InputError, match="methods are"):
        evidence(CORPUS, [2], Prior(), method="magic")
    with pytest.raises(InputError, match=r"at least 1 of each is needed.* 0 repeats"):
        evidence(CORPUS, [2], Prior(), repeats=0)


def test_workers_and_a_checkpoint_change_no_bit(tmp_path):
    class Saved:
        """In memory; the first saving is followed by a kill."""

        state, kills = None, 1

        def load(self):
            return self.state

        def due(self):
            return True

        def save(self, state):
            self.state = dict(state)
            self.kills -= 1
            if self.kills == 0:
                raise KeyboardInterrupt

    prior, work = Prior(0.4, 0.3), {"sweeps": 20, "repeats": 2, "seed": 3}
    keys = ("log_evidence", "standard_error", "log_estimates", "warnings")
    alone = evidence(CORPUS, [1, 2, 3], prior, **work)
    shared = evidence(CORPUS, [1, 2, 3], prior, **work, workers=2)
    saved = Saved()
    with pytest.raises(KeyboardInterrupt):
        evidence(CORPUS, [1, 2, 3], prior, **work, checkpoint=saved)
    assert len(saved.state) == 1
    resumed = evidence(CORPUS, [1, 2, 3], prior, **work, checkpoint=saved)
    for other in (shared, resumed):
        assert {key: other[key] for key in keys} == {key: alone[key] for key in keys}
