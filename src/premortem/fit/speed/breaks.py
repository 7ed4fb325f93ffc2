"""What torch.compile makes of a model: where it has to stop, and what it compiles anew."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

_TORCH = Path(torch.__file__).parent


@dataclass(frozen=True)
class Break:
    """A place where a graph ends and Python goes on, or where something was compiled again."""

    file: str
    line: int
    reason: str
    times: int = 1


def graph_breaks(run: Callable[..., Any], args: Any, kwargs: Any) -> tuple[int, list[Break], str]:
    """How many graphs the call falls into, where it breaks, and the error if torch could not say it."""
    from torch import _dynamo

    try:
        explained = _dynamo.explain(run)(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - whatever the compiler trips over is the answer
        return 0, [], first_line(f"{type(error).__name__}: {error}")
    found: dict[tuple[str, int, str], int] = {}
    for each in explained.break_reasons:
        file, line = own_place((frame.filename, frame.lineno) for frame in each.user_stack)
        key = (file, line, plain_reason(each.reason))
        found[key] = found.get(key, 0) + 1
    return explained.graph_count, [Break(*key, times) for key, times in found.items()], ""


def recompiles() -> list[Break]:
    """What was compiled more than once since `forget`, from the compiler's own records."""
    from torch._dynamo import utils

    found: dict[tuple[str, int, str], int] = {}
    for record in getattr(utils, "get_compilation_metrics", list)():
        reason = getattr(record, "recompile_reason", None)
        if reason:
            key = (record.co_filename or "", record.co_firstlineno or 0, first_line(str(reason)))
            found[key] = found.get(key, 0) + 1
    return [Break(*key, times) for key, times in found.items()]


def hide_errors(*, hide: bool) -> bool:
    """Sets whether the compiler keeps its errors to itself; returns whether it did."""
    from torch._dynamo import config

    before = bool(config.suppress_errors)
    config.suppress_errors = hide
    return before


def forget() -> None:
    from torch._dynamo import utils

    getattr(utils, "clear_compilation_metrics", lambda: None)()


def own_place(frames: Iterable[tuple[str, int]]) -> tuple[str, int]:
    """The innermost line that is not torch's own."""
    places = list(frames)
    own = [place for place in places if not Path(place[0]).is_relative_to(_TORCH)]
    return (own or places or [("", 0)])[-1]


def plain_reason(text: str) -> str:
    """The compiler's first sentence; its names for the commonest ones say little to others."""
    if text.startswith("generic_jump"):
        return "a branch on the value of a tensor"
    return first_line(text)


def first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:200] if lines else ""
