"""Fits for ArviZ and pyLDAvis: shapes, values computed by hand, and refusals."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import arviz
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from bayestopics.api import fit
from bayestopics.base.problems import InputError
from bayestopics.corpus import Corpus
from bayestopics.lda.state import Prior
from bayestopics.runs.export import to_arviz, to_pyldavis
from bayestopics.runs.record import read
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

CORPUS = oracle.random_corpus(np.random.default_rng(1), tokens=60, documents=6, terms=8)


def small_fit(out: Path, **changes: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"topics": 3, "sweeps": 20, "burn_in": 5, "chains": 2, "seed": 7}
    return fit(CORPUS, prior=Prior((0.3, 0.2, 0.1), 0.2), **options | changes, out=out).summary()


# -- ArviZ ------------------------------------------------------------------------------------------


def test_arviz(tmp_path: Path) -> None:
    result = small_fit(tmp_path / "run")
    record = read(tmp_path / "run")
    data = to_arviz(tmp_path / "run")
    assert dict(data.posterior.sizes) == {"chain": 2, "draw": 20, "rank": 3}
    assert dict(data.warmup_posterior.sizes) == {"chain": 2, "draw": 5, "rank": 3}
    assert_array_equal(data.posterior.log_joint, result["log_joint"])
    trace = record.trace.log_joint.to_numpy().reshape(2, 25)
    assert_array_equal(data.warmup_posterior.log_joint, trace[:, :5])
    assert float(arviz.rhat(data).log_joint) == result["rhat"]
    assert float(arviz.ess(data).log_joint) == result["effective_sample_size"]

    shares = data.posterior.topic_share.to_numpy()
    assert_allclose(shares.sum(axis=-1), 1)
    assert np.all(np.diff(shares, axis=-1) <= 0)
    last = [np.sort(np.bincount(z, minlength=3))[::-1] / 60 for z in record.arrays["assignments"]]
    assert_array_equal(shares[:, -1], last)

    assert {"corpus": "corpus", "fingerprint": CORPUS.fingerprint, "seed": 7}.items() <= data.attrs.items()
    assert '"burn_in":5' in data.posterior.attrs["params"]
    data.to_netcdf(str(tmp_path / "data.nc"))  # plain attributes: it can be saved
    assert to_arviz(record).posterior.equals(data.posterior)


def test_arviz_without_burn_in_and_with_many_topics(tmp_path: Path) -> None:
    fit(CORPUS, topics=12, prior=Prior(), sweeps=4, burn_in=0, chains=1, out=tmp_path / "run")
    data = to_arviz(tmp_path / "run")
    assert data.groups() == ["posterior"]
    assert dict(data.posterior.sizes) == {"chain": 1, "draw": 4, "rank": 10}
    assert data.posterior["rank"].to_numpy().tolist() == list(range(1, 11))


# -- pyLDAvis ---------------------------------------------------------------------------------------

# documents: ant ant bee | (none) | bee cow; the fourth term does not occur
TINY = Corpus.from_sparse([[2, 1, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0]], ("ant", "bee", "cow", "doe"), name="tiny")


def tiny_record() -> Result:
    params = {"topics": 2, "alpha": [0.5, 1.5], "eta": 0.25, "burn_in": 0}
    assignments = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]], np.int32)
    task = Task("fit", "own", "fit", params, 1, TINY.name, TINY.fingerprint, "c0de")
    return Result(task, {}, arrays={"assignments": assignments})


def test_pyldavis_by_hand() -> None:
    given = to_pyldavis(tiny_record(), TINY, chain=0)
    assert list(given) == ["topic_term_dists", "doc_topic_dists", "doc_lengths", "vocab", "term_frequency"]
    # topic 0: ant twice; topic 1: bee twice and cow; V eta = 1
    expected = np.array([[2.25, 0.25, 0.25, 0.25], [0.25, 2.25, 1.25, 0.25]]) / [[3], [4]]
    assert_allclose(given["topic_term_dists"], expected, rtol=1e-15)
    # the first and the third document; sum of alpha = 2
    assert_allclose(given["doc_topic_dists"], np.array([[2.5 / 5, 2.5 / 5], [0.5 / 4, 3.5 / 4]]), rtol=1e-15)
    assert given["doc_lengths"].tolist() == [3, 2]
    assert given["vocab"] == ["ant", "bee", "cow", "doe"]
    assert given["term_frequency"].tolist() == [2, 2, 1, 0]
    assert_allclose(to_pyldavis(tiny_record(), TINY, chain=1)["doc_topic_dists"][0], [0.5 / 5, 4.5 / 5], rtol=1e-15)


def test_pyldavis_of_a_fit(tmp_path: Path) -> None:
    small_fit(tmp_path / "run")
    for chain in range(2):
        given = to_pyldavis(tmp_path / "run", CORPUS, chain=chain)
        assert_allclose(given["topic_term_dists"].sum(axis=1), 1)
        assert_allclose(given["doc_topic_dists"].sum(axis=1), 1)
        assert given["doc_lengths"].sum() == given["term_frequency"].sum() == 60
    topics = read(tmp_path / "run").tables["topics"]
    beta = to_pyldavis(tmp_path / "run", CORPUS)["topic_term_dists"]
    assert_array_equal(topics.probability, beta[topics.topic, topics.term.astype(int)])


def test_refusals(tmp_path: Path) -> None:
    other = Corpus.from_sparse([[2, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 1]], TINY.vocabulary, name="other")
    with pytest.raises(InputError, match=r"^other: is not the corpus of this record \(tiny\)"):
        to_pyldavis(tiny_record(), other, chain=0)
    for chain in (-1, 2):
        with pytest.raises(InputError, match=f"no chain {chain}: the record has chains 0 to 1"):
            to_pyldavis(tiny_record(), TINY, chain=chain)
    study = dataclasses.replace(tiny_record(), task=dataclasses.replace(tiny_record().task, study="first_look"))
    with pytest.raises(InputError, match="is not a record of `fit`"):
        to_arviz(study)
    with pytest.raises(InputError, match="has no readable run record"):
        to_arviz(tmp_path / "nothing")


# -- gensim -----------------------------------------------------------------------------------------


def test_gensim_has_the_same_topics() -> None:
    pytest.importorskip("gensim")
    found = fit(CORPUS, 3, Prior((0.3, 0.2, 0.1), 0.2), sweeps=5, burn_in=5, chains=2)
    model = found.to_gensim()
    assert_allclose(model.get_topics(), found.beta(), rtol=1e-9)
    assert_allclose(model.alpha, [0.3, 0.2, 0.1])
    best = found.topic_terms().query("topic == 1")["term"].iloc[0]
    assert model.show_topic(1, 1)[0][0] == best
