"""All claims that are answered: the rule in the file is the docstring of its function; and no records, no answer."""

from importlib import import_module
from pathlib import Path

import pytest
import yaml

from bayestopics.studies.claims import MissingRecords

FILE = Path(__file__).parents[2] / "config/claims.yaml"
CLAIMS = {c["id"]: c for c in yaml.safe_load(FILE.read_text(encoding="utf-8")) if "function" in c}
SHORTENED = ("T12", "H7", "B1", "B2", "B3", "B4", "B5")  # the file has the rule in fewer words


def function_of(claim: str):
    module, _, name = CLAIMS[claim]["function"].partition(":")
    return getattr(import_module(module), name)


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim not in SHORTENED])
def test_rules_are_the_docstrings(claim):
    assert " ".join(function_of(claim).__doc__.split()) == f"{claim}: {CLAIMS[claim]['rule']}."


@pytest.mark.parametrize(
    "claim", [claim for claim in CLAIMS if claim != "H7"]
)  # which says how many numbers are missing
def test_no_records_no_answer(claim):
    with pytest.raises(MissingRecords):
        function_of(claim)({}, {}, CLAIMS[claim].get("numbers", {}))
