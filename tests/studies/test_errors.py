"""The table of Monte Carlo errors: batch means where there is a chain, and no error where the chain gives none."""

import numpy as np
import pandas as pd
import pytest

from bayestopics.errors import autocorrelation_time, effective_sample_size, mcse
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.errors import COLUMNS, MissingErrors, errors_of, found, of_chain, table_of, with_errors
from bayestopics.studies.hyperparameters.errors import LARGEST
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
            record("number_of_topics", "l", {"kind": "ladder"}, {}, {}),
        ]
    )
    assert list(table["quantity"]) == ["log m(2)", "log m(3)", "T"]
    assert list(table["estimate"]) == [-5.0, -4.0, 3.5]
    assert list(table["draws"]) == [3, 3, 50]


def test_the_error_of_the_best_h_is_that_of_independent_chains_where_there_are_enough():
    ellipses = pd.DataFrame({"name": ["ellipse", "chains"], "log_variance_alpha": [0.04, 0.01]})
    ellipses[["log_variance_eta", "center_alpha", "center_eta"]] = [[0.09, 2.0, 1.0], [0.04, 2.0, 1.0]]
    surface = pd.DataFrame({"log_m": [0.0, -1.0, -5.0], "error": [0.1, 0.5, 0.9]})
    tables = {"surface": surface, "ellipses": ellipses}
    params = {"kind": "surface", "sweeps": 500, "chains": 12}
    both = record("hyperparameters", "both", params, {"alpha": 2.0, "eta": 1.0}, tables)
    one = record("hyperparameters", "one", params, {"alpha": 2.0, "eta": 1.0}, tables | {"ellipses": ellipses[:1]})
    none = record("hyperparameters", "none", params, {"alpha": 2.0, "eta": 1.0}, tables | {"ellipses": ellipses[:0]})
    table = hyper_errors([both, one, none])
    of_h = table[table["quantity"] != LARGEST]
    np.testing.assert_allclose(of_h["standard_error"], [0.2, 0.2, 0.4, 0.3, np.nan, np.nan])
    assert list(of_h["draws"]) == [12, 12, 500, 500, 500, 500]
    np.testing.assert_allclose(table[table["quantity"] == LARGEST]["standard_error"], 0.5 * np.exp(-1))


def test_a_function_is_given_the_errors_if_it_asks_for_them():
    errors = table_of([found("run", "x", "repeats", 3, 2.0, 0.5)])
    assert with_errors(lambda records: records, errors)([1]) == [1]
    assert with_errors(lambda records, errors: (records, errors), errors)([1]) == ([1], errors)


def test_errors_that_are_not_there_are_missed_by_name():
    errors = table_of([found("run", "x", "repeats", 3, 2.0, 0.5)])
    there, other = (record("first_look", name, {}, {}, {}) for name in ("run", "other"))
    assert errors_of(errors, there).loc["x", "standard_error"] == 0.5
    with pytest.raises(MissingErrors, match="other") as missed:
        errors_of(errors, other)
    assert missed.value.concerns(other)
    assert not missed.value.concerns(there)
