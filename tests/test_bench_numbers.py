"""The tables and figures of the bench, from made-up times."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from bayestopics.bench import growth, hdp, hdp_pages, pages, timing
from made_up import bars, line


def times(**changes: Any) -> pd.DataFrame:
    """Two programs, two phases, two T; every number is of its own."""
    rows = []
    for n, (program, phase, topics) in enumerate(itertools.product(("sparse", "tomotopy"), timing.PHASES, (4, 8))):
        numbers = {"ns_a_token": 100.0 + n, "ns_a_token_q1": 90.0 + n, "ns_a_token_q3": 130.0 + n}
        numbers |= {"times_tomotopy": 2.0 + n, "times_tomotopy_q1": 1.0 + n, "times_tomotopy_q3": 4.0 + n}
        cell = {"corpus": "kos", "tokens": 10, "topics": topics, "phase": phase, "program": program}
        rows.append(cell | {"algorithm": "", "sweeps_before": 0, "rounds": 3} | numbers)
    return pd.DataFrame(rows, columns=timing.COLUMNS)


def test_summary_has_medians_and_quartiles_in_their_columns() -> None:
    """Guards a mean, quartiles that are swapped, and the ratio upside down: tomotopy's seconds over the program's."""
    program = {0: 99.0, 1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0, 5: 50.0}
    reference = {1: 2.0, 2: 8.0, 3: 3.0, 4: 20.0, 5: 50.0}  # ratios 2, 4, 1, 5, 1
    found = timing.summary(program, reference, tokens=10)
    assert [found[f"ns_a_token{end}"] for end in ("", "_q1", "_q3")] == pytest.approx([3e8, 2e8, 4e8])
    assert [found[f"times_tomotopy{end}"] for end in ("", "_q1", "_q3")] == pytest.approx([2.0, 1.0, 4.0])


def test_pages_have_a_row_a_program_and_a_column_a_cell() -> None:
    """Guards the cells of the other phase, quartiles that are swapped, and the cost in place of the ratio."""
    early, warmed = (pages.ratios(times(), phase).set_index("program") for phase in timing.PHASES)
    assert early.loc["sparse"].tolist() == ["2.00 (1.00-4.00)", "3.00 (2.00-5.00)"]
    assert warmed.loc["tomotopy"].tolist() == ["8.00 (7.00-10.0)", "9.00 (8.00-11.0)"]
    assert list(early.columns) == ["kos T=4", "kos T=8"]
    assert pages.costs(times(), "warmed").set_index("program").loc["sparse"].tolist() == ["102", "103"]


def test_the_figure_has_costs_with_quartiles() -> None:
    """Guards bars to the wrong side, phases in each other's row, and swapped sides."""
    drawn = pages.figure(times(), {"rounds": 3, "warm_up": 5})
    for row, first in enumerate((100.0, 102.0)):
        axis = drawn.axes[row]
        assert line(axis.containers[0].lines[0]) == [(4, first), (8, first + 1)]
        assert bars(axis) == [(4, first - 10, first + 30), (8, first - 9, first + 31)]
        assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    pyplot.close(drawn)


def test_a_move_in_sweeps_is_the_median_within_rounds() -> None:
    """Guards a sweep in moves, the first round, and the number of moves that is forgotten."""
    moves = {0: 1e6, 1: 2.0 * hdp.MOVES, 2: 6.0 * hdp.MOVES, 3: 90.0 * hdp.MOVES}
    assert hdp._share({f"{hdp.MOVES} moves": moves, "gibbs": {0: 1.0, 1: 4.0, 2: 4.0, 3: 4.0}}) == 1.5


@pytest.mark.parametrize(("level", "seconds"), [(-9.0, 1.0), (-8.0, 1.0), (-7.5, 10**0.5), (-7.0, 10.0), (-6.5, 100.0)])
def test_a_level_is_reached_on_a_straight_line_in_log_seconds(level: float, seconds: float) -> None:
    """Guards a line in seconds, and the check after it."""
    curve = pd.DataFrame({"seconds": [1.0, 10.0, 1000.0], "per_word": [-8.0, -7.0, -6.0]})
    assert hdp._reached(curve, level) == pytest.approx(seconds)


def test_levels_say_how_many_times_as_fast() -> None:
    """Guards the ratio upside down."""
    table = pd.DataFrame([{"corpus": "c", "program": "gibbs", "reference": "tomotopy", "level": -7.0}])
    table = table.assign(seconds=2.0, seconds_of_reference=10.0, best=-6.0, best_of_reference=-7.0)
    (row,) = hdp_pages.levels(table).to_dict("records")
    assert [float(value) for value in list(row.values())[4:7]] == [2.0, 10.0, 5.0]
    assert [float(value) for value in list(row.values())[7:]] == [-6.0, -7.0]


def test_one_document_of_twenty_is_held_out() -> None:
    """Guards learning from what is scored."""
    from bayestopics.corpus import Corpus

    counts = np.diag(np.arange(1, 41))
    training, held_out = hdp.split(Corpus.from_sparse(counts))
    assert training.document_count == 38
    assert sorted(training.document_lengths) == [n for n in range(1, 41) if n % 20]
    assert len(held_out) == 2
    assert sorted(held_out.lengths) == [20, 40]


def test_ratios_of_the_hdp_tables() -> None:
    """Guards the quartiles in each other's place, and nan as a number."""
    table = pd.DataFrame(
        {"times_gensim": [2.0, np.nan], "times_gensim_q1": [1.0, np.nan], "times_gensim_q3": [3.0, np.nan]}
    )
    assert hdp_pages._ratios(table, "times_gensim") == ["2.00 (1.00-3.00)", ""]


def test_growth_has_medians_of_the_rounds_after_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the first round, which warms caches, and quartiles that are swapped."""
    costs = itertools.cycle([999.0, 1.0, 2.0, 9.0, 4.0, 5.0])
    monkeypatch.setattr(growth, "_microseconds", lambda *_: next(costs))
    monkeypatch.setattr(growth, "filled", lambda *_: None)
    monkeypatch.setattr(growth, "documents", lambda *_: None)
    monkeypatch.setattr(growth, "compile_learner", lambda kind: None)
    table = growth.growth((20,), 5, lambda text: None)
    assert table["us_a_document"].tolist() == [4.0] * 4
    assert table["us_a_document_q1"].tolist() == [2.0] * 4
    assert table["us_a_document_q3"].tolist() == [5.0] * 4
    assert table["batch"].tolist() == [1, 100, 1, 100]


def test_growth_counts_microseconds_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards seconds of a batch, and documents that are left out of the batches."""
    clock, seen = itertools.count(step=2), []

    class Learner:
        def partial_fit(self, batch: Any) -> None:
            seen.append(batch.shape[0])

    monkeypatch.setattr(growth.time, "process_time", lambda: next(clock))
    counts = growth.documents(np.arange(50).reshape(1, 50), 1, np.random.default_rng(0))
    assert growth._microseconds(Learner(), counts, 30) == pytest.approx(2e6 / growth.DOCUMENTS)  # type: ignore[arg-type]
    assert sum(seen) == growth.DOCUMENTS
    assert set(seen) <= {30, growth.DOCUMENTS % 30}
    assert (counts.sum(axis=1) == growth.LENGTH).all()
