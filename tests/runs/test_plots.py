"""Drawings that results share."""

from bayestopics.runs.plots import looks


def test_looks_do_not_run_out():
    found = looks(map(str, range(100)))
    assert len(found) == 100
    first = [tuple(found[str(number)].items()) for number in range(21)]
    assert len(set(first)) == 21
    assert looks(["a", "b"])["a"] == looks(["a"])["a"]  # what comes after does not matter
