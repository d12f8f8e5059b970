"""The study of blocking: runs differ only in the sampler, and verdicts follow from the numbers."""

import numpy as np
import pandas as pd
import pytest

from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.runs import chain
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import same_bits
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.blocking import claims, compute_chain, compute_times
from bayestopics.studies.blocking.tables import summary_table, trapped
from bayestopics.studies.errors import MissingErrors, Row, errors_of_study, found, table_of, with_errors
from bayestopics.studies.records import MissingRecords

MODEL = {"topics": 3, "alpha": 0.1, "eta": 0.1, "heldout_documents": 5, "sweeps": 40}


NO_ERRORS = table_of([])


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(1)
    return simulate_lda(documents=20, length=20, terms=12, topics=3, alpha=0.2, eta=0.2, rng=rng).corpus


def run(sampler: str, number: int, corpus: str = "bars") -> Task:
    params = MODEL | {"kind": "chain", "sampler": sampler, "run": number, "corpus": corpus}
    return Task("blocking", "smoke", f"{corpus}-{sampler}-run{number}", params, 1, corpus, "none", "none")


def test_runs_of_one_number_start_alike(corpus, tmp_path, monkeypatch):
    starts = {}

    def catch(*arguments, start, **more):
        starts[more["description"]] = start
        raise StopIteration

    monkeypatch.setattr(chain, "run_chain", catch)
    for one in (run("single-site", 0), run("grouped", 0), run("single-site", 1)):
        with pytest.raises(StopIteration):
            compute_chain.compute(one, corpus, Checkpoint(tmp_path, one))
    first, same, other = starts.values()
    np.testing.assert_array_equal(first, same)
    assert np.any(first != other)


def test_a_run_has_everything_that_the_summary_needs(corpus, tmp_path):
    one = run("blocked-nested", 0)
    record = compute_chain.compute(one, corpus, Checkpoint(tmp_path, one, every_seconds=0))
    assert list(record.trace["sweep"]) == list(range(40))
    assert record.trace["perplexity"].notna().sum() == 4
    assert record.trace["together"].between(0, 1).all()
    assert record.metrics["log_joint"] == pytest.approx(record.trace["log_joint"][-4:].mean())
    # the checkpoint is the finished chain, and the result made again from it is the same
    assert same_bits(record, compute_chain.compute(one, corpus, Checkpoint(tmp_path, one)))
    summary = summary_table([record], errors_of_study("blocking", [record]))
    assert summary.loc[0, "trapped"] == 0
    for name in compute_chain.STATISTICS:
        assert summary.loc[0, f"autocorrelation_{name}"] == record.metrics[f"autocorrelation_{name}"]


def test_pairs_are_of_one_document(corpus):
    first, second = compute_chain.token_pairs(corpus, np.random.default_rng(0))
    np.testing.assert_array_equal(corpus.documents[first], corpus.documents[second])


def test_times_have_a_row_a_round(corpus):
    params = {"alpha": 0.1, "eta": 0.1, "samplers": ["single-site", "grouped"], "topics": [2, 3]}
    params |= {"settling_sweeps": 1, "rounds": 3}
    record = compute_times.compute(Task("blocking", "smoke", "x-times", params, 1, "x", "none", "none"), corpus, None)
    table = record.tables["timing"]
    assert len(table) == 3 * 2 * 3  # samplers (grouped with one and with all threads), topics, rounds
    assert (table["seconds"] > 0).all()


# -- verdicts, from made-up records ----------------------------------------------------------------


def made_up(sampler: str, number: int, corpus: str, log_joint: np.ndarray, perplexity: float) -> Result:
    metrics = {"log_joint": float(log_joint[-10:].mean()), "log_joint_spread": 1.0, "perplexity": perplexity}
    trace = pd.DataFrame({"sweep": np.arange(len(log_joint)), "log_joint": log_joint})
    return Result(run(sampler, number, corpus), metrics, tables={"trace": trace}, volatile={"seconds_a_sweep": 1.0})


def group(sampler: str, corpus: str, count: int, *, level: float = 0.0, perplexity: float, sweeps: int = 1000, at=1):
    """Chains that reach their level at sweep `at`; perplexities 0.001 apart."""
    trace = np.where(np.arange(sweeps) >= at - 1, level, level - 1000.0)
    return [made_up(sampler, number, corpus, trace, perplexity + 0.001 * number) for number in range(count)]


def answer(claim: str, records: list[Result], errors: pd.DataFrame = NO_ERRORS, **numbers):
    function = with_errors(getattr(claims, claim), errors)
    return function({record.task.name: record for record in records}, {}, numbers)


def times_of(records: list[Result], time: float) -> list[Row]:
    """Autocorrelation times of the log joint."""
    return [found(one.task.name, "log joint", "", 1, 0.0, None) | {"autocorrelation_time": time} for one in records]


def test_trapped_is_far_below_the_best():
    records = group("single-site", "bars", 3, perplexity=1) + group("grouped", "bars", 1, level=-11, perplexity=1)
    assert sorted(name for name, stuck in trapped(records).items() if stuck) == ["bars-grouped-run0"]


def test_b1():
    numbers = {"runs": 30, "trapped": {"single-site": 5, "blocked-nested": 5, "grouped": 10}}
    good = [*group("single-site", "bars", 30, perplexity=1), *group("blocked-nested", "bars", 30, perplexity=1)]
    augmented = group("grouped", "bars", 30, perplexity=2)
    for record in (*good[:5], *good[30:35], *augmented[:10]):
        record.metrics["log_joint"] -= 100
    assert answer("b1", good + augmented, **numbers).verdict == "reproduced"
    for record in good:
        record.metrics["perplexity"] += 2
    assert answer("b1", good + augmented, **numbers).verdict == "partly"
    for record in good:
        record.metrics["log_joint"] = -100
    assert answer("b1", good + augmented, **numbers).verdict == "not reproduced"


@pytest.mark.parametrize(
    ("level", "perplexity", "verdict"),
    [(0, 9, "reproduced"), (50, 9, "partly"), (0, 10, "partly"), (50, 10, "not reproduced")],
)
def test_b3(level, perplexity, verdict):
    records = group("single-site", "kos", 6, perplexity=10)
    records += group("blocked-nested", "kos", 6, level=level, perplexity=perplexity)
    assert answer("b3", records).verdict == verdict


@pytest.mark.parametrize(
    ("at", "perplexity", "verdict"),
    [(300, 9, "reproduced"), (450, 9, "partly"), (300, 10, "partly"), (700, 11, "not reproduced")],
)
def test_b4(at, perplexity, verdict):
    records = group("single-site", "nips", 6, perplexity=10, at=501)
    records += group("blocked-nested", "nips", 6, perplexity=perplexity, at=at)
    found = answer("b4", records)
    assert found.verdict == verdict
    assert f"after 501 (single-site) and {at} (blocked) sweeps" in found.ours


def times(corpus: str, **seconds: float) -> Result:
    rows = [
        {"sampler": name.replace("_", "-"), "topics": topics, "threads": 1, "round": 0, "seconds": value}
        for name, value in seconds.items()
        for topics in (8, 1024)
    ]
    one = Task("blocking", "smoke", f"{corpus}-times", {"kind": "times"}, 1, corpus, "none", "none")
    return Result(one, {}, tables={"timing": pd.DataFrame(rows)})


def test_b5():
    kos = times("kos", single_site=1, sparse=0.5, blocked_backward=2.5, blocked_nested=0.9)
    nips = times("nips", single_site=1, sparse=0.5, blocked_backward=1.3, blocked_nested=0.7)
    found = answer("b5", [kos, nips])
    assert found.verdict == "reproduced"
    assert found.details["nested_to_sparse"].round(1).tolist() == [1.8, 1.8, 1.4, 1.4]
    slow = times("nips", single_site=1, sparse=0.5, blocked_backward=5, blocked_nested=5)
    assert answer("b5", [kos, slow]).verdict == "partly"
    with pytest.raises(MissingRecords):
        answer("b5", [kos])


def test_t12():
    records = group("single-site", "whales", 4, perplexity=1) + group("grouped", "whales", 4, perplexity=1)
    clock = times("kos", grouped=1)
    table = clock.tables["timing"]
    clock.tables["timing"] = pd.concat([table, table.assign(threads=2, seconds=0.6)])
    for grouped, verdict in ((5.0, "reproduced"), (9.0, "partly")):
        errors = table_of([*times_of(records[:4], 2.0), *times_of(records[4:], grouped)])
        assert answer("t12", [*records, clock], errors).verdict == verdict
    with pytest.raises(MissingErrors):
        answer("t12", [*records, clock], errors[:4])


def test_too_few_runs_are_not_judged():
    records = group("single-site", "kos", 2, perplexity=10) + group("blocked-nested", "kos", 2, perplexity=9)
    assert answer("b3", records).verdict == "not comparable"
    assert "too few runs" in answer("b3", records).error
