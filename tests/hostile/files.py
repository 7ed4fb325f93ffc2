"""Files that were made to hang or crash whoever reads them. Each maker writes one to the path it is given."""

from __future__ import annotations

import io
import json
import os
import pickle
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from premortem.journal import schema

DEEP = 1_000_000  # levels: beyond every stack
HUGE = 1 << 40  # bytes of a sparse file
Maker = Callable[[Path], None]


# --- whatever the kind ------------------------------------------------------------------------


def sparse(head: bytes = b"") -> Maker:
    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.write(head)
            file.truncate(HUGE)

    return make


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def unreadable(path: Path) -> None:
    path.write_bytes(b"secret")
    path.chmod(0)


def content(data: bytes) -> Maker:
    return lambda path: void(path.write_bytes(data))


def void(_result: object) -> None:
    return None


ANY: dict[str, Maker] = {
    "missing": lambda path: None,
    "folder": Path.mkdir,
    "empty": content(b""),
    "garbage": content(bytes(range(256)) * 16),
    "zeros": content(bytes(4096)),
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "link to itself": link_to_itself,
    "unreadable": unreadable,
    "a terabyte of nothing": sparse(),
}


# --- pickles and checkpoints ------------------------------------------------------------------


def in_zip(data: bytes) -> Maker:
    """A file of torch with this pickle in it."""

    def make(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", data)
            archive.writestr("archive/version", b"3\n")

    return make


def doubled(times: int) -> bytes:
    """[x, x], where x is [y, y], where y is …: a few bytes for each level, twice as many values."""
    level = b"q\x00]h\x00ah\x00aq\x00"
    return b"\x80\x02]" + level * times + b"."


def doubled_key(times: int) -> bytes:
    """The same of tuples, as the key of a dictionary: to look it up, all of them are added together."""
    return b"\x80\x02})" + b"q\x00h\x00\x86" * times + b"Ns."


PICKLES: dict[str, bytes] = {
    "holds itself": b"\x80\x02]q\x00(h\x00h\x00e.",
    "holds itself in a dict": b"\x80\x02}q\x00(X\x01\x00\x00\x00ah\x00X\x01\x00\x00\x00bh\x00u.",
    "holds itself in an object": b"\x80\x02cfoo\nBar\n)\x81q\x00}(X\x01\x00\x00\x00ah\x00X\x01\x00\x00\x00bh\x00ub.",
    "lists in lists": b"\x80\x02" + b"]" * DEEP + b"a" * (DEEP - 1) + b".",
    "tuples in tuples": b"\x80\x02)" + b"\x85" * DEEP + b".",
    "tuples in tuples as a key": b"\x80\x02})" + b"\x85" * DEEP + b"Ns.",
    "tuples in tuples in a set": b"\x80\x04\x8f()" + b"\x85" * DEEP + b"\x90.",
    "doubled lists": doubled(200),
    "doubled tuples as a key": doubled_key(200),
    "a long text that is not there": b"\x80\x04\x8d" + struct.pack("<Q", 1 << 60) + b"abc.",
    "long bytes that are not there": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 60) + b"abc.",
    "a long bytearray that is not there": b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b"abc.",
    "a long frame that is not there": b"\x80\x04\x95" + struct.pack("<Q", 1 << 60) + b"N.",
    "a long number that is not there": b"\x80\x02\x8b" + struct.pack("<i", 0x7FFFFFFF) + b"\x01.",
    "a number with many digits": b"\x80\x02I" + b"9" * 500_000 + b"\n.",
    "a number that cannot be printed": b"\x80\x02]\x8b" + struct.pack("<i", 4000) + b"\x7f" * 4000 + b"a.",
    "a far memo": b"\x80\x02]r\xff\xff\xff\xff.",
    "nothing on the stack": b"\x80\x02" + b"0" * 10 + b".",
    "keys that collide": b"\x80\x02}("
    + b"".join(b"\x8a\x0c" + (n * ((1 << 61) - 1)).to_bytes(12, "little") + b"N" for n in range(1, 60_000))
    + b"u.",
    "text that is none": b"\x80\x02}X\x03\x00\x00\x00\xed\xa0\x80Ns.",
}


def many_records(path: Path, count: int = 1_000_000) -> None:
    """A zip that lists a million records; all of them are the same bytes."""
    local = b"PK\x03\x04" + struct.pack("<5H3I2H", 20, 0, 0, 0, 0, 0, 0, 0, 8, 0) + b"data.pkl"
    entry = struct.Struct("<4s6H3I5H2I")
    with path.open("wb") as file:
        file.write(local)
        start = file.tell()
        for number in range(count):
            name = b"a/%07d" % number
            file.write(
                entry.pack(b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0) + name
            )
        length = file.tell() - start
        end64 = file.tell()
        file.write(struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, length, start))
        file.write(struct.pack("<4sIQI", b"PK\x06\x07", 0, end64, 1))
        file.write(struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0))


def overlapping(path: Path) -> None:
    """Records that are the same bytes again and again."""
    in_zip(pickle.dumps({"a": b"x" * 100_000}, 2))(path)
    raw = path.read_bytes()
    end = raw.rindex(b"PK\x05\x06")
    start = struct.unpack_from("<I", raw, end + 16)[0]
    directory = raw[start:end].replace(b"archive/version", b"archive/data/00")
    first = directory[: 46 + len("archive/data.pkl")]
    more = b"".join(first.replace(b"data.pkl", b"data/%03d" % n) for n in range(900))
    tail = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 902, 902, len(directory) + len(more), start, 0)
    path.write_bytes(raw[:start] + directory + more + tail)


def lying(path: Path) -> None:
    """A packed record that grows a thousandfold, and says that it does not."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02" + b"]" * 50_000_000)
    raw = bytearray(path.read_bytes())
    at = raw.rindex(b"PK\x01\x02")
    raw[at + 24 : at + 28] = struct.pack("<I", 1000)
    path.write_bytes(raw)


def packed_zeros(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02" + b"]" * 200_000_000)


def leads_out(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}.")
        archive.writestr("../../outside", b"x")


def far_directory(path: Path) -> None:
    """The end of a sparse file says that the directory of its records is all of it."""
    in_zip(b"\x80\x02}.")(path)
    with path.open("r+b") as file:
        file.truncate(HUGE)
        file.seek(HUGE)
        size = HUGE - 100
        file.write(struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, 100))
        file.write(struct.pack("<4sIQI", b"PK\x06\x07", 0, HUGE, 1))
        file.write(struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0))


def header(text: bytes) -> Maker:
    return content(struct.pack("<Q", len(text)) + text)


CHECKPOINTS: dict[str, Maker] = {
    **{f"pickle: {name}": content(data) for name, data in PICKLES.items()},
    **{f"zip: {name}": in_zip(data) for name, data in PICKLES.items()},
    "a terabyte of pickle": sparse(b"\x80\x02X"),
    "a terabyte of text": sparse(b"\x80\x04\x8d" + struct.pack("<Q", HUGE - 11)),
    "a terabyte of a line": sparse(b"\x80\x02I1"),
    "a million records": many_records,
    "records that overlap": overlapping,
    "a record that lies": lying,
    "a record that grows": packed_zeros,
    "a record that leads out": leads_out,
    "a directory as large as the file": far_directory,
}
SAFETENSORS: dict[str, Maker] = {
    "deep header": header(b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}"),
    "long header that is not there": content(struct.pack("<Q", 1 << 60) + b"{"),
    "size with many digits": header(
        b'{"a":{"dtype":"F32","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,4]}}'
    ),
    "sizes without end": header(
        b'{"a":{"dtype":"F32","shape":[' + b"9,0," * 200_000 + b'9],"data_offsets":[0,0]}}'
    ),
    "a terabyte of header": sparse(struct.pack("<Q", 99_000_000) + b"{"),
}


# --- journals ---------------------------------------------------------------------------------


def journal(change: str = "", *, tables: str = schema.TABLES) -> Maker:
    def make(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.executescript(tables)
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        connection.execute(f"PRAGMA user_version = {schema.VERSION}")
        connection.executescript("PRAGMA writable_schema = ON;" + change)
        connection.commit()
        connection.close()

    return make


def without(table: str) -> str:
    return "\n".join(
        part + ";" for part in schema.TABLES.strip().split(";") if part and f"TABLE {table} " not in part
    )


def as_view(table: str, columns: str) -> Maker:
    """A view that never ends has the name of a table."""
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    return journal(f"CREATE VIEW {table} AS {numbers} SELECT {columns} FROM n;", tables=without(table))


def meta(value: str) -> str:
    return (
        f"INSERT INTO meta VALUES ('argv', '[\"train.py\"]'), ('reason', '\"finished\"'), ('x', '{value}');"
    )


NESTED = "[" * 100_000 + "]" * 100_000
JOURNALS: dict[str, Maker] = {
    "deep JSON in meta": journal(meta(NESTED)),
    "less deep JSON in meta": journal(meta("[" * 900 + "]" * 900)),
    "deep JSON in a finding": journal(f"INSERT INTO findings VALUES (1, 0, 1, 'PM101', '{NESTED}');"),
    "deep JSON in an event": journal(f"INSERT INTO events VALUES (1, 0, 1, 'RunStarted', '{NESTED}');"),
    "deep JSON in latest": journal(f"INSERT INTO latest VALUES ('custody', 1, '{NESTED}');"),
    "deep JSON in layers": journal(f"INSERT INTO layers VALUES (1, 'gradient', '{NESTED}');"),
    "a number with many digits": journal(meta("9" * 5000)),
    "steps without end": as_view(
        "steps", "i AS step, 0 AS optimizer, 0.0 AS time, 1 AS loss, 1 AS grad_norm, 1 AS lr"
    ),
    "meta without end": as_view("meta", "i AS key, 'null' AS value"),
    "findings without end": as_view(
        "findings", "i AS id, 0.0 AS time, 1 AS step, 'PM101' AS code, '{}' AS record"
    ),
    "sources without end": as_view("sources", "i AS path, '' AS text"),
    "a value that is counted while it is read": journal(
        tables=without("meta")
        + "CREATE TABLE real (key TEXT PRIMARY KEY); INSERT INTO real VALUES ('a');"
        + "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT GENERATED ALWAYS AS "
        + "(hex(zeroblob(100000000))) VIRTUAL); INSERT INTO meta (key) VALUES ('a'), ('b'), ('c');"
    ),
    "a large value": journal("INSERT INTO meta VALUES ('a', '\"' || hex(zeroblob(60000000)) || '\"');"),
    "many values": journal(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) "
        "INSERT INTO meta SELECT 'k' || i, '1' FROM n;"
    ),
    "numbers that are text": journal("INSERT INTO steps VALUES ('x', 'y', 'z', 'a', 'b', 'c');"),
    "numbers out of range": journal(
        "INSERT INTO steps VALUES (9223372036854775807, -1, 9e999, -9e999, 9e999, 'nan');"
        + meta("1")
        + "INSERT INTO meta VALUES ('steps', '1e400'), ('pid', '-1'), ('started', '[]'), ('host', '{}');"
    ),
    "meta of other kinds": journal(
        "INSERT INTO meta VALUES ('argv', '7'), ('reason', '{}'), ('steps', '[]'), ('started', '\"x\"');"
    ),
    "a finding that is none": journal("INSERT INTO findings VALUES (1, 0, 1, 'PM101', '[]');"),
    "another database": lambda path: void(
        sqlite3.connect(path).execute("CREATE TABLE a (b)").connection.close()
    ),
    "cut off": lambda path: (journal(meta("1"))(path), os.truncate(path, 5000))[0],
    "no columns": journal(tables=without("steps") + "CREATE TABLE steps (a);"),
    "a terabyte after the header": lambda path: (journal(meta("1"))(path), os.truncate(path, HUGE))[0],
}


# --- text -------------------------------------------------------------------------------------


def laughs(kind: str) -> bytes:
    """Nine anchors of nine anchors of nine anchors."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(lines).encode() if kind == "list" else merged().encode()


def merged() -> str:
    lines = ["a0: &a0 {k0: 1, j0: 2}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)]
    return "\n".join(lines)


YAML: dict[str, Maker] = {
    "broken": content(b"lr: 1e-4\nmodel: {a: [1, 2\nb: :\n"),
    "billion laughs": content(laughs("list")),
    "billion merges": content(laughs("merge")),
    "an anchor in itself": content(b"lr: 1e-4\na: &a [*a, *a]\nb: &b {c: *b}\n"),
    "deep lists": content(b"lr: 1e-4\na: " + b"[" * 50_000 + b"]" * 50_000),
    "deep blocks": content(
        b"\n".join(b" " * n + b"a:" for n in range(400)) + b"\n" + b" " * 500 + b"lr: 1e-4"
    ),
    "the same key twice": content(b"lr: 1e-4\nlr: 1e-3\n"),
    "a key that is a list": content(b"? [a, b]\n: 1\nlr: 1e-4\n"),
    "latin-1": content("grüße: 1\nlr: 1e-4\n".encode("latin-1")),
    "utf-16": content("lr: 1e-4\n".encode("utf-16")),
    "a zero byte": content(b"lr: 1e-4\n\x00a: 1\n"),
    "a tag that calls": content(b"lr: !!python/object/apply:os.system ['true']\n"),
    "a number with many digits": content(b"lr: 1e-4\nn: " + b"9" * 100_000),
    "a number of sixty seconds": content(b"lr: 1e-4\nn: " + b"1:" * 50_000 + b"0"),
    "one long line": content(b"lr: '" + b"x" * 150_000 + b"'\n"),
    "tabs": content(b"a:\n\tlr: 1e-4\n"),
}
JSON: dict[str, Maker] = {
    "broken": content(b'{"lr": 1e-4,, "a" }}'),
    "deep lists": content(b'{"lr": "1e-4", "a": ' + b"[" * 90_000 + b"]" * 90_000 + b"}"),
    "deep and open": content(b'{"lr": 1e-4, "a": ' + b"[" * 150_000),
    "not a number": content(b'{"lr": NaN, "a": Infinity, "b": -Infinity}'),
    "a number with many digits": content(b'{"lr": ' + b"9" * 100_000 + b"}"),
    "the same key twice": content(b'{"lr": 1e-4, "lr": 1e-3}'),
    "quotes without end": content(b'{"lr": "' + b'\\"' * 70_000),
    "utf-16": content('{"lr": 1e-4}'.encode("utf-16")),
    "comments without end": content(b'{"lr": 1e-4}' + b"/*" * 70_000),
}
TOML: dict[str, Maker] = {
    "broken": content(b"lr = = 1e-4\n[a\n"),
    "deep lists": content(b"lr = 1e-4\na = " + b"[" * 50_000 + b"]" * 50_000),
    "deep tables": content(b"lr = 1e-4\n[" + b".".join([b"a"] * 50_000) + b"]\nb = 1\n"),
    "a number with many digits": content(b"lr = " + b"9" * 100_000),
    "brackets without end": content(b"lr = 1e-4\n" + b"[ " * 70_000),
    "latin-1": content("lr = 1e-4 # grüße\n".encode("latin-1")),
}
PYTHON: dict[str, Maker] = {
    "deep brackets": content(b"x = " + b"(" * 150 + b"1" + b")" * 150),
    "very deep brackets": content(b"x = " + b"[" * 100_000 + b"]" * 100_000),
    "a long sum": content(b"x = " + b" + ".join([b"1"] * 50_000)),
    "signs": content(b"x = " + b"-" * 100_000 + b"1"),
    "attributes": content(b"import torch\nx = torch" + b".a" * 50_000),
    "calls": content(b"import torch\nx = torch.f" + b"()" * 50_000),
    "branches": content(b"if x: pass\n" + b"elif x: pass\n" * 20_000),
    "deep blocks": content(b"".join(b" " * n + b"if x:\n" for n in range(99)) + b" " * 99 + b"pass\n"),
    "a zero byte": content(b"import torch\n\x00\n"),
    "one long line": content(b"import torch\nx = '" + b"a" * 700_000 + b"'\n"),
    "an unknown encoding": content(b"# -*- coding: nosuch -*-\nimport torch\n"),
    "an encoding that is none": content(b"# -*- coding: base64 -*-\nimport torch\n"),
    "idna": content(b"# -*- coding: idna -*-\nimport torch\n" + b"a" * 10_000),
    "latin-1": content("import torch\nx = 'grüße'\n".encode("latin-1")),
    "a number with many digits": content(b"import torch\nx = " + b"9" * 100_000),
    "many classes": content(
        b"import torch\n" + b"".join(b"class A%d(A%d): pass\n" % (n, n + 1) for n in range(20_000))
    ),
    "many functions": content(
        b"import torch\n" + b"".join(b"def f%d(): return f%d()\n" % (n, n + 1) for n in range(12_000))
    ),
    "strings in strings": content(b"import torch\nx: " + repr(repr(repr("'a'" * 50))).encode() + b" = 1\n"),
}
NOTEBOOKS: dict[str, Maker] = {
    "deep": content(b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "cells of other kinds": content(
        json.dumps({"cells": [1, None, {"cell_type": "code", "source": 7}, "x"]}).encode()
    ),
    "no cells": content(b"{}"),
    "a list": content(b"[]"),
    "cells that are a number": content(b'{"cells": 1, "metadata": {"kernelspec": {"language": 3}}}'),
    "code that is deep": content(
        json.dumps({"cells": [{"cell_type": "code", "source": ["x = " + "-" * 100_000 + "1"]}]}).encode()
    ),
    "a lone surrogate": content(b'{"cells": [{"cell_type": "code", "source": ["x = \'\\ud800\'"]}]}'),
}


# --- data -------------------------------------------------------------------------------------


def png(width: int, height: int) -> bytes:
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )


def npy(head: str, tail: bytes = b"") -> bytes:
    text = head.encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + tail


def npz_bomb(path: Path) -> None:
    body = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (25000000,), }\n") + bytes(200_000_000)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", body)


def tar_of_many(path: Path) -> None:
    import tarfile

    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("zeros")
        info.size = 50_000_000
        archive.addfile(info, io.BytesIO(bytes(info.size)))


DATA: dict[str, Maker] = {
    "bomb.png": content(png(100_000, 100_000)),
    "large.png": content(png(12_000, 12_000)),
    "cut.png": content(png(10, 10)[:40]),
    "deep.npy": content(npy("(" * 5000 + ")" * 5000)),
    "calls.npy": content(npy("__import__('os').system('true')")),
    "huge.npy": content(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }\n")),
    "negative.npy": content(
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -8), }\n", bytes(64))
    ),
    "header.npy": content(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}"),
    "pickled.npy": content(
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", PICKLES["holds itself"])
    ),
    "bomb.npz": npz_bomb,
    "many.npz": many_records,
    "field.csv": content(b"a,b\n1," + b"x" * 3_000_000 + b"\n"),
    "quote.csv": content(b'a,b\n1,"' + b"x,\n" * 500_000),
    "columns.csv": content(b"," * 500_000 + b"\n" + b"," * 500_000),
    "line.csv": sparse(b"a,b"),
    "deep.json": content(NESTED.encode()),
    "digits.json": content(b"[" + b"9" * 100_000 + b"]"),
    "deep.jsonl": content(b"{}\n" + NESTED.encode() + b"\n"),
    "bomb.tar": tar_of_many,
    "cut.wav": content(b"RIFF\xff\xff\xff\x7fWAVEfmt \xff\xff\xff\xff"),
    "sparse.npy": sparse(
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2000000,), }\n"
    ),
    "sparse.png": sparse(b"\x89PNG\r\n\x1a\n"),
    "sparse.json": sparse(b"{}"),
    "itself.pt": content(PICKLES["holds itself"]),
    "itself.pkl": content(PICKLES["holds itself"]),
    "pipe.png": os.mkfifo,
    "pipe.npy": os.mkfifo,
    "pipe.csv": os.mkfifo,
    "pipe.json": os.mkfifo,
    "link.png": link_to_itself,
    "zero.csv": lambda path: path.symlink_to("/dev/zero"),
    "broken.h5": content(b"\x89HDF\r\n\x1a\n" + bytes(100)),
    "broken.parquet": content(b"PAR1" + bytes(100) + b"PAR1"),
}


def written(folder: Path, makers: dict[str, Maker], suffix: str) -> dict[str, Path]:
    """Each of these files, in a folder of its own."""
    made: dict[str, Path] = {}
    for number, (name, make) in enumerate(makers.items()):
        path = folder / f"{number:02}" / f"file{suffix}"
        path.parent.mkdir(parents=True)
        make(path)
        made[name] = path
    return made


def described(found: Any) -> str:
    return " ".join(str(found).split())[:300]
