"""`select` by hand: its starts, the headline, alpha and eta at the chosen T, and what a kill costs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from bayestopics.evidence.first_answer import FirstAnswer
from bayestopics.evidence.jump import Chain, Drawn
from bayestopics.evidence.topic_law import TopicLaw, covered, interval, law
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.urns import ENDS
from bayestopics.runs import select
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.jump import numbers_of

CORPUS = oracle.random_corpus(np.random.default_rng(1), tokens=60, documents=6, terms=8)
PRIOR = TopicPrior(1, 5)


def law_of(by_chain: list[dict[int, float]], error: float = 0.01, rhat: float | None = 1.0) -> TopicLaw:
    shares = {
        t: float(np.mean([one.get(t, 0.0) for one in by_chain])) for t in sorted({t for c in by_chain for t in c})
    }
    mode = max(shares, key=shares.__getitem__)
    errors = dict.fromkeys(shares, error)
    return TopicLaw(shares, errors, 3.0, 0.1, mode, rhat, 900.0, 0.05, 0.06, by_chain, 20.0 * len(by_chain))


def test_the_range_and_the_length_follow_from_the_size() -> None:
    assert select.default_prior(CORPUS) == TopicPrior(1, 7)
    sizes = {60: 5000, 100_000: 5000, 1_000_000: 1477, 100_000_000: 500}  # 1477: 600 s / (2 x (3 ms + 200 ns x tokens))
    assert {n: select.default_iterations(SimpleNamespace(token_count=n)) for n in sizes} == sizes  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "prior", "expected"),
    [
        (6, TopicPrior(1, 50), (6, 1, 12, 3, 6)),
        (6, TopicPrior(4, 10), (6, 4, 10, 4, 6)),
        (1, TopicPrior(1, 9), (1, 1, 2, 1, 1)),
        (6, TopicPrior(1, None, "poisson", 3.0), (6, 1, 12, 3, 6)),
    ],
)
def test_chains_start_below_at_and_above_the_first_answer(
    first: int, prior: TopicPrior, expected: tuple[int, ...]
) -> None:
    assert select.starts(first, prior, 5) == expected


# -- the headline --------------------------------------------------------------------------------------


def test_chains_that_agree_have_a_range_of_probabilities() -> None:
    """Guards a probability without its error, and a certainty that comes from few batches."""
    told = select.headline(law_of([{3: 0.8, 4: 0.2}, {3: 0.7, 4: 0.3}], error=0.05), 3)
    assert (told["topics"], told["agree"]) == (3, True)
    assert told["probability"] == pytest.approx(0.75)
    assert told["between"] == pytest.approx([0.65, 0.85])
    sure = select.headline(law_of([{3: 1.0}, {3: 1.0}], error=0.0), 3)
    assert sure["between"] == pytest.approx([1 - 3 / 40, 1.0])


def test_chains_that_disagree_have_the_range_that_they_cover() -> None:
    """Guards a percentage from chains of which each is sure of another T."""
    told = select.headline(law_of([{3: 0.99, 4: 0.01}, {8: 0.5, 9: 0.49, 30: 0.01}], rhat=7.0), 3)
    assert not told["agree"]
    assert told["probability"] is told["between"] is None
    assert told["range"] == [3, 9]
    assert not select.headline(law_of([{3: 1.0}], rhat=None), 3)["agree"]
    assert not select.headline(law_of([{3: 1.0}] * 2, rhat=1.06), 3)["agree"]


def test_intervals_stay_between_0_and_1_and_are_unknown_without_errors() -> None:
    found = law_of([{3: 0.9, 4: 0.1}] * 2, error=0.2)
    assert interval(found, 3) == pytest.approx((0.5, 1.0))
    assert interval(found, 4) == pytest.approx((0.0, 0.5))
    assert interval(law_of([{3: 0.9, 4: 0.1}], error=np.nan), 3) == (0.0, 1.0)
    rare = law_of([{3: 1.0, 4: 0.0}] * 2, error=0.0)
    assert interval(rare, 4) == pytest.approx((0.0, 3 / 40))


def test_the_range_is_that_of_the_middle_of_each_chain() -> None:
    assert covered(law_of([{2: 0.02, 3: 0.96, 4: 0.02}]), 0.95) == (3, 3)
    assert covered(law_of([{2: 0.03, 3: 0.94, 4: 0.03}]), 0.95) == (2, 4)
    assert covered(law_of([{2: 1.0}, {7: 1.0}]), 0.95) == (2, 7)


@pytest.mark.parametrize(("draws", "expected"), [(10, 20 * np.log10(20)), (1000, 900.0)])
def test_no_effective_sample_size_is_beyond_belief(draws: int, expected: float) -> None:
    """900 is what the batches say: a thousand draws may be worth that, but not twenty."""
    chains = [Chain(n, 3, *[None] * 2, 3, 0, {}, {}, None) for n in range(2)]  # type: ignore[arg-type]
    rows = {"chain": np.repeat([0, 1], draws), "topics": 3, "log_joint": np.arange(2.0 * draws), "log_weight": 0.0}
    moves = pd.DataFrame(columns=["chain", "split", "log_work", "accepted"])
    numbers = numbers_of(law_of([{3: 1.0}] * 2), chains, pd.DataFrame(rows), moves)
    assert numbers["effective_sample_size"] == pytest.approx(expected)


# -- alpha, eta and the topics -------------------------------------------------------------------------


def kept(topics: list[int], alphas: list[float], weights: list[float], chains: list[int]) -> pd.DataFrame:
    table = pd.DataFrame({"chain": chains, "topics": topics, "alpha": alphas, "log_weight": np.log(weights)})
    return table.assign(eta=table["alpha"] ** 2)


def test_alpha_and_eta_are_those_of_the_chosen_number() -> None:
    """Guards draws at other T, weights that are forgotten, and eta for alpha."""
    table = kept([2, 2, 2, 3], [0.1, 0.2, 0.3, 9.0], [1.0, 8.0, 1.0, 500.0], [0, 0, 0, 0])
    found = select.hyper_at(table, 2)
    assert (found["alpha"], found["eta"]) == pytest.approx((0.2, 0.04))
    assert found["hyper"]["alpha"]["mean"] == pytest.approx(0.2)
    assert found["hyper"]["eta"]["high"] == pytest.approx(0.09)
    assert found["region"] is None  # both sides are the same here


def test_the_region_is_the_weighted_covariance_of_the_logs() -> None:
    rng = np.random.default_rng(2)
    table = kept([2] * 50, np.exp(rng.normal(size=50)).tolist(), rng.random(50).tolist(), [0] * 50)
    table["eta"] = np.exp(rng.normal(size=50))
    logs, weights = np.log(table[["alpha", "eta"]].to_numpy()), np.exp(table["log_weight"].to_numpy())
    region = select.hyper_at(table, 2)["region"]
    assert_allclose(region["log_covariance"], np.cov(logs.T, aweights=weights, bias=True))
    assert_allclose(region["center"], np.exp(np.average(logs, axis=0, weights=weights)))


def test_weights_of_different_chains_have_different_units() -> None:
    table = kept([2] * 4, [0.1, 0.2, 0.3, 0.4], [1.0, 3.0, 1e9, 1e9], [0, 0, 1, 1])
    assert_allclose(select._shares(table), [0.125, 0.375, 0.25, 0.25])


def test_one_topic_has_no_alpha() -> None:
    found = select.hyper_at(kept([1, 1], [0.1, 0.2], [1.0, 1.0], [0, 0]), 1)
    assert found["alpha"] is found["hyper"]["alpha"] is found["region"] is None
    assert found["eta"] > 0


def test_the_topics_are_those_of_the_chain_that_has_the_mode_most() -> None:
    def chain(number: int, **drawn: float) -> Chain:
        made = {int(t[1:]): Drawn(np.zeros(1), alpha, 0.0, 1.0) for t, alpha in drawn.items()}
        nothing: Any = None
        return Chain(number, 1, nothing, nothing, 1, 0, nothing, {}, nothing, drawn_by_topics=made)

    chains = [chain(0, t3=0.1), chain(1, t3=0.2, t4=0.3), chain(2, t4=0.4)]
    found = law_of([{3: 0.5, 4: 0.5}, {3: 0.9, 4: 0.1}, {3: 0.99, 4: 0.01}])
    number, best = select.chosen(chains, found)
    assert (number, best.number) == (3, 1)  # the last chain has no draw of it
    number, best = select.chosen(chains[2:], found)
    assert (number, best.number) == (4, 2)  # no draw of 3 at all


# -- the run -------------------------------------------------------------------------------------------


def compute(folder: Path) -> Any:
    task = select.task_of(CORPUS, PRIOR, 7, chains=2, iterations=20, burn_in=20)
    return select.compute(task, CORPUS, Checkpoint(folder, task))


def test_the_first_chain_goes_on_from_the_first_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guards a first answer that no chain uses, h that starts elsewhere, and a wrong promise of time."""
    z = np.arange(60, dtype=np.int32) % 4
    asked: dict[str, Any] = {}

    class Asked(Exception):
        pass

    def run_chains(corpus: Any, prior: Any, walk: Any, **how: Any) -> None:
        asked.update(how, prior=prior, walk=walk)
        raise Asked

    answer = FirstAnswer(4, z, 0.3, 0.6, 30.0, 7.0, [(5, -9.0), (4, -8.0)])
    monkeypatch.setattr(select, "first_answer", lambda corpus, prior, rng: answer)
    monkeypatch.setattr(select, "run_chains", run_chains)
    with pytest.raises(Asked):
        compute(tmp_path)
    told = "4 topics, alpha 0.3, eta 0.6; 2 chains of 40 iterations follow, for about 40 minutes\n"
    assert capsys.readouterr().err.endswith(told)
    assert asked["hyper"] == ENDS
    assert list(asked["found"]) == [0]
    assert_array_equal(asked["found"][0], z)
    assert (asked["prior"].alpha, asked["prior"].eta) == (0.3, 0.6)
    assert (asked["walk"].starts, asked["walk"].iterations, asked["walk"].burn_in) == ((4, 1), 20, 20)
    # it is in the checkpoint, and not made again
    monkeypatch.setattr(select, "first_answer", None)
    asked.clear()
    with pytest.raises(Asked):
        compute(tmp_path)
    assert_array_equal(asked["found"][0], z)


@pytest.mark.parametrize(
    ("tokens", "workers", "expected"),
    [
        (5_000, 1, 4 * 200.0),  # 100 iterations of 2 seconds in each of 4 chains, and no ratings on a small corpus
        (5_000, 2, 2 * 200.0),
        (5_000, 8, 200.0),
        (50_000, 1, 4 * 200.0 + 3 * 30 * 1.5 * 4.0),  # ratings of 4 seconds in all chains but the first
        (50_000, 2, 2 * 200.0 + 2 * 30 * 1.5 * 4.0),  # the second worker has two chains with ratings
        (240_000, 1, 4 * 200.0 + 3 * 30 * 1.5 * 1.0),  # of a quarter of the documents
    ],
)
def test_the_expected_time_has_the_ratings_of_other_topics(tokens: int, workers: int, expected: float) -> None:
    found = FirstAnswer(4, np.zeros(1), 0.3, 0.6, 2.0, 4.0)
    corpus: Any = SimpleNamespace(token_count=tokens)
    assert select.expected_seconds(found, corpus, 4, 100, workers) == pytest.approx(expected)


def test_a_result_has_its_tables(tmp_path: Path) -> None:
    found = compute(tmp_path)
    table = found.tables["posterior"]
    assert table["probability"].sum() == pytest.approx(1)
    whole = law(found.tables["batches"])
    assert list(zip(table["low"], table["high"], strict=True)) == [interval(whole, t) for t in table["topics"]]
    assert found.tables["first_answer"]["topics"].iloc[-1] == 1
    assert found.tables["trace"].groupby("chain")["step"].count().tolist() == [40, 40]
    assert found.arrays["assignments"].shape == (60,)
    assert found.metrics["topics"] == found.answer["topics"]
    assert sum(one["share"] for one in found.answer["top_words"]) == pytest.approx(1)
