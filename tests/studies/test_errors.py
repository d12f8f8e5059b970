"""The table of Monte Carlo errors: batch means where there is a chain, and no error where the chain gives none."""

import numpy as np
import pandas as pd

from bayestopics.errors import autocorrelation_time, effective_sample_size, mcse
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.errors import COLUMNS, found, of_chain, table_of
from bayestopics.studies.hyperparameters.errors import errors as hyper_errors
from bayestopics.studies.number_of_topics.errors import errors as topics_errors


def record(study: str, name: str, params: dict, metrics: dict, tables: dict) -> Result:
    return Result(Task(study, "smoke", name, params, 1, "c", "f", "code"), metrics, tables=tables)


def test_a_chain_has_its_batch_means():
    chain = np.random.default_rng(1).normal(size=400).cumsum()
    table = table_of([of_chain("run", "x", chain)])
    assert list(table.columns) == list(COLUMNS)
    assert table.loc[0, "estimate"] == chain.mean()
    assert table.loc[0, "standard_error"] == mcse(chain)
    assert table.loc[0, "effective_draws"] == effective_sample_size(chain)
    assert table.loc[0, "autocorrelation_time"] == autocorrelation_time(chain)


def test_a_chain_that_does_not_move_or_is_too_short_has_no_error():
    table = table_of([of_chain("stuck", "x", np.full(100, 3.0)), of_chain("short", "x", [1.0, 2.0])])
    assert list(table["estimate"]) == [3.0, 1.5]
    assert table[["standard_error", "effective_draws", "autocorrelation_time"]].isna().all(axis=None)


def test_no_rows_are_a_table_too():
    assert len(table_of([])) == 0
    assert np.isnan(table_of([found("run", "x", "repeats", 1, 2.0, None)]).loc[0, "standard_error"])


def test_evidence_has_its_repeats_and_a_walk_its_second_half():
    evidence = pd.DataFrame({"topics": [2, 3], "log_evidence": [-5.0, -4.0], "standard_error": [0.5, np.nan]})
    walk = pd.DataFrame({"topics": [9] * 50 + [3, 4] * 25})
    table = topics_errors(
        [
            record("number_of_topics", "e", {"kind": "evidence", "repeats": 3}, {}, {"evidence": evidence}),
            record("number_of_topics", "w", {"kind": "pmmh"}, {}, {"trace": walk}),
            record("number_of_topics", "d", {"kind": "distances"}, {}, {}),
        ]
    )
    assert list(table["quantity"]) == ["log m(2)", "log m(3)", "T"]
    assert list(table["estimate"]) == [-5.0, -4.0, 3.5]
    assert list(table["draws"]) == [3, 3, 50]


def test_the_error_of_the_best_h_is_that_of_independent_chains_where_there_are_enough():
    ellipses = pd.DataFrame({"name": ["ellipse", "chains"], "log_variance_alpha": [0.04, 0.01]})
    ellipses["log_variance_eta"] = [0.09, 0.04]
    params = {"kind": "surface", "sweeps": 500, "chains": 12}
    both = record("hyperparameters", "both", params, {"alpha": 2.0, "eta": 1.0}, {"ellipses": ellipses})
    one = record("hyperparameters", "one", params, {"alpha": 2.0, "eta": 1.0}, {"ellipses": ellipses[:1]})
    none = record("hyperparameters", "none", params, {"alpha": 2.0, "eta": 1.0}, {"ellipses": ellipses[:0]})
    table = hyper_errors([both, one, none])
    np.testing.assert_allclose(table["standard_error"], [0.2, 0.2, 0.4, 0.3, np.nan, np.nan])
    assert list(table["draws"]) == [12, 12, 500, 500, 500, 500]
