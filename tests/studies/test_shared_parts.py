"""What all studies share, by hand: verdicts of parts, the table of claims, records by kind, errors, what is kept."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.image import imread

from bayestopics.studies import claims, kept
from bayestopics.studies.errors import errors_of, found, second_half, table_of
from bayestopics.studies.plan import Figure, Plan, Run, Table
from bayestopics.studies.records import MissingRecords, by, of_kind, require
from made_up import record

# -- claims ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((True, True), "reproduced"),
        ((True, False), "partly"),
        ((False, True, False), "partly"),
        ((False, False), "not reproduced"),
    ],
)
def test_verdict_of_several_parts(parts, expected):
    """Guards `any` for `all`."""
    assert claims.verdict(*parts) == expected


def made_claims(monkeypatch):
    """Three claims: answered with details, without, and not at all."""

    def missing(*_):
        raise MissingRecords(["kos", "nips"])

    details = pd.DataFrame({"x": [1]})
    functions = {
        "A1": lambda *_: claims.Answer("ours | 1", "error 1", "partly", details),
        "A2": lambda *_: claims.Answer("ours 2", "error 2", "reproduced"),
        "A3": missing,
    }
    made = [claims.Claim(name, "s", "paper", "where", f"says {name}", "rule", one) for name, one in functions.items()]
    monkeypatch.setattr(claims, "all_claims", lambda: made)
    return {"s": {}}, {"s": table_of([])}


def test_the_table_has_each_answer_in_its_own_column(monkeypatch):
    """Guards ours and error that are swapped, and details that are not there."""
    answers = claims.answers(*made_claims(monkeypatch), {}, ())
    rows = claims.table_of(answers, "smoke").set_index("id")
    assert rows.loc["A1", ["claim", "ours", "error", "verdict"]].tolist() == [
        "says A1",
        "ours | 1",
        "error 1",
        "partly",
    ]
    assert rows["details"].tolist() == ["claims/A1.csv", "", ""]
    assert set(rows["scale"]) == {"smoke"}
    assert rows["verdict"]["A3"] not in claims.VERDICTS
    assert (rows.loc["A3", ["ours", "error"]] == "").all()


def test_a_claim_without_an_answer_names_what_is_out_of_reach(monkeypatch):
    """Guards a reason that names what was not run for what cannot be had."""
    records, errors = made_claims(monkeypatch)
    told = {reach: claims.answers(records, errors, {}, reach)["A3"] for reach in ((), ("nips",))}
    assert "nips" in told["nips",]
    assert "kos" not in told["nips",]
    assert "kos" in told[()]
    assert "kos" not in claims.answers({}, {}, {}, ())["A3"]  # the study was not run


def test_verdicts_are_counted_and_those_without_an_answer_come_last(monkeypatch):
    """Guards reasons that are counted one by one, and open claims among the answered."""
    answers = claims.answers(*made_claims(monkeypatch), {}, ())
    listed = claims.table_of(answers, "smoke").iloc[::-1]
    counts = claims.summary(listed)
    assert (counts.pop("partly"), counts.pop("reproduced"), list(counts.values())) == (1, 1, [1])
    page = claims.page(listed, "smoke", ())
    assert page.index("says A2") < page.index("says A1") < page.index("says A3")
    assert page.count('<a href="claims/A1.csv">') == 1
    lines = claims.markdown(listed, "smoke", {}).splitlines()
    rows = {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}
    assert len(re.findall(r"(?<!\\)\|", rows["[A1](claims/A1.csv)"])) == 6  # that of the answer is escaped
    place = {name: next(n for n, line in enumerate(lines) if f"says {name}" in line) for name in ("A1", "A2", "A3")}
    assert max(place["A1"], place["A2"]) < place["A3"]


def test_old_answers_stand_where_there_is_no_new_one():
    """Guards an old answer in place of a new one, an old reason that is taken for an answer, and a run of before that
    is said not to have been made."""
    columns = ["id", "ours", "error", "verdict", "details"]
    new = [
        ["A", "new", "e", "partly", ""],
        ["B", "", "", "why", ""],
        ["C", "", "", "why", ""],
        ["D", "", "", "why", ""],
    ]
    old = [["A", "old", "e", "reproduced", ""], ["B", "old", "oe", "partly", "d"], ["C", "", "", "older why", ""]]
    tables = (pd.DataFrame(rows, columns=columns) for rows in (new, old))
    both = kept.with_old_answers(*tables, run_before=("A", "B", "D")).set_index("id")
    assert both["evidence"].to_dict() == {"A": "kept", "B": "old", "C": "", "D": ""}
    assert both.loc["A", ["ours", "verdict"]].tolist() == ["new", "partly"]
    assert both.loc["B", ["ours", "error", "verdict", "details"]].tolist() == ["old", "oe", "partly", "d"]
    assert both.loc["C", "verdict"] == "why"
    assert both.loc["D", "verdict"] == kept.RUN_BEFORE


# -- records -----------------------------------------------------------------------------------------------


def test_records_by_kind_and_by_parameter():
    """Guards groups that lose a record, and their order."""
    made = [record("k", str(n), {"sampler": s}) for n, s in enumerate("baab")] + [record("l", "4", {"sampler": "b"})]
    assert [one.task.name for one in of_kind(made, "k")] == ["0", "1", "2", "3"]
    groups = {key: [one.task.name for one in group] for key, group in by("sampler", made).items()}
    assert groups == {"b": ["0", "3", "4"], "a": ["1", "2"]}
    assert list(groups) == ["b", "a"]
    with pytest.raises(MissingRecords) as missing:
        require({"a": made[0]}, ["a", "b", "c"])
    assert missing.value.names == ["b", "c"]


@pytest.mark.parametrize(("length", "expected"), [(4, [2, 3]), (5, [2, 3, 4]), (1, [0])])
def test_the_first_half_of_a_chain_is_its_burn_in(length, expected):
    """Guards the other half."""
    assert second_half(pd.Series(range(length))).tolist() == expected


# -- kept --------------------------------------------------------------------------------------------------


def test_kept_metrics_versions_answer_and_params_are_read_back(tmp_path):
    """Guards a field that is lost, numbers that become texts, and a seed that is forgotten."""
    one = record("k", "one", {"grid": [1, 2.5]}, {"a": 1.5, "b": np.nan}, warnings=["w"], t={"x": [1, 2]})
    object.__setattr__(one.task, "seed", 7)
    one.answer.update(best=3)
    one.versions.update(numpy="9")
    kept.write_kept([one], tmp_path)
    back = kept.read_kept(tmp_path)["one"]
    assert back.task.identity == one.task.identity
    assert back.metrics["a"] == 1.5
    assert np.isnan(back.metrics["b"])
    assert (back.warnings, back.answer, back.versions) == (["w"], {"best": 3}, {"numpy": "9"})


def test_kept_rows_belong_to_their_own_run_in_their_order(tmp_path):
    """Guards rows of all runs in each table, integers that become floats, and an order that is lost."""
    made = [
        record("k", name, t={"x": values, "y": float(len(values))}) for name, values in (("a", [3, 1, 2]), ("b", [9]))
    ]
    made.append(record("l", "c", t={"x": ["text"], "y": 0.0}))
    kept.write_kept(made, tmp_path)
    back = kept.read_kept(tmp_path)
    for one in made:
        pd.testing.assert_frame_equal(back[one.task.name].tables["t"], one.tables["t"])


def test_only_records_of_the_kind_are_left_out_for_a_missing_part():
    """Guards records of another kind, which are not asked for that part."""
    whole, bare, other = (record("k", "whole", t={"x": [1]}), record("k", "bare"), record("l", "other"))
    watched = [kept.watched(one) for one in (whole, bare, other)]

    def names(records):
        return [one.task.name for one in records if one.task.params["kind"] == "l" or len(one.tables["t"])]

    assert kept.made(names, watched) == ["whole", "other"]


def test_a_figure_is_as_sharp_as_fits(tmp_path, monkeypatch):
    """Guards a figure that is too large, and one that is smaller than it has to be."""

    def drawn():
        figure, axis = pyplot.subplots(figsize=(3, 2))
        axis.imshow(np.random.default_rng(0).random((200, 300)))
        return figure

    sizes = {}
    for dots in (130, 110, 60):
        monkeypatch.setattr(kept, "DOTS", (dots,))
        kept.save_small(drawn(), tmp_path / "one.png")
        sizes[dots] = (tmp_path / "one.png").stat().st_size
    monkeypatch.setattr(kept, "DOTS", (130, 110, 60))
    for limit, dots in ((sizes[130], 130), (sizes[130] - 1, 110), (sizes[60], 60), (1, 60)):
        monkeypatch.setattr(kept, "LARGEST_FIGURE", limit)
        kept.save_small(drawn(), tmp_path / "two.png")
        assert (tmp_path / "two.png").stat().st_size == sizes[dots]
    assert imread(tmp_path / "two.png").shape[2] == 4
    assert not pyplot.get_fignums()


def test_what_is_not_made_again_is_old_and_what_is_made_again_is_not(tmp_path, monkeypatch):
    """Guards an old figure that passes for a new one, a new one that is called old, and the errors of another run."""

    def draw(records, scale, extra):
        assert (scale, extra) == ("paper", 5)
        return pyplot.figure(figsize=(1, 1))

    def make(records, errors):
        columns = {"run": [one.task.name for one in records], "x": [len(one.tables["t"]) for one in records]}
        return pd.DataFrame(columns | {"e": [errors_of(errors, one)["standard_error"]["x"] for one in records]})

    study = SimpleNamespace(draw=draw, make=make)
    monkeypatch.setattr(kept, "import_module", lambda name: study)
    runs = {name: Run({"kind": "k"}) for name in ("a", "b", "c", "d")}  # c has no errors, and d no record
    figures = {"new": Figure("draw", ("a",), "", "", {"extra": 5})}
    of = {"some": ("a", "b", "c", "d"), "unknown": ("c",), "none": ("d",)}
    tables = {name: Table("make", runs_of, "", "") for name, runs_of in of.items()}
    folder, old = tmp_path / "kept", tmp_path / "old"
    for place, names in ((folder, ("gone.png", "none.csv", "unknown.csv", "new.png")), (old, ("some.csv",))):
        place.mkdir()
        for name in names:
            (place / name).write_text("of before")
    records = {name: kept.watched(record("k", name, t={"x": [1, 2]})) for name in ("a", "b", "c")}
    errors = table_of(found(name, "x", "repeats", 3, 2.0, error) for name, error in (("b", 0.75), ("a", 0.5)))
    kept.make_again(Plan("", runs, figures, tables, "study"), records, errors, folder, old, "paper")
    assert sorted(path.name for path in folder.iterdir()) == ["new.png", "some.csv"]
    assert sorted(path.name for path in old.iterdir()) == ["gone.png", "none.csv", "unknown.csv"]
    assert pd.read_csv(folder / "some.csv").to_dict("list") == {"run": ["a", "b"], "x": [2, 2], "e": [0.5, 0.75]}


def test_what_differs_from_machine_to_machine_is_not_kept(tmp_path):
    """Guards names of machines in git, and seconds that are lost."""
    one = record("k", volatile={"cpu_seconds": 2.0, "cpu": "fast", "platform": "mine", "resumed": True})
    kept.write_kept([one], tmp_path)
    assert kept.read_kept(tmp_path)["one"].volatile == {"cpu_seconds": 2.0, "cpu": "fast", "resumed": True}
    assert "mine" not in json.dumps(pd.read_parquet(tmp_path / "runs.parquet").to_dict("list"))
