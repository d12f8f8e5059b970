"""Results of the commands from made-up records: what they keep of a chain, and what they say."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayestopics.base.wording import at_the_end, show_warnings
from bayestopics.evidence.compute import summary as evidence_summary
from bayestopics.lda.state import Prior
from bayestopics.runs import fit, hdp, jump, kinds, select_result, words
from bayestopics.runs import score as score_run
from bayestopics.runs.driver import seconds_in
from bayestopics.runs.fit_result import FitResult
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task
from made_up import bars


def of_kind(kind: type, study: str, params: dict[str, Any], answer: dict[str, Any], **tables: pd.DataFrame) -> Any:
    task = Task(study, OWN, study, params, 1, "/folder/x.ldac", "f00d", "c0de")
    return kind(task, {}, [], tables, versions={}, answer=answer)


def trace(column: str, step: str = "sweep") -> pd.DataFrame:
    """Two chains of five; the second comes first in the table."""
    rows = {step: [*range(5)] * 2, "chain": [1] * 5 + [0] * 5, column: [10, 11, 12, 13, 14, 0, 1, 2, 3, 4]}
    return pd.DataFrame(rows)


def test_a_fit_keeps_what_comes_after_the_burn_in() -> None:
    """Guards the burn-in among the kept sweeps, and chains in the wrong order."""
    found = of_kind(FitResult, "fit", {"burn_in": 2, "topics": 2}, {}, trace=trace("log_joint"))
    assert found.log_joint.tolist() == [[2, 3, 4], [12, 13, 14]]


@pytest.mark.parametrize(
    ("kind", "study", "columns", "step"),
    [
        (kinds.TopicPosteriorResult, "topics", ("topics", "log_estimate"), "step"),
        (kinds.TopicPosteriorResult, "topics", ("topics", "log_weight"), "step"),
        (kinds.HdpResult, "hdp", ("topics", "log_joint"), "sweep"),
    ],
)
def test_chains_in_arviz_have_no_burn_in(kind: type, study: str, columns: tuple[str, str], step: str) -> None:
    """Guards the burn-in, and a column under the name of another."""
    table = trace(columns[0], step).assign(**{columns[1]: lambda t: -t[columns[0]].astype(float)})
    data = of_kind(kind, study, {"burn_in": 3, "hyper": "fixed"}, {}, trace=table).to_arviz()
    assert data.posterior[columns[0]].to_numpy().tolist() == [[3, 4], [13, 14]]
    assert data.posterior[columns[1]].to_numpy().tolist() == [[-3, -4], [-13, -14]]


def test_all_sweeps_of_tempering_go_to_arviz() -> None:
    """Guards alpha and eta that are swapped; its trace has no burn-in."""
    table = trace("alpha").assign(eta=lambda t: t["alpha"] + 100)
    data = of_kind(kinds.HyperResult, "hyper", {"method": "tempering"}, {}, trace=table).to_arviz()
    assert data.posterior["alpha"].to_numpy().tolist() == [[0, 1, 2, 3, 4], [10, 11, 12, 13, 14]]
    assert data.posterior["eta"].to_numpy()[0].tolist() == [100, 101, 102, 103, 104]


TOPIC = {"topic": 0, "share": 1.0, "words": ["owl"]}


def selected(**changed: Any) -> Any:
    table = pd.DataFrame({"topics": [2, 3, 9], "probability": [0.9, 0.1, 1e-9], "standard_error": [0.04, 0.25, np.nan]})
    table = table.assign(low=[0.82, 0.0, 0.0], high=[0.98, 0.6, 0.05])
    answer = {"topics": 2, "agree": True, "probability": 0.9, "between": [0.8217, 0.961], "range": [2, 3]}
    answer |= {
        "alpha": 0.5,
        "eta": 0.1,
        "top_words": [TOPIC],
        "topics_of": "chain 0",
        "region": None,
        "first_answer": {"topics": 4},
    }
    answer |= {"chains": [{"start": 1, "mean": 2.0, "mode": 2}, {"start": 9, "mean": 2.5, "mode": 3}]}
    return of_kind(select_result.SelectResult, "select", {"burn_in": 3}, answer | changed, posterior=table)


def test_select_draws_the_posterior_with_its_intervals() -> None:
    """Guards another column, a probability below 0, and T that are out of question."""
    (axis,) = selected().plot().axes
    assert [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in axis.patches] == [(2, 0.9), (3, 0.1)]
    assert bars(axis) == [(2, pytest.approx(0.82), pytest.approx(0.98)), (3, 0.0, pytest.approx(0.6))]


def test_the_headline_of_select_is_a_range_of_probabilities() -> None:
    """Guards ends that are rounded towards each other, and a certainty that nobody has."""
    assert selected().headline == "T = 2 topics, with a probability between 82 % and 97 %"
    assert selected(between=[0.9872, 0.9991]).headline.endswith("between 98.7 % and 100.0 %")
    assert selected(between=[0.0, 1.0]).headline == "T = 2 topics, with unknown probability"


def test_the_headline_of_chains_that_disagree_has_no_probability() -> None:
    """Guards a percentage beside a warning."""
    apart = {"agree": False, "between": None, "probability": None, "range": [2, 31]}
    told = selected(**apart).headline
    assert told == "The chains disagree, so the number of topics is not known yet: they cover T from 2 to 31"
    alone = selected(**apart, chains=[{"start": 1}]).headline
    assert alone == "T from 2 to 31, by a single chain, which cannot show whether its start matters"


def test_select_leaves_out_what_is_out_of_question() -> None:
    """Guards nan in JSON, and keys of the posterior that are texts."""
    summary = selected().summary()
    assert summary["posterior"] == {2: 0.9, 3: 0.1}
    assert summary["standard_error"] == {2: 0.04, 3: 0.25}
    assert summary["interval"] == {2: (0.82, 0.98), 3: (0.0, 0.6)}
    assert list(summary)[:5] == ["topics", "agree", "probability", "between", "range"]


def told(shares: list[float], **changed: Any) -> list[str]:
    """What `select` prints about these shares of T = 1, 2, ..."""
    table = pd.DataFrame({"topics": np.arange(len(shares)) + 1, "probability": shares, "standard_error": np.nan})
    table = table.assign(low=0.0, high=1.0)
    hyper = {"alpha": {"median": 0.5, "low": 0.4, "high": 0.6}, "eta": None}
    found = selected(hyper=hyper, **NO_NUMBERS | changed)
    found.tables["posterior"] = table
    return [line.strip() for line in found.text().splitlines()]


NO_NUMBERS = dict.fromkeys(kinds.DIAGNOSTICS) | {"first_answer": {"topics": 4, "alpha": 0.1, "eta": 0.1}}


def test_a_long_posterior_has_one_line_for_all_that_is_negligible() -> None:
    """Guards a screen of 0.0 %, and small shares of a short list that are not told."""
    long = told([0.5, 0.499] + [0.0001] * 10)
    assert [line.split() for line in long if "others" in line] == [["10", "others", "0.1%", "together"]]
    assert sum("topics  " in line for line in long) == 2
    short = told([0.5, 0.499, 0.0001])
    assert sum("topics  " in line for line in short) == 3
    assert not any("others" in line for line in short)


def test_chains_that_disagree_tell_no_alpha() -> None:
    """Guards a narrow interval of alpha given one of many T, beside the sentence that T is not known."""
    assert "given T = 2:" in told([0.5, 0.5])
    assert "given T = 2:" in told([0.5, 0.5], agree=False, chains=[{"start": 1, "mean": 2.0, "mode": 2}])
    assert kinds.POSTERIOR in told([0.5, 0.5])
    apart = told([0.5, 0.5], agree=False, rhat=283776.66)
    assert kinds.POSTERIOR not in apart  # each chain is sure of its own T
    assert any(line.endswith("  more than 100") for line in apart)
    assert "given T = 2:" not in apart
    assert "alpha and eta depend on T, so they are not known either" in apart


def test_evidence_has_the_seconds_of_its_own_t() -> None:
    """Guards seconds in the order of the table in place of that of the answer."""
    timing = pd.DataFrame({"topics": [5, 5, 2, 2], "repeat": [0, 1, 0, 1], "seconds": [5.0, 6.0, 2.0, 3.0]})
    answer = {"topics": [2, 5], "log_evidence": [-2.0, -5.0], "standard_error": [0.1, 0.1]}
    found = of_kind(kinds.EvidenceResult, "evidence", {}, answer, timing=timing)
    assert found.summary()["seconds"] == [[2.0, 3.0], [5.0, 6.0]]


def test_the_text_names_those_that_errors_do_not_exclude() -> None:
    """Guards the best among the others, and numbers in each other's line."""
    summary = {"topics": [2, 5, 7], "log_evidence": [-2.0, -1.0, -9.0], "standard_error": [0.25, None, 0.5]}
    summary |= {"best": 5, "not_excluded": [2, 5], "warnings": []}
    _, *rest = kinds.show_evidence(summary).splitlines()
    assert [row.split()[:2] for row in rest[:3]] == [["2", "-2.00"], ["5", "-1.00"], ["7", "-9.00"]]
    assert [row.split()[2] == "0.25" for row in rest[:2]] == [True, False]
    said = re.findall(r"\b\d+\b(?!\.\d)", rest[4])  # whole numbers of the sentence below the table
    assert "5" in said
    assert "2" in said
    assert "7" not in said


# -- fit and hdp -------------------------------------------------------------------------------------------


def test_the_error_of_the_mean_over_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a mean of the errors, and a root in the wrong place: sqrt(3^2 + 4^2) / 2."""
    monkeypatch.setattr(fit, "mcse", lambda draws: np.array([3.0, 4.0]))
    assert fit._error_of_mean(np.zeros((2, 100))) == 2.5


@pytest.mark.parametrize(("rhat", "said"), [(1.01, False), (1.0101, True), (None, False)])
def test_chains_disagree_above_the_largest_r_hat(rhat: float | None, said: bool) -> None:
    """Guards the threshold of a warning."""
    from oracle import random_corpus

    corpus = random_corpus(np.random.default_rng(1), tokens=40, documents=6, terms=4)
    assert bool(fit._doubts(corpus, 2, rhat, None)) == said


@pytest.mark.parametrize(("apart", "drifts"), [(15.1, True), (14.9, False), (-15.1, True)])
def test_drift_is_three_errors_between_the_halves(apart: float, drifts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the threshold of three, the direction, and errors that are not added in squares: 3 and 4 are 5."""
    monkeypatch.setattr(hdp, "mcse", lambda half: 3.0 if half[0] == 0 else 4.0)
    assert bool(hdp.drift(np.repeat([0.0, apart], 20))) == drifts


def test_shares_of_topics() -> None:
    """Guards counts for shares."""
    assert hdp.shares_of(np.array([[2, 2, 3, 2], [3, 3, 3, 5]])) == {2: 0.375, 3: 0.5, 5: 0.125}


def test_r_hat_of_a_constant_number_of_topics() -> None:
    """Guards nan where all is the same, and a good R-hat where chains are stuck apart."""
    assert hdp.rhat_of_topics(np.full((2, 10), 4)) == 1.0
    assert hdp.rhat_of_topics(np.array([[3] * 10, [4] * 10])) == np.inf
    assert hdp.rhat_of_topics(np.full((2, 3), 4)) is None


def test_metrics_of_the_hdp_have_the_mean_number_of_topics() -> None:
    """Guards the mode, or a mean without weights, for the mean."""
    names = ("mode", "acceptance_rate", "rhat_topics", "rhat_log_joint", "heldout_per_word", "heldout_standard_error")
    answer = dict.fromkeys(names) | {"topics": {2: 0.75, 6: 0.25}, "concentrations": {"gamma": {"mean": 7.0}}}
    assert hdp._metrics(answer) == {"topics_mean": 3.0, "gamma_mean": 7.0}


# -- words -------------------------------------------------------------------------------------------------

COUNTS = np.array([[3, 0], [1, 4], [0, 6]])  # terms x topics


def test_words_of_the_largest_topic_come_first() -> None:
    """Guards a transposed count, words that do not occur, and shares of another topic."""
    from oracle import random_corpus

    corpus = dataclasses.replace(random_corpus(np.random.default_rng(1), 20, 3, 3), vocabulary=("ant", "bee", "cow"))
    first, second = words.top_words(corpus, COUNTS)
    assert first == {"topic": 1, "share": 10 / 14, "words": ["cow", "bee"]}
    assert second == {"topic": 0, "share": 4 / 14, "words": ["ant", "bee"]}
    table = words.topics_table(corpus, COUNTS, 0.5)
    assert table["term"].tolist() == ["ant", "bee", "cow", "bee"]
    assert table["probability"].tolist() == pytest.approx([3.5 / 5.5, 1.5 / 5.5, 6.5 / 11.5, 4.5 / 11.5])
    assert words.topic_shares(COUNTS)["share"].tolist() == pytest.approx([4 / 14, 10 / 14])


# -- the environment ---------------------------------------------------------------------------------------


def test_seconds_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a variable that is not read, and an empty one."""
    monkeypatch.setenv("SOME_SECONDS", "2.5")
    assert seconds_in("SOME_SECONDS", 30.0) == 2.5
    monkeypatch.setenv("SOME_SECONDS", "")
    assert seconds_in("SOME_SECONDS", 30.0) == 30.0


def test_a_result_of_a_study_is_no_command() -> None:
    """Guards a class that is chosen by the name alone."""
    from bayestopics.runs.result import class_of

    task = Task("fit", "smoke", "fit", {}, 1, "x", "f", "c")
    assert class_of(task) is Result
    assert class_of(dataclasses.replace(task, scale=OWN)) is FitResult


def test_three_warnings_on_top_and_the_rest_as_details() -> None:
    found = of_kind(kinds.EvidenceResult, "evidence", {}, {})
    one = dataclasses.replace(found, warnings=list("abcde"))
    assert show_warnings(one.warnings) == [
        "warning: a",
        "warning: b",
        "warning: c",
        "details (2 more):",
        "  - d",
        "  - e",
    ]
    assert show_warnings(list("ab")) == ["warning: a", "warning: b"]
    shown = Result._repr_html_(dataclasses.replace(Result(found.task, {}, list("abcde"), versions={})))
    top, details = shown.split("<details>")
    assert "<li>c</li>" in top
    assert "<li>d</li>" not in top
    assert "<li>d</li><li>e</li>" in details


def test_the_largest_number_of_topics_that_was_tried_may_not_be_the_best() -> None:
    assert at_the_end([2, 4, 3], 4, "score")[0].endswith("such as --topics 4-8; 4 was the largest.")
    assert at_the_end([2, 4, 3], 3, "score") == at_the_end([4], 4, "score") == []
    for logs, expected in (([[1.0, 1.0], [2.0, 2.0]], 1), ([[2.0, 2.0], [1.0, 1.0]], 0)):
        said = evidence_summary("reference", Prior(), [2, 3], logs, [[0.0] * 2] * 2)["warnings"]
        assert sum("end of the range" in one for one in said) == expected


def test_values_are_rounded_to_what_is_known() -> None:
    shown = [kinds.with_error(-9801.91, error, ",.2f") for error in (42.09, 0.24, 0.0031, None, 0.0)]
    assert shown == ["-9,802", "-9,801.91", "-9,801.9100", "-9,801.91", "-9,801.91"]


def scored(logs: list[float]) -> tuple[dict[str, Any], dict[str, pd.DataFrame], list[str]]:
    """A completion score of four documents with one, two, one and two held-out words."""
    words = [1, 2, 1, 2]
    table = pd.DataFrame({"document": range(4), "tokens": words, "log_probability": logs})
    answer = {"log_score": sum(logs) / 6, "standard_error": 0.01, "perplexity": 9.0}
    return answer, {"heldout": table, "batches": pd.DataFrame({"sweeps": [1]})}, []


def test_scores_of_several_numbers_of_topics_are_compared_on_the_same_documents() -> None:
    """Guards the error of the difference: documents differ much more from each other than from model to model."""
    task = Task("score", OWN, "completion", {"method": "completion", "topics": [2, 3, 4]}, 1, "x", "f00d", "c0de")
    far = [one - 1.2 * n for one, n in zip([-1.0, -9.0, -2.0, -6.0], [1, 2, 1, 2], strict=True)]
    found = {2: scored(far), 3: scored([-1.0, -9.0, -2.0, -6.0]), 4: scored([-1.5, -8.4, -2.1, -6.2])}
    result = score_run._together(task, found)
    assert (result.answer["best"], result.answer["not_excluded"]) == (3, [3, 4])
    assert result.answer["difference"] == pytest.approx([-1.2, 0.0, -0.2 / 6])
    assert result.answer["difference_error"][0] == pytest.approx(0.0, abs=1e-12)  # the same for each word
    lead, mean = np.array([-0.5, 0.6, -0.1, -0.2]), -0.2 / 6
    by_hand = np.sqrt(np.sum((lead - mean * np.array([1, 2, 1, 2])) ** 2) / 3 / 4) / 1.5
    assert result.answer["difference_error"][2] == pytest.approx(by_hand)
    assert result.tables["heldout"]["topics"].tolist() == [2] * 4 + [3] * 4 + [4] * 4
    assert result.warnings == []


def test_a_long_list_of_topics_is_cut_and_says_so() -> None:
    rows = [{"topic": t, "share": 1 / 40, "words": ["a"]} for t in range(40)]
    lines = kinds.show_words(rows)
    assert len(lines) == 1 + kinds.MANY_TOPICS + 1
    assert lines[-1].startswith("10 more topics have 25.0% of the tokens together")
    assert len(kinds.show_words(rows[: kinds.MANY_TOPICS])) == 1 + kinds.MANY_TOPICS


@pytest.mark.parametrize(
    ("alpha", "eta", "said"),
    [
        (1.05, None, ""),
        (1.051, 1.0, "about alpha, so the ranges given for it .* R-hat is 1.05 for log alpha, but"),
        (1.2, 1.3, "about alpha and eta, so .* R-hat is 1.20 for log alpha and 1.30 for log eta, but"),
    ],
)
def test_chains_that_disagree_about_alpha_or_eta(alpha: float, eta: float | None, said: str) -> None:
    found = jump.hyper_doubts({"rhat_log_alpha": alpha, "rhat_log_eta": eta})
    assert len(found) == bool(said)
    assert re.search(said, "".join(found))


@pytest.mark.parametrize(
    ("error", "shown"),
    [(1e-8, ["4.00", "less than 0.005"]), (0.005, ["4.0000", "0.005"]), (None, ["4", "unknown"])],
)
def test_a_mean_that_is_as_good_as_known_is_not_shown_to_nine_digits(error: float | None, shown: list[str]) -> None:
    assert [value for _, value in kinds.labelled({"mean": 4.00000003, "mean_error": error})] == shown
