"""Functions with which tables, figures and claims read the records of a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bayestopics.runs.result import Result

Records = Mapping[str, Result]


class MissingRecords(Exception):
    """A claim or a figure needs records, or parts of records, that do not exist."""

    why = "not run at this scale"

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(names)
        super().__init__(", ".join(self.names))


def require(records: Records, names: Iterable[str]) -> None:
    if missing := [name for name in names if name not in records]:
        raise MissingRecords(missing)


def of_kind(records: Iterable[Result], kind: str) -> list[Result]:
    """The records that compute_<kind> made."""
    return [record for record in records if record.task.params["kind"] == kind]


def by(key: str, records: Iterable[Result]) -> dict[str, list[Result]]:
    """The records grouped by a parameter, in their given order."""
    groups: dict[str, list[Result]] = {}
    for record in records:
        groups.setdefault(str(record.task.params[key]), []).append(record)
    return groups
