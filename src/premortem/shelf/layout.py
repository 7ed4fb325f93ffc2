"""What lies on a shelf, as bytes and as values. It may have come from anywhere, so that each thing is read with a limit."""

from __future__ import annotations

import functools
import gzip
import io
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from premortem.errors import JournalError
from premortem.files import untrusted
from premortem.files.plain import dumps, plain
from premortem.journal import schema
from premortem.report.listed import UNREADABLE, Entry, read

HEAD = 64 << 10  # bytes; a usual one has one or two kilobytes
PART = 64 << 20  # ... of a part, as it is sent and as it is unpacked
INDEX = 256 << 20
PARTS = 10_000_000
_MOST = 1000  # numbers in a small picture

INDEX_NAME = "index.gz"
HEADS = "heads/"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}")
# What is listed of a run; the rest of its meta (environment, versions) is in its rows.
_META = ("reason", "host", "pid", "error", "message", "exit_code", "seconds", "argv")
_COLUMNS = ("script", "started", "steps", "loss", "tone", "found", "message")
_TONES = {"bad", "doubtful", "good", UNREADABLE}


class Numbers(Sequence[float]):
    """A few numbers in one text, which is taken apart when it is asked for: a list of ten thousand runs shows the pictures of
    one page."""

    def __init__(self, text: str) -> None:
        self._text = text

    @functools.cached_property
    def _numbers(self) -> list[float]:
        try:
            return [float(each) for each in self._text.split()[:_MOST]]
        except ValueError:
            return []

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: Any) -> Any:
        return self._numbers[place]


class Head(NamedTuple):
    """How a run stands."""

    name: str
    parts: int
    time: float  # when it was written, by the clock of the run's machine
    entry: Entry
    about: Mapping[str, Any]  # all of it, as it was written

    @property
    def over(self) -> bool:
        return self.entry.meta.get("reason") != "running"


def is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def part_name(run: str, number: int) -> str:
    return f"runs/{run}/{number:06d}.gz"


def head_name(run: str) -> str:
    return f"{HEADS}{run}.json"


def pack(part: Mapping[str, Any]) -> bytes:
    """Columns as they are, infinities too: only premortem reads it."""
    return gzip.compress(json.dumps(part).encode(), compresslevel=6, mtime=0)


def unpack(content: bytes, most: int = PART) -> Any:
    """Raises JournalError. A few bytes can be unpacked to more than there is memory for: no more than `most` are."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            text = file.read(most + 1)
        if len(text) > most:
            raise JournalError(f"a file on this shelf has more than {most:,} bytes once it is unpacked")
        return untrusted.loads(text)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise JournalError(f"a file on this shelf is damaged ({error})") from error


def head(name: str, journal: Path, parts: int, moment: float) -> dict[str, Any]:
    """From the journal as it is now."""
    entry = read(name, journal, moment)
    about: dict[str, Any] = plain(
        {
            "format": schema.VERSION,
            "parts": parts,
            "time": moment,
            "meta": {key: entry.meta[key] for key in _META if key in entry.meta},
            "losses": [float(f"{loss:.4g}") for loss in entry.losses],  # they are for a small picture
            **{column: getattr(entry, column) for column in _COLUMNS},
        }
    )
    return about


def write_head(about: dict[str, Any]) -> bytes:
    return dumps(about).encode()


def compact(about: Mapping[str, Any]) -> dict[str, Any]:
    """A head as it stands in the index."""
    losses = about["losses"]
    return {
        **about,
        "losses": losses if isinstance(losses, str) else " ".join(f"{each:.4g}" for each in losses),
    }


def read_head(name: str, about: Any, journal: Path) -> Head:
    """Raises JournalError when this is not one."""
    try:
        if int(about["format"]) != schema.VERSION:
            raise JournalError(
                f"the run `{name}` was published by another version of premortem "
                f"(format {about['format']}; this one reads {schema.VERSION})"
            )
        parts, moment = int(about["parts"]), float(about["time"])
        loss = about["loss"]
        entry = Entry(
            name=name,
            journal=journal,
            meta=dict(about["meta"]),
            script=str(about["script"]),
            started=str(about["started"]),
            steps=int(about["steps"]),
            loss=None if loss is None else float(loss),
            tone=about["tone"] if about["tone"] in _TONES else UNREADABLE,
            found=str(about["found"]),
            message=str(about["message"]),
            losses=Numbers(losses)
            if isinstance(losses := about["losses"], str)
            else [float(each) for each in losses[:_MOST]],
            heard=moment,
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise JournalError(f"the head of the run `{name}` is damaged ({error!r})") from error
    if not is_name(name) or not 0 <= parts <= PARTS:
        raise JournalError(f"the head of the run `{name[:80]}` is not one that premortem has written")
    return Head(name, parts, moment, entry, about)
