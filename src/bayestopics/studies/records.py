"""The records of a study, as its tables, figures and claims read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bayestopics.runs.result import Result

Records = Mapping[str, Result]


class MissingRecords(Exception):
    """Records, or parts of them, that a claim or a figure needs are not there."""

    why = "not run at this scale"

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(names)
        super().__init__(", ".join(self.names))


def require(records: Records, names: Iterable[str]) -> None:
    if missing := [name for name in names if name not in records]:
        raise MissingRecords(missing)


def of_kind(records: Iterable[Result], kind: str) -> list[Result]:
    """Those that compute_<kind> made."""
    return [record for record in records if record.task.params["kind"] == kind]


def by(key: str, records: Iterable[Result]) -> dict[str, list[Result]]:
    """Records grouped by a parameter, in the order in which they come."""
    groups: dict[str, list[Result]] = {}
    for record in records:
        groups.setdefault(str(record.task.params[key]), []).append(record)
    return groups
