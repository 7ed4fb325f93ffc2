"""The database as text: a line for each name, with the releases that have it and the keywords it takes.

    torch 2.0.1 2.1.2 …                                   the distribution and the releases read
    torch.optim.lr_scheduler.StepLR<TAB><TAB>optimizer step_size gamma last_epoch verbose:-7

Releases are counted from 0. `3-` means from the fourth release on, `-7` up to and without the eighth, `3-7` both,
several spans stand with commas; nothing means all of them. The life of a keyword is given within the life of its name.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence

from sigdb.calls import Call


def encode(name: str, releases: dict[str, dict[str, Call]]) -> str:
    """Releases in their order, each with its names."""
    inventories = list(releases.values())
    lines = [" ".join([name, *releases])]
    for symbol in sorted(set().union(*inventories)):
        calls = [inventory.get(symbol) for inventory in inventories]
        if all(call is None or call.incidental for call in calls):
            continue
        life = [call is not None for call in calls]
        lines.append(f"{symbol}\t{spans(life, [True] * len(life))}\t{' '.join(_items(calls, life))}")
    return "\n".join(lines) + "\n"


def _items(calls: Sequence[Call | None], life: Sequence[bool]) -> Iterator[str]:
    # The newest release gives the order; what is older follows.
    names = dict.fromkeys(item for call in reversed(calls) if call for item in call.items)
    for name in names:
        span = spans([call is not None and name in call.items for call in calls], life)
        yield f"{name}:{span}" if span else name


def spans(present: Sequence[bool], within: Sequence[bool]) -> str:
    """Where something is present, as short as it can be said to someone who knows `within`."""
    parts: list[str] = []
    start: int | None = None
    wanted = [here for here, exists in zip(present, within, strict=True) if exists]
    if all(wanted):
        return ""
    # A gap in the life of the name itself does not end the life of a keyword.
    filled = list(present)
    for index, exists in enumerate(within):
        if not exists:
            filled[index] = filled[index - 1] if index else _next(present, within)
    for index, here in enumerate([*filled, False]):
        if here and start is None:
            start = index
        elif not here and start is not None:
            parts.append(f"{start or ''}-{index if index < len(filled) else ''}")
            start = None
    return ",".join(parts)


def _next(present: Sequence[bool], within: Sequence[bool]) -> bool:
    return next(here for here, exists in zip(present, within, strict=True) if exists)


def compress(text: str) -> bytes:
    """The same bytes for the same text, whoever builds it and when."""
    return gzip.compress(text.encode("ascii"), compresslevel=9, mtime=0)
