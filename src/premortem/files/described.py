"""What a file is, without the samples in it: where a link ends, when it was written, how its text is encoded, whether it stops in
the middle of a line, how many rows it has. A few kilobytes of it are read."""

import ast
import json
import os
import struct
import zipfile
from pathlib import Path
from typing import IO

from premortem.events import FileFacts
from premortem.files import untrusted

TEXT = frozenset(
    {".txt", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".env", ".vocab"}
)
CONFIGS = frozenset({".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".env"})
_HEAD = 1 << 18
_TAIL = 1 << 16
_COUNTED = 32 << 20  # bytes of a file whose lines are counted


def describe(path: str) -> FileFacts | None:
    """None for what is not there any more, and for what is no regular file."""
    try:
        status = Path(path).stat()
        with untrusted.opened(Path(path)) as file:
            real = os.path.realpath(path)
            base = FileFacts(path, real if real != path else "", status.st_size, status.st_mtime)
            above = str(Path(path).parent)
            if real != path and (folder := os.path.realpath(above)) != above:
                base = base._replace(folder=folder)
            ending = Path(path).suffix.lower()
            if ending in TEXT:
                return of_text(base, file, ending, status.st_size)
            if ending == ".npy":
                return base._replace(rows=length(file))
            if ending == ".npz":
                with zipfile.ZipFile(file) as archive:
                    return base._replace(
                        rows=max((length(archive.open(name)) for name in archive.namelist()[:64]), default=0)
                    )
            return base
    except (OSError, ValueError, SyntaxError, EOFError, zipfile.BadZipFile, struct.error):
        return None


def of_text(base: FileFacts, file: IO[bytes], ending: str, size: int) -> FileFacts:
    head = file.read(_HEAD)
    encoding, line = encoding_of(head, whole=size <= _HEAD)
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    rows = 0
    if size <= _COUNTED and ending in {".csv", ".tsv", ".jsonl", ".txt"}:
        file.seek(0)
        rows = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
        rows -= ending in {".csv", ".tsv"}
    returns = head.count(b"\r\n")
    return base._replace(
        encoding=encoding,
        line=line,
        returns=returns > 0 and returns == head.count(b"\n"),
        cut=cut(head, tail, ending),
        rows=max(0, rows),
    )


def encoding_of(head: bytes, *, whole: bool) -> tuple[str, int]:
    """How the text is encoded, and the first line that says so."""
    for name, mark in (
        ("UTF-8 with a byte order mark", b"\xef\xbb\xbf"),
        ("UTF-16", b"\xff\xfe"),
        ("UTF-16", b"\xfe\xff"),
    ):
        if head.startswith(mark):
            return name, 1
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if not whole and error.start >= len(head) - 3:  # the last letter was cut by this reader
            text = head[: error.start].decode("utf-8")
        else:
            return "not UTF-8", 1 + head.count(b"\n", 0, error.start)
    if text.isascii():
        return "ASCII", 0
    return "UTF-8", 1 + text[: next(at for at, letter in enumerate(text) if not letter.isascii())].count("\n")


def cut(head: bytes, tail: bytes, ending: str) -> str:
    """Its last line, where that was never finished."""
    if not tail or tail.endswith((b"\n", b"\r")) or b"\n" not in tail:
        return ""
    last = tail.rpartition(b"\n")[2].decode("utf-8", "replace").strip()
    first = head.partition(b"\n")[0].decode("utf-8", "replace").strip()
    if ending == ".jsonl" and is_json(first) and not is_json(last):
        return last[-40:]
    if ending in {".csv", ".tsv"} and '"' not in first + last:
        mark = max("\t,;|", key=first.count)
        if first.count(mark) > last.count(mark):
            return last[-40:]
    return ""


def is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def length(file: IO[bytes]) -> int:
    """The rows of an array of numpy, from its header; 0 for a single number and for other files."""
    head = file.read(10)
    if head[:6] != b"\x93NUMPY":
        return 0
    if head[6] == 1:
        size = struct.unpack("<H", head[8:10])[0]
    else:
        size = struct.unpack("<I", head[8:10] + file.read(2))[0]
    shape = ast.literal_eval(file.read(min(size, 1 << 16)).decode("latin-1").strip())["shape"]
    return int(shape[0]) if len(shape) > 1 or (shape and shape[0] > 1) else 0
