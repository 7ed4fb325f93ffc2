"""What can be changed about a run so that it needs less: each is tried, by rehearsing the same script with it.

To add one: write its file with a class that has `title`, `cost`, `wanted` and `apply`, and add it here.
"""

from __future__ import annotations

from typing import Any, Protocol

from premortem.fit.changes.adafactor import Adafactor
from premortem.fit.changes.autocast_bf16 import AutocastBf16
from premortem.fit.changes.channels_last import ChannelsLast
from premortem.fit.changes.checkpointing import Checkpointing
from premortem.fit.changes.eight_bit import EightBit
from premortem.fit.changes.fused import Fused
from premortem.fit.changes.one_by_one import OneByOne
from premortem.fit.changes.set_to_none import SetToNone
from premortem.points import Subscriptions


class Change(Protocol):
    name: str
    title: str
    cost: str

    @staticmethod
    def wanted(result: dict[str, Any]) -> bool:
        """Whether it can help, as far as the first rehearsal tells."""
        ...

    @staticmethod
    def apply(points: Subscriptions) -> None:
        """Before the script's first line."""
        ...


ALL: tuple[type[Change], ...] = (
    SetToNone,
    Fused,
    OneByOne,
    AutocastBf16,
    Checkpointing,
    ChannelsLast,
    EightBit,
    Adafactor,
)


def by_name(name: str) -> type[Change]:
    return next(change for change in ALL if change.name == name)


__all__ = ["ALL", "Change", "by_name"]
