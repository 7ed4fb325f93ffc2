"""JSON, JSON lines, and lists of names that make up a split."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from premortem.preflight.data import annotations, names, tables
from premortem.preflight.data.data_facts import Annotated, Look
from premortem.preflight.data.guard import Guard
from premortem.preflight.data.readers.around import Around, Damaged
from premortem.preflight.data.relations import holding, parallel

SUFFIXES = ("json", "jsonl", "txt")
_MOST_BYTES = 64 << 20
_MOST_LINES = 200_000
_LONG = 30  # characters; shorter sentences repeat by nature


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    ending = names.suffix(path.name)
    split = names.split_of(path.name)
    if path.stat().st_size > _MOST_BYTES or (ending == "txt" and not split):
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    if ending == "json":
        if problem := _json_problem(text):
            raise Damaged(problem)
        yield Look(path=relative, kind="text", notes=_notes(text))
        return
    there = text.split(
        "\n"
    )  # not `splitlines`, which also ends a line at signs that may stand in a text of JSON
    lines = [line.strip() for line in there[:_MOST_LINES] if line.strip()]
    if ending == "jsonl":
        whole = bool(lines) and not _json_problem(lines[0])  # else it is one record over many lines
        for number, line in enumerate(lines, start=1):
            if whole and (problem := _json_problem(line)):
                raise Damaged(f"line {number}: {problem}")
    rows = tuple(map(_digest, _telling(lines))) if split else ()
    records = _records(lines) if ending == "jsonl" else []
    columns = _columns(records)
    guard = Guard()
    yield Look(
        path=relative,
        kind="text",
        rows=rows,
        tables=guard.each(lambda: tables.whole_and_parts(columns, relative) if records else ()),
        notes=guard.each(lambda: annotations.of_records(records)),
        holds=guard(lambda: holding.of_records(records), ()),
        parallel=guard(lambda: parallel.of_records(records), ()),
        cut=len(there) > _MOST_LINES,
        faults=tuple(guard.faults),
    )


def _notes(text: str) -> tuple[Annotated, ...]:
    try:
        return annotations.of_json(json.loads(text.lstrip("\ufeff")))
    except (ValueError, RecursionError):
        return ()


def _records(lines: list[str]) -> list[dict[str, Any]]:
    records = []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def _columns(records: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The entries of records that are plain, one column for each name that most of them have."""
    keys = Counter(
        key for record in records for key, value in record.items() if isinstance(value, (str, int, float))
    )
    usual = [key for key, number in keys.items() if number >= 0.9 * len(records)][:64]
    return {key: [str(record.get(key, "")) for record in records] for key in usual}


def _telling(lines: list[str]) -> list[str]:
    """Lines that are the same only when the samples are: names in a list, long sentences."""
    if all(" " not in line for line in lines):
        return [line for line in lines if not line.lstrip("-").replace(".", "").isdigit() or len(line) > 3]
    return [line for line in lines if len(line) >= _LONG]


def _digest(line: str) -> str:
    return hashlib.blake2b(line.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _json_problem(text: str) -> str:
    """Only what ends too early: comments and commas are a matter of who reads it."""
    text = text.lstrip("\ufeff").strip()
    if not text:
        return "it is empty"
    try:
        json.loads(text)
    except RecursionError:
        return "it is nested too deeply to be read"
    except json.JSONDecodeError as error:
        ends = error.pos >= len(text) - 1 or error.msg.startswith("Unterminated string")
        return f"the JSON is incomplete: it ends too early ({error.msg})" if ends else ""
    except ValueError:
        return "a number in it has thousands of digits"
    return ""
