"""A process that has loaded torch once, and forks for each command, or for several at a time: `tests.starting` talks to it.

A fork looks like a fresh Python: torch is not among its modules until the script imports it, and is there at once then,
so that premortem attaches where it always does. What is not like a fresh one: the seed of hashes is the same in all
forks, libraries have read their environment variables already, and at the end nothing is taken apart.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import runpy
import socket
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

# What `premortem run` loads on its way, and torch at its first optimizer.
LOADED = ("torch", "torch._dynamo", "premortem.run.launch", "premortem.run.watcher", "premortem.probes")
LARGEST_ORDER = 1 << 20
MOST_AT_ONCE = 8


class Arrival(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The module that is loaded already, for whoever imports it first."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.spec, self.loader = module.__spec__, module.__loader__

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.module.__name__:
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__, module.__loader__ = self.spec, self.loader
        sys.meta_path.remove(self)


def hide(name: str) -> None:
    module = sys.modules.pop(name)
    parent, _, last = name.rpartition(".")
    if parent:
        delattr(sys.modules[parent], last)
    sys.meta_path.insert(0, Arrival(module))


def threads() -> int:
    """A fork has only the thread that asked for it, and would wait for the others."""
    return len(list(Path("/proc/self/task").iterdir()))


def receive(sock: socket.socket) -> tuple[list[dict[str, Any]], list[int]]:
    """Orders, with the three streams of each process to be; nothing when there will be no more."""
    room = socket.CMSG_SPACE(3 * MOST_AT_ONCE * array.array("i").itemsize)
    words, rest, _, _ = sock.recvmsg(LARGEST_ORDER, room)
    if not words:
        return [], []
    [(_, _, numbers)] = rest
    return json.loads(words), list(array.array("i", numbers))


def become(order: dict[str, Any], streams: list[int]) -> None:
    """This fork becomes the process that was ordered."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8")  # noqa: SIM115 - for the whole process
    for number, name, errors in ((1, "stdout", "strict"), (2, "stderr", "backslashreplace")):
        raw: Any = open(number, "wb", 0 if unbuffered else -1)  # noqa: SIM115, PTH123
        text = io.TextIOWrapper(
            raw, encoding="utf-8", errors=errors, write_through=unbuffered, line_buffering=number == 2
        )
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)
    tempfile.tempdir = None
    # Unseeded, every process draws other numbers. The standard library's `random` sees to itself.
    sys.modules["torch"].default_generator.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    added = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = ["", *added, *sys.path[1:]]
    # The second comes with the first optimizer, and premortem looks whether it is there.
    hide("torch._dynamo")
    hide("torch")


def execute(words: list[str]) -> None:
    """`python -m module ...` or `python script.py ...`."""
    sys.orig_argv = [sys.executable, *words]
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path[0] = str(Path.cwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = words
    sys.path[0] = str(Path(words[0]).resolve().parent)
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__file__ = str(Path(words[0]).absolute())
    exec(compile(Path(words[0]).read_bytes(), main.__file__, "exec", dont_inherit=True), vars(main))


def ended(words: list[str]) -> int:
    """The exit code, as Python has it."""
    try:
        execute(words)
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return leaving.code or 0
        print(leaving.code, file=sys.stderr)
        return 1
    except BaseException:  # noqa: BLE001 - told as Python tells it
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def leave(code: int) -> None:
    """As Python ends, but for taking all modules apart: in a fork that would copy most of the server's memory."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)


def serve(sock: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork for the orders that come, and tell how the forks ended. Comes back in the forks, and at the end."""
    while True:
        orders, streams = receive(sock)
        if not orders:
            return {}, []
        if threads() > 1:
            sock.sendall(b'{"threads": true}\n')
        else:
            pids = []
            for number, order in enumerate(orders):
                pid = os.fork()
                if not pid:
                    sock.close()
                    mine = streams[3 * number : 3 * number + 3]
                    for stream in set(streams) - set(mine):
                        os.close(stream)
                    return order, mine
                pids.append(pid)
            sock.sendall(json.dumps({"pids": pids}).encode() + b"\n")
            codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
            sock.sendall(json.dumps({"codes": codes}).encode() + b"\n")
        for stream in streams:
            os.close(stream)


def main() -> None:
    for name in LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    order, streams = serve(socket.socket(fileno=int(sys.argv[1])))
    if order:
        become(order, streams)
        leave(ended(order["words"]))


if __name__ == "__main__":
    main()
