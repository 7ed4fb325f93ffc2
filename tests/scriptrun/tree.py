"""The folder that the operations work in, and a picture of it in which every change shows."""

import hashlib
import os
import shutil
import sqlite3
import stat
import struct
import subprocess
from contextlib import closing
from pathlib import Path

_FILES = {
    "config.json": '{"lr": 1}',
    "log.txt": "line 1\nline 2\n",
    "ro.txt": "ro",
    "helper.py": "V = 3\n",
    "runs/old/a.txt": "a",
    "runs/old/b.txt": "b",
    "../data/x.csv": "1,2\n",
    "../home/.settings": "mine",
}


def plant(tree: Path) -> None:
    if tree.exists():
        subprocess.run(["chmod", "-R", "u+rwX", str(tree)], check=False)
        shutil.rmtree(tree)
    project = tree / "proj"
    for name in ("proj/runs/old", "proj/empty", "data/img", "other", "home"):
        (tree / name).mkdir(parents=True)
    for name, text in _FILES.items():
        (project / name).write_text(text)
    for number in range(5):
        (tree / f"data/img/{number}.bin").write_bytes(bytes([number]) * 99)
    (project / "big.bin").write_bytes(b"0123456789abcdef" * 65536)
    (project / "arr.bin").write_bytes(bytes(range(8)))
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }".ljust(117) + b"\n"
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<3f", 1, 2, 3)
    (tree / "data/m.npy").write_bytes(array)
    (project / "data_link").symlink_to("../data")
    (project / "ro.txt").chmod(0o444)
    with closing(sqlite3.connect(project / "old.db")) as connection:
        connection.execute("create table t(a)")
        connection.execute("insert into t values(1)")
        connection.commit()
    for here, folders, files in os.walk(tree):
        for name in (*folders, *files):
            os.utime(Path(here, name), ns=(10**18, 10**18 + 7), follow_symlinks=False)


def picture(tree: Path) -> dict:
    found = {}
    for here, folders, files in os.walk(tree):
        for name in (*folders, *files, "."):
            path = os.path.normpath(f"{here}/{name}")
            status = os.lstat(path)
            found[os.path.relpath(path, tree)] = [
                status.st_mode,
                status.st_uid,
                status.st_gid,
                status.st_nlink,
                status.st_mtime_ns,
                _content(path, status.st_mode),
                os.listxattr(path, follow_symlinks=False),
            ]
    return found


def _content(path: str, mode: int) -> str:
    if stat.S_ISLNK(mode):
        return str(Path(path).readlink())
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if stat.S_ISREG(mode) else ""
