"""LDA and HDP as estimators of scikit-learn: its own checks, pipelines, clones, and folders in place of pickles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import bayestopics
from bayestopics import api
from bayestopics.base.problems import InputError
from bayestopics.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.estimators import HDP, LDA, TopicModel
from bayestopics.lda.density import topic_term_mean
from bayestopics.runs.hdp import last_state

LAW = simulate_lda(documents=40, length=40, terms=12, topics=2, alpha=0.2, eta=1.0, rng=np.random.default_rng(4))
COUNTS = LAW.corpus.counts
SHORT: dict[str, Any] = {"sweeps": 20, "burn_in": 30, "chains": 2}


def model(kind: type[TopicModel], **changes: Any) -> Any:
    return kind(**SHORT | ({"n_components": 2} if kind is LDA else {}) | changes)


@pytest.fixture(scope="module", params=(LDA, HDP))
def fitted(request: pytest.FixtureRequest) -> Any:
    return model(request.param).fit(COUNTS)


# scikit-learn's checks bring fractions, which a count cannot be. Its tag for data of whole numbers is "categorical".


class LdaOfWhole(LDA):
    def __sklearn_tags__(self) -> Any:
        tags = TopicModel.__sklearn_tags__(self)
        tags.input_tags.categorical = True
        return tags


class HdpOfWhole(HDP):
    __sklearn_tags__ = LdaOfWhole.__sklearn_tags__


# a check that scikit-learn itself leaves out unless SCIPY_ARRAY_API is set
LEFT_OUT = {"check_array_api_input"}


@pytest.mark.parametrize(
    "estimator", [LdaOfWhole(2, chains=1, sweeps=3, burn_in=1), HdpOfWhole(sweeps=3, burn_in=1, chains=1)]
)
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn(estimator: Any) -> None:
    made = check_estimator(estimator, on_fail=None)
    assert {one["check_name"] for one in made if one["status"] != "passed"} <= LEFT_OUT
    assert len(made) > 40


def test_fractions_are_refused() -> None:
    with pytest.raises(InputError, match="not whole numbers"):
        model(LDA).fit([[0.5, 1.0], [1.0, 2.0]])


def test_fit_is_the_function() -> None:
    """Guards parameters that do not arrive."""
    given: dict[str, Any] = {"sweeps": 5, "burn_in": 3, "chains": 2, "sampler": "sparse"}
    found = LDA(3, alpha=(0.3, 0.2, 0.1), eta=0.2, random_state=5, **given).fit(LAW.corpus)
    prior = bayestopics.Prior((0.3, 0.2, 0.1), 0.2)
    assert_array_equal(found.components_, bayestopics.fit(LAW.corpus, 3, prior, seed=5, **given).beta())
    assert_array_equal(found.alpha_, [0.3, 0.2, 0.1])
    settings: dict[str, Any] = {"method": "split-merge", "eta": 0.2, "gamma": 2.0, "concentration": 0.5, "chains": 2}
    found_hdp = HDP(**settings, sweeps=5, burn_in=3, random_state=5).fit(LAW.corpus)
    same = bayestopics.hdp(LAW.corpus, **settings, sweeps=5, burn_in=3, seed=5)
    pd.testing.assert_frame_equal(found_hdp.result_.tables["topics"], same.tables["topics"])
    with pytest.raises(InputError, match="use gibbs or split-merge"):
        HDP(method="truncated").fit(COUNTS)


def test_topics_of_the_fitted_documents(fitted: Any) -> None:
    """Guards components in another order than alpha and transform: the documents have the topics they were made of."""
    assert_allclose(fitted.components_.sum(axis=1), 1)
    theta = fitted.transform(COUNTS)
    assert_allclose(theta.sum(axis=1), 1)
    likelihood = (COUNTS.toarray() * np.log(theta @ fitted.components_)).sum(axis=1)
    turned = (COUNTS.toarray() * np.log(theta[:, ::-1] @ fitted.components_)).sum(axis=1)
    assert len(fitted.components_) == 1 or likelihood.sum() > turned.sum() + 100
    assert (fitted.transform_deviation(COUNTS) > 0).all()
    assert fitted.alpha_.shape == (len(fitted.components_),)


def test_alpha_of_the_hdp_belongs_to_its_topics() -> None:
    """Guards the chain that is first, and the order of labels in place of that of sizes."""
    found = model(HDP, chains=3).fit(LAW.corpus)
    kept = found.result_.trace.query("sweep >= 30").groupby("chain")["log_joint"].mean()
    state = last_state(found.result_, LAW.corpus, int(kept.idxmax()))
    order = np.argsort(-state.topic_total, kind="stable")[: state.topics]
    assert_array_equal(found.alpha_, state.alpha[order])
    assert_allclose(found.components_, topic_term_mean(state)[order])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_corpus_is_read_by_the_names_of_its_terms() -> None:
    found = model(LDA).fit(LAW.corpus)
    turned = Corpus.from_sparse(COUNTS[:, ::-1], LAW.corpus.vocabulary[::-1])
    assert_array_equal(found.transform(turned), found.transform(LAW.corpus))
    assert found.transform(COUNTS[:2] * 0).tolist() == [[0.5, 0.5]] * 2  # no words at all: the prior


def test_score_prefers_documents_of_the_model(fitted: Any) -> None:
    shuffled = np.random.default_rng(1).permuted(COUNTS.toarray(), axis=1)
    assert fitted.score(COUNTS) > fitted.score(shuffled)
    assert fitted.score(COUNTS) == fitted.score(COUNTS)


def test_score_by_hand() -> None:
    """A document of one word has the probability sum_t alpha_t beta_tv / sum alpha, and an estimate has no error."""
    found = model(LDA, alpha=(0.3, 0.1)).fit(COUNTS)
    expected = np.log(found.components_.T @ [0.75, 0.25]).sum()
    assert_allclose(found.score(np.eye(12, dtype=int)), expected)


def test_pipeline_and_clone() -> None:
    texts = ["ant bee ant", "bee ant bee", "cow dog", "dog cow cow", "dog dog cow"] * 4
    pipeline = make_pipeline(CountVectorizer(), model(LDA))
    theta = pipeline.fit_transform(texts)
    assert theta.shape == (20, 2)
    assert (theta[0] > 0.5).tolist() == (theta[1] > 0.5).tolist() != (theta[2] > 0.5).tolist()
    assert pipeline.get_feature_names_out().tolist() == ["lda0", "lda1"]
    copied = clone(pipeline[-1].set_params(eta=0.3))
    assert copied.get_params() == pipeline[-1].get_params()
    assert not hasattr(copied, "components_")


def test_a_random_state_of_none_takes_a_new_seed() -> None:
    seeds = {model(LDA, random_state=None, sweeps=1, burn_in=0).fit(COUNTS).result_.task.seed for _ in range(2)}
    assert len(seeds) == 2


def test_jobs_change_nothing_but_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(api, "fit", lambda *_, workers, **__: given.append(workers))
    for jobs in (None, 1, 3):
        model(LDA, n_jobs=jobs)._compute(LAW.corpus)
    assert given == [1, 1, 3]
    with pytest.raises(ValueError, match="n_jobs"):
        model(LDA, n_jobs=0)._compute(LAW.corpus)


# -- folders --------------------------------------------------------------------------------------------


def test_saved_and_loaded(fitted: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    again = type(fitted).load(tmp_path / "model")
    assert again.get_params() == fitted.get_params()
    assert_array_equal(again.components_, fitted.components_)
    assert_array_equal(again.transform(COUNTS), fitted.transform(COUNTS))
    assert again.result_.text() == fitted.result_.text()
    with pytest.raises(InputError, match="exists already"):
        fitted.save(tmp_path / "model")
    fitted.save(tmp_path / "model", overwrite=True)
    other = HDP if isinstance(fitted, LDA) else LDA
    with pytest.raises(InputError, match=f"not {other.__name__}"):
        other.load(tmp_path / "model")


def test_names_and_alphas_come_back(tmp_path: Path) -> None:
    table = pd.DataFrame(COUNTS.toarray(), columns=[f"word {number}" for number in range(12)])
    found = model(LDA, alpha=(0.3, 0.1)).fit(table)
    found.save(tmp_path / "model")
    again = LDA.load(tmp_path / "model")
    assert again.alpha == (0.3, 0.1)
    assert_array_equal(again.transform(table), found.transform(table))
    with pytest.raises(ValueError, match="feature names"):
        again.transform(table[table.columns[::-1]])


def test_no_model_to_load(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no readable model"):
        LDA.load(tmp_path)
    (tmp_path / "estimator.json").write_text(json.dumps({"estimator": "LDA", "params": {"no_such": 1}}))
    with pytest.raises(InputError, match="no readable model"):
        LDA.load(tmp_path)
