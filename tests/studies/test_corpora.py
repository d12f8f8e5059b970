"""The study of corpora: the table, the figure, and verdicts from made-up sizes."""

import pytest
from matplotlib import pyplot

from bayestopics.corpus.registry import Registry
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.corpora import claims, figures, tables
from bayestopics.studies.errors import table_of
from bayestopics.studies.records import MissingRecords

ENTRIES = Registry().entries
NINE = {p["id"]: (name, p) for name, one in ENTRIES.items() for p in one.papers if str(p["id"]).startswith("C-")}


def sizes(corpus: str, **metrics: float) -> Result:
    task = Task("corpora", "smoke", corpus, {"kind": "sizes", "corpus": corpus}, 1, corpus, "-", "-")
    return Result(task, {"words_once_share": 0.5, "empty_documents": 0, **metrics}, versions={})


def as_in_the_paper() -> dict[str, Result]:
    return {name: sizes(name, **{size: paper[size] for size in tables.SIZES}) for name, paper in NINE.values()}


def test_missing_corpora_have_a_row_too():
    names = [name for name, _ in NINE.values()]
    there = list(as_in_the_paper().values())[:-1]
    table = tables.sizes_table(there, names).set_index("corpus")
    assert table.loc[[names[-1]], "source"].tolist()[0] == "not available"
    assert set(tables.sizes_table(there)["corpus"]) == set(names[:-1])
    pyplot.close(figures.draw_sizes(there, "smoke", names))


@pytest.mark.parametrize(("different", "verdict"), [(0, "reproduced"), (3, "partly"), (4, "not reproduced")])
def test_h7(different, verdict):
    records = as_in_the_paper()
    for record in list(records.values())[:different]:
        record.metrics["terms"] += 1
    answer = claims.CLAIMS["H7"].answer(records, table_of([]), ENTRIES)
    assert answer.verdict == verdict
    assert (answer.details["ours"] != answer.details["theirs"]).sum() == different


@pytest.mark.parametrize(("share", "verdict"), [(0.6292, "reproduced"), (0.64, "not reproduced")])
def test_b2(share, verdict):
    kos = sizes("kos", training_words_once_share=share, training_words_once_sd=1e-4)
    assert claims.CLAIMS["B2"].answer({"kos": kos}, table_of([]), ENTRIES).verdict == verdict
    with pytest.raises(MissingRecords):
        claims.CLAIMS["B2"].answer({}, table_of([]), ENTRIES)
