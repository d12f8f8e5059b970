"""The study of split-merge: resumed runs, figures and tables from their records, and verdicts from made-up records."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

import hdp_oracle
from bayestopics.corpus.registry import Registry
from bayestopics.nonparametric.hdp_state import HdpPrior, from_assignments
from bayestopics.runs import result
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import same_bits
from bayestopics.runs.task import Task
from bayestopics.studies.errors import errors_of_study, table_of
from bayestopics.studies.records import MissingRecords
from bayestopics.studies.split_merge import (
    claims,
    compute_agreement,
    compute_blocks,
    compute_law,
    compute_perplexity,
    compute_synthetic,
    figures,
    tables,
)
from killing import Killed, Killing

SETTING = {"gamma": 1.0, "concentration": 2.0, "eta": 0.2, "start": 1}
CASES = [
    {"documents": [[0, 0, 1], [1, 2], []], "terms": 3, "gamma": 0.7, "concentration": 2.0, "eta": 0.3},
    {"documents": [[0, 0, 0, 1], [0, 1, 1]], "terms": 2, "gamma": 3.0, "concentration": 0.5, "eta": 1.0},
]
KINDS = {
    "synthetic": (compute_synthetic, {"sweeps": 12, "seeds": 2}),
    "perplexity": (compute_perplexity, {"sweeps": 6, "seeds": 2, "evaluations": 3, "particles": 2}),
    "blocks": (compute_blocks, {"sweeps": 12, "seeds": 2}),
    "agreement": (
        compute_agreement,
        {"starts": [1, 4], "sweeps": dict.fromkeys(compute_agreement.MOVES, 8)},
    ),
    "law": (compute_law, {"sweeps": 20, "seeds": 2, "cases": CASES}),
}
Result = partial(result.Result, versions={})  # to look them up takes time


def run(kind: str, corpus: str = "tiny-hdp", name: str = "", **params) -> Task:
    params = {"kind": kind, "corpus": corpus, **SETTING, **KINDS[kind][1], **params}
    return Task("split_merge", "smoke", name or f"{corpus}-{kind}", params, 1, corpus, "-", "-")


# -- runs ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated():
    return Registry().simulate("tiny-hdp")


@pytest.fixture(scope="module")
def computed(simulated, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    runs = {kind: run(kind) for kind in KINDS}
    return {kind: KINDS[kind][0].compute(r, simulated.corpus, Checkpoint(folder, r)) for kind, r in runs.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_goes_on_with_the_same_bits(kind, simulated, computed, tmp_path):
    one, compute = run(kind), KINDS[kind][0].compute
    for _ in range(2):
        with pytest.raises(Killed):
            compute(one, simulated.corpus, Killing(tmp_path, one, every_seconds=0))
    checkpoint = Checkpoint(tmp_path, one)
    assert len(checkpoint.load()) == 2
    assert same_bits(compute(one, simulated.corpus, checkpoint), computed[kind])


def test_samplers_share_the_start_and_the_held_out_documents(computed):
    start = computed["perplexity"].tables["chains"].query("sweep == 0")
    assert (start.groupby("seed")["log_perplexity"].nunique() == 1).all()
    assert start["log_perplexity"].nunique() == 2  # another split for each seed


def test_seconds_are_volatile_and_grow(computed):
    timing = computed["perplexity"].tables["timing"]
    assert "seconds" not in computed["perplexity"].tables["chains"]
    assert (timing.groupby(["sampler", "seed"])["seconds"].diff().dropna() >= 0).all()


def test_agreement_has_a_row_per_sampler(computed):
    table = tables.agreement_table([computed["agreement"]])
    assert sorted(table["sampler"]) == sorted(compute_agreement.MOVES)
    assert {"corpus", "eta", "seconds_a_chain", "rhat_topics", "rhat_log_joint", "topics_from_1", "topics_from_4"} <= {
        *table.columns
    }
    moved = table.set_index("sampler")[list(compute_agreement.KINDS)].sum(axis=1)
    assert moved["gibbs"] == 0


def test_every_document_is_in_one_part(simulated):
    training, held_out = compute_perplexity.split(simulated.corpus, np.random.default_rng(1))
    assert np.count_nonzero(held_out.document_lengths) == 8  # of 40
    assert not np.any((training.document_lengths > 0) & (held_out.document_lengths > 0))
    assert training.token_count + held_out.token_count == simulated.corpus.token_count


def test_perplexity_of_one_topic_is_known(simulated):
    """With all tokens in one topic and almost no weight on new topics, words are independent draws from it."""
    corpus, prior = simulated.corpus, HdpPrior(1.0, 1e-3, 0.2)
    state = from_assignments(corpus, prior, np.zeros(corpus.token_count), np.array([1 - 1e-12, 1e-12]))
    phi = (np.bincount(corpus.terms, minlength=corpus.term_count) + 0.2) / (corpus.token_count + 0.2 * 25)
    value = compute_perplexity.log_perplexity(state, corpus, 2, np.random.default_rng(1))
    assert value == pytest.approx(-np.log(phi)[corpus.terms].mean(), rel=1e-9)


@pytest.mark.parametrize("case", CASES, ids=["five tokens", "seven"])
def test_the_enumerated_posterior_is_that_of_the_oracle(case):
    corpus, prior = compute_law.corpus_of(case), compute_law.prior_of(case)
    found, oracle = compute_law.posterior(corpus, prior), hdp_oracle.posterior(corpus, prior)
    expected = {tuple(z): p for z, p in zip(oracle.partitions.tolist(), oracle.probability, strict=True)}
    assert found == pytest.approx(expected, rel=1e-10)
    assert compute_law.topics_of(found).to_dict() == pytest.approx(dict(enumerate(oracle.topics[1:], 1)))


def test_the_law_of_the_exact_samplers_is_the_posterior_and_that_of_the_paper_is_not(tmp_path):
    one = run("law", sweeps=2_000, seeds=1, cases=CASES[:1])
    distances = compute_law.compute(one, None, Checkpoint(tmp_path, one)).metrics
    assert max(distances[f"distance_topics_{name}"] for name in ("gibbs", "exact", "exact-words")) < 0.08
    assert distances["distance_topics_paper"] > 0.15


def test_the_truth_is_matched_with_itself():
    long = Registry().simulate("overlapping-topics-long")  # so that shares of words are near their probabilities
    z = long.truth["assignments"]
    state = from_assignments(long.corpus, HdpPrior(1.0, 1.0, 0.1), 9 - z, np.full(11, 1 / 11))  # other labels
    confusion, matches = compute_synthetic.compare(state, long.truth)
    assert (confusion["true"] == confusion["found"]).all()
    assert matches["separated"].all()
    assert (matches["recall"] == 1).all()
    assert matches["ceiling"].between(0.05, 0.9).all()
    merged = from_assignments(long.corpus, HdpPrior(1.0, 1.0, 0.1), np.maximum(z - 5, 0), np.full(6, 1 / 6))
    confusion, matches = compute_synthetic.compare(merged, long.truth)
    assert confusion["tokens"].sum() == long.corpus.token_count
    assert matches["distance"].isna().sum() == 5  # topics without a match
    assert matches.loc[7:, "separated"].all()
    assert matches.loc[:4, "separated"].sum() <= 1


def test_figures_and_tables(computed):
    for draw in (figures.draw_data, figures.draw_topics, figures.draw_acceptance, figures.draw_confusion):
        pyplot.close(draw([computed["synthetic"]], "smoke"))
    pyplot.close(figures.draw_perplexity([computed["perplexity"]], "smoke"))
    errors = errors_of_study("split_merge", computed.values())
    pyplot.close(figures.draw_blocks([computed["blocks"]], "smoke", errors))
    pyplot.close(figures.draw_law([computed["law"]], "smoke"))
    law = tables.law_table([computed["law"]], errors)
    assert len(law) == len(CASES) * len(tables.LABELS)
    chains = computed["law"].tables["chains"].query("case == 0 and sampler == 'gibbs'")["mean_topics"]
    assert tuple(law.loc[0, ["mean_topics", "mean_topics_error"]]) == tables.mean_and_error(chains)
    blocks, times = tables.blocks_table([computed["blocks"]], errors), computed["blocks"].tables["times"]
    assert list(blocks["sampler"]) == ["plain", "blocked"]
    means = times.groupby("sampler", sort=False)["autocorrelation_topics"].mean()
    np.testing.assert_array_equal(blocks["autocorrelation_topics"], means)
    samplers = tables.samplers_table([computed["synthetic"]], errors)
    assert len(samplers) == 4
    late = tables.second_half(computed["synthetic"]).query("sampler == 'gibbs'").groupby("seed")["topics"].mean()
    assert tuple(samplers.loc[0, ["topics", "topics_error"]]) == tables.mean_and_error(late)
    table = tables.perplexity_table([computed["perplexity"]])
    assert table["log_ratio_to_gibbs_end"].isna().sum() == 1  # of Gibbs


# -- verdicts --------------------------------------------------------------------------------------------


def ask(claim: str, *records):
    return claims.CLAIMS[claim].answer({one.task.name: one for one in records}, table_of([]), {})


def verdict(claim: str, *records) -> str:
    return ask(claim, *records).verdict


def synthetic(
    name: str = "one",
    *,
    first: dict[str, int],
    accepted: tuple[float, float] = (0.5, 0.1),
    separated: dict[str, int] | None = None,
    sweeps: int = 1000,
    seeds: int = 4,
    most: int = 10,
):
    """K is 5 before the sweep `first` of a sampler and `most` from then on; with 0 it never gets there. `accepted` has
    the shares before and after; `separated` is the number of separated first topics, 0 if not given."""
    chains, matches, rng = [], [], np.random.default_rng(1)
    sweep = np.arange(1, sweeps + 1)
    for sampler in tables.LABELS:
        for seed in range(seeds):
            since = first.get(sampler, 0) + seed if first.get(sampler, 0) else sweeps + 1
            there, moves = sweep >= since, int(sampler != "gibbs")
            taken = moves * (rng.random(sweeps) < np.where(there, accepted[1], accepted[0]))
            columns = {"sweep": sweep, "topics": np.where(there, most, 5)}
            columns |= {"splits": moves, "splits_accepted": taken, "merges": 0, "merges_accepted": 0}
            chains.append(pd.DataFrame(columns).assign(sampler=sampler, seed=seed))
            yes = np.arange(10) < (separated or {}).get(sampler, 0)
            columns = {"true": np.arange(10), "distance": 0.1, "separated": yes, "recall": 0.2, "ceiling": 0.3}
            matches.append(pd.DataFrame(columns).assign(sampler=sampler, seed=seed))
    made = {"chains": pd.concat(chains), "matches": pd.concat(matches)}
    one = run("synthetic", "overlapping-topics", name, sweeps=sweeps, seeds=seeds)
    return Result(one, {}, tables=made, arrays={"topics": np.eye(10)})


def perplexity(corpus: str, ends: dict[str, float], *, name: str = "one", seeds: int = 4, slow: float = 1.0):
    """The log perplexity goes straight from 8 to these ends; a sweep of split-merge takes `slow` times as long."""
    chains, timing = [], []
    for seed in range(seeds):
        for sampler, end in ends.items():
            keys = {"sampler": sampler, "seed": seed, "sweep": np.arange(5)}
            values = np.linspace(8, end + 0.001 * seed * (sampler != "gibbs"), 5)
            seconds = np.arange(5.0) * (1.0 if sampler == "gibbs" else slow)
            chains.append(pd.DataFrame({**keys, "topics": 3, "log_perplexity": values}))
            timing.append(pd.DataFrame({**keys, "seconds": seconds}))
    one = run("perplexity", corpus, name, seeds=seeds, sweeps=4)
    made = {"chains": pd.concat(chains, ignore_index=True), "timing": pd.concat(timing, ignore_index=True)}
    return Result(one, {}, tables=made)


SOON = {"exact": 10, "exact-words": 10, "paper": 10}


def test_s1_gibbs_late_and_split_merge_soon():
    assert verdict("S1", synthetic(first=SOON)) == "reproduced"
    assert verdict("S1", synthetic(first={"exact": 10, "paper": 100})) == "partly"
    assert verdict("S1", synthetic("one", first=SOON), synthetic("two", first={})) == "partly"
    assert verdict("S1", synthetic(first={**SOON, "gibbs": 500})) == "not reproduced"
    assert verdict("S1", synthetic(first=SOON, most=14)) == "not reproduced"  # K passed 10 and went further
    assert verdict("S1", synthetic(first=SOON, sweeps=100)) == "not comparable"
    assert verdict("S1", synthetic(first=SOON, seeds=2)) == "not comparable"


def test_s2_acceptance_falls():
    late = {"exact": 300, "paper": 300}
    assert verdict("S2", synthetic(first=late)) == "reproduced"
    assert verdict("S2", synthetic(first=late, accepted=(0.1, 0.5))) == "not reproduced"
    assert verdict("S2", synthetic("one", first=late), synthetic("two", first=late, accepted=(0.1, 0.5))) == "partly"
    assert verdict("S2", synthetic(first={})) == "not comparable"


def test_s3_only_split_merge_separates():
    both = {"exact": 5, "paper": 4}
    assert verdict("S3", synthetic(first=SOON, separated=both)) == "reproduced"
    assert verdict("S3", synthetic(first=SOON, separated={"exact": 5, "paper": 3})) == "partly"
    assert verdict("S3", synthetic(first=SOON, separated={**both, "gibbs": 2})) == "not reproduced"
    assert verdict("S3", synthetic(first=SOON, separated=both, sweeps=500)) == "not comparable"


def test_s3b_equal_chance_is_sooner():
    assert verdict("S3b", synthetic(first={"exact": 10, "exact-words": 300})) == "reproduced"
    assert verdict("S3b", synthetic(first={"exact": 300, "exact-words": 10})) == "not reproduced"
    assert verdict("S3b", synthetic(first=SOON)) == "not reproduced"  # the same is not sooner


@pytest.mark.parametrize(("claim", "corpus"), [("S4", "nips-abstracts"), ("S5", "20news-w100")])
def test_s4_and_s5_lower_at_equal_seconds(claim, corpus):
    lower = {"gibbs": 7.0, "exact": 6.9, "paper": 6.9}
    assert verdict(claim, perplexity(corpus, lower)) == "reproduced"
    assert verdict(claim, perplexity(corpus, lower, slow=2.0)) == "not reproduced"  # lower per sweep, not per second
    assert verdict(claim, perplexity(corpus, {**lower, "paper": 7.1})) == "partly"
    assert verdict(claim, perplexity(corpus, lower, seeds=2)) == "not comparable"
    with pytest.raises(MissingRecords):
        ask(claim, perplexity("whales", lower))


def test_equal_seconds():
    found = perplexity("x", {"gibbs": 7.0, "exact": 6.0}, seeds=1, slow=2.0)
    equal = tables.at_equal_seconds(found, points=3)
    assert equal["seconds"].max() == 4.0  # where Gibbs ends
    assert equal.query("sampler == 'exact'")["log_perplexity"].tolist() == [8.0, 7.5, 7.0]
