"""A checkpoint in memory that packs what it saves, and whose run can die at any save."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from bayestopics.base.packing import pack, unpack

Made = TypeVar("Made")


class Died(Exception):
    pass


class Dying:
    """Always due. It dies right after save number `dies_at`, and what was saved before stays."""

    def __init__(self, dies_at: int | None = None) -> None:
        self.files: dict[str, bytes] = {}
        self.left = [dies_at] if dies_at else []  # saves until it dies; shared by all parts
        self.saves = [0]
        self.name = ""

    def part(self, name: str) -> "Dying":
        one = Dying()
        one.files, one.left, one.saves, one.name = self.files, self.left, self.saves, f"{self.name}/{name}"
        return one

    def load(self) -> Any | None:
        return unpack(self.files[self.name]) if self.name in self.files else None

    def due(self) -> bool:
        return True

    def save(self, state: Any) -> None:
        self.files[self.name] = pack(state)
        self.saves[0] += 1
        if self.left and self.saves[0] == self.left[0]:
            raise Died


def resumed(run: Callable[[Dying], Made], at: Sequence[float] = (0, 0.1, 0.3, 0.5, 0.7, 0.9)) -> Iterator[Made]:
    """What a run gives that died at these shares of its saves (a life each), and went on."""
    whole = Dying()
    run(whole)
    saves = whole.saves[0]
    assert saves >= len(at), f"only {saves} saves"
    for share in at:
        checkpoint = Dying(1 + int(share * (saves - 1)))
        try:
            run(checkpoint)
            raise AssertionError("it did not die")
        except Died:
            pass
        checkpoint.left.clear()
        before = checkpoint.saves[0]
        yield run(checkpoint)
        assert checkpoint.saves[0] - before <= saves - before + 1, "what was saved was done again"
