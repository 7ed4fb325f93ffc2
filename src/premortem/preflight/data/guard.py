"""Measures of which one may fail by a fault of our own: what the others say is not lost, and no file is called damaged for it."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from premortem.preflight.project import own_fault

T = TypeVar("T")
S = TypeVar("S")


class Guard:
    """`guard(measure)` is what it measures, or nothing; the fault is kept."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def __call__(self, measure: Callable[[], T], instead: S) -> T | S:
        try:
            return measure()
        except Exception as error:  # noqa: BLE001 - one measure of many
            self.faults.append(own_fault(error))
            return instead

    def each(self, found: Callable[[], Iterable[T]]) -> tuple[T, ...]:
        """All that is found, up to a fault."""
        kept: list[T] = []
        self(lambda: kept.extend(found()), None)
        return tuple(kept)
