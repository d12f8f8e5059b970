"""All claims: each has an answer in one line, and without records there is no answer."""

import pandas as pd
import pytest

from bayestopics.studies.claims import LONGEST, Answer, all_claims, answers, claim, markdown, page, write
from bayestopics.studies.claims import table_of as claims_table
from bayestopics.studies.errors import table_of
from bayestopics.studies.records import MissingRecords

CLAIMS = {one.id: one for one in all_claims()}


def test_every_paper_has_its_claims_in_order():
    assert len(CLAIMS) == 41
    assert [name for name in CLAIMS if name.startswith("T")] == [f"T{number}" for number in range(1, 18)]
    assert {one.study for one in CLAIMS.values()} == {
        "blocking",
        "corpora",
        "hyperparameters",
        "number_of_topics",
        "split_merge",
        "truncation_free",
    }


@pytest.mark.parametrize("one", CLAIMS.values(), ids=CLAIMS)
def test_a_rule_stands_once(one):
    assert one.rule
    assert one.function.__doc__ is None


@pytest.mark.parametrize("name", [name for name in CLAIMS if name != "H7"])  # which says how many numbers are missing
def test_no_records_no_answer(name):
    with pytest.raises(MissingRecords):
        CLAIMS[name].answer({}, table_of([]), {})


def test_an_answer_is_one_line_and_its_verdict_one_of_four():
    for ours, error, verdict in (
        ("x" * (LONGEST + 1), "", "partly"),
        ("", "x" * (LONGEST + 1), "partly"),
        ("two\nlines", "", "partly"),
        ("", "", "perhaps"),
    ):
        with pytest.raises(ValueError, match=r"one line of at most 160|is none of"):
            Answer(ours, error, verdict)


def test_a_claim_is_answered_once():
    def answer(records, entries, numbers):
        return Answer("", "", "partly")

    answer.__module__ = "bayestopics.studies.blocking.claims"
    said = {"paper": "", "where": "", "statement": "", "rule": ""}
    claim("X1", **said)(answer)
    with pytest.raises(ValueError, match="X1 is answered twice"):
        claim("X1", **said)(answer)
    del answer.__globals__["CLAIMS"]


def test_tables_for_people(tmp_path):
    found = answers({"corpora": {}}, {"corpora": table_of([])}, {}, ["kos"])
    assert found["B2"] == "not answered: corpus not available: kos"
    assert found["T1"] == "not answered: the study number_of_topics was not run"
    listed = claims_table(found, "smoke")
    assert listed.set_index("id")["details"]["H7"] == "claims/H7.csv"
    write(tmp_path, listed, found, "smoke", {"kos": "internet"})
    assert {path.name for path in tmp_path.iterdir()} == {"claims", "claims.csv", "claims.md"}
    assert [path.name for path in (tmp_path / "claims").iterdir()] == ["H7.csv"]
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "claims.csv", keep_default_na=False), listed)
    text = markdown(listed, "smoke", {"kos": "internet"})
    assert "[H7](claims/H7.csv)" in text.partition("## Open")[0]
    assert '<a href="claims/H7.csv">' in page(listed, "smoke", {})
