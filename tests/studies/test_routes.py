"""The study of all routes: a run that resumes, answers from made-up details, the figure and the table."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib import pyplot

from bayestopics.corpus.registry import Registry
from bayestopics.runs import result
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import read, same_bits, write
from bayestopics.runs.task import Task
from bayestopics.studies.routes import compute_routes as routes
from bayestopics.studies.routes import figures, tables

CONFIG = yaml.safe_load((Path(__file__).parents[2] / "config/studies/routes.yaml").read_text(encoding="utf-8"))
WORK = {key: value for key, value in CONFIG["scales"]["smoke"]["runs"][0].items() if key != "corpora"}
WORK |= {"evidence": {"topics": [2, 3], "sweeps": 5, "repeats": 2}, "hdp": {"chains": 2, "sweeps": 4, "burn_in": 2}}
PARAMS = {"kind": "routes", "corpus": "tiny-lda", **CONFIG["priors"]["tiny-lda"], **WORK}
RUN = Task("routes", "smoke", "tiny-lda", PARAMS, 1, "tiny-lda", "-", "-")
Result = partial(result.Result, versions={})  # to look them up takes time


@pytest.fixture(scope="module")
def corpus():
    return Registry().simulate("tiny-lda").corpus


@pytest.fixture(scope="module")
def computed(corpus, tmp_path_factory):
    return routes.compute(RUN, corpus, Checkpoint(tmp_path_factory.mktemp("whole"), RUN))


def test_a_killed_run_goes_on_with_the_same_bits(corpus, computed, tmp_path):
    """The run dies at every seventh save, in the middle of a route or between two routes."""

    class Killed(Exception):
        pass

    class Killing(Checkpoint):
        saves = 0

        def save(self, state):
            super().save(state)
            self.saves += 1
            if self.saves == 7:
                raise Killed

    lives, resumed = 0, None
    while resumed is None:
        lives += 1
        with suppress(Killed):
            resumed = routes.compute(RUN, corpus, Killing(tmp_path, RUN, every_seconds=0))
        assert lives < 30
    assert lives > 4
    assert same_bits(resumed, computed)


def test_every_route_answers(computed, tmp_path):
    answers = computed.tables["answers"].set_index("route")
    assert list(answers.index) == list(routes.ESTIMATES)
    assert (answers["low"] <= answers["topics"]).all()
    assert (answers["topics"] <= answers["high"]).all()
    assert answers["large_topics"].notna().sum() == 3  # of the HDP
    assert computed.metrics["true_topics"] == 4
    pyplot.close(figures.draw_routes([computed, computed], "smoke"))
    write(computed, tmp_path / "record")
    table = tables.routes_table([read(tmp_path / "record")])
    assert len(table) == 6
    assert table["what_it_is"].str.len().min() > 10


def details(route, topics, weights, chain=0, large_topics=np.nan, **more):
    columns = {"route": route, "topics": topics, "weight": weights, "chain": chain, "large_topics": large_topics}
    return pd.DataFrame(columns | more)


def answer(*tables):
    (row,) = routes.answers_of(pd.concat(tables, ignore_index=True)).to_dict("records")
    return row


def test_evidence_within_its_error_of_the_best():
    """Nats below the best: 10, 3.5, 0, 2, 9."""
    topics, logs = [2, 3, 4, 5, 6], [-110.0, -103.5, -100.0, -102.0, -109.0]
    sharp = answer(details(routes.EVIDENCE, topics, logs, error=0.01))
    assert (sharp["low"], sharp["topics"], sharp["high"]) == (4, 4, 5)
    dull = answer(details(routes.EVIDENCE, topics, logs, error=1.6))
    assert (dull["low"], dull["topics"], dull["high"]) == (3, 4, 6)
    assert not dull["at_the_edge"]
    assert answer(details(routes.EVIDENCE, topics[:3], logs[:3], error=0.1))["at_the_edge"]


def test_scores_within_two_errors_of_the_best():
    found = answer(details(routes.SCORE, [2, 4, 8, 16], [-5.0, -0.5, 0.0, -1.5], error=[1.0, 0.4, 0.0, 0.5]))
    assert (found["low"], found["topics"], found["high"]) == (4, 8, 8)


def test_chains_together_and_apart():
    near = answer(details(routes.PMMH, [5, 6, 7], [0.2, 0.5, 0.3]), details(routes.PMMH, [6, 7], [0.9, 0.1], chain=1))
    assert (near["low"], near["topics"], near["high"], near["apart"]) == (5, 6, 7, False)
    far = answer(
        details(routes.GIBBS, [5, 6], [0.5, 0.5], large_topics=4.0),
        details(routes.GIBBS, [9, 10], [0.4, 0.6], chain=1, large_topics=[4.0, 6.0]),
    )
    assert (far["low"], far["high"], far["apart"], far["large_topics"]) == (5, 10, True, 4)


def test_a_tail_below_a_fortieth_is_cut():
    found = answer(details(routes.SPLIT_MERGE, np.arange(1, 101), np.full(100, 0.01)))
    assert (found["low"], found["topics"], found["high"]) == (3, 50, 98)


def test_streams_give_their_range():
    found = answer(*(details(routes.FREE, [k], [1.0], chain=n) for n, k in enumerate((7, 9, 30))))
    assert (found["low"], found["topics"], found["high"], found["apart"]) == (7, 9, 30, False)
