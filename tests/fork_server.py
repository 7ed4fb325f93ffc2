"""A process that has loaded torch once, and forks for each command, or for several at a time: `tests.starting` talks to it.

A fork looks like a fresh Python: torch is not among its modules until the script imports it, and is there at once then,
so that premortem attaches where it always does. What is not like a fresh one: the seed of hashes is the same in all
forks, libraries have read their environment variables already, and at the end nothing is taken apart.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import fcntl
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import forked_process

# What verbs load on their way, here and in the process of the script, and torch at its first optimizer.
LOADED = (
    "torch",
    "torch._dynamo",
    "premortem.cli.verbs",
    "premortem.run.command",
    "premortem.run.launch",
    "premortem.run.watcher",
    "premortem.run.safety",
    "premortem.run.status",
    "premortem.probes",
    "premortem.actions.checkpoint_safety",
    "premortem.actions.guard",
    "premortem.actions.requests",
    "premortem.actions.samples_left_out",
    "premortem.actions.smaller_batches",
    "premortem.actions.stop_ranks",
    "premortem.replay.capsule_writer",
    "premortem.replay.director",
    "premortem.replay.replayed_script",
    "premortem.replay.repeated_step",
    "premortem.lint.imported",
    "premortem.lint.rules",
    "premortem.lint.verb",
    "premortem.preflight.verb",
    "premortem.preflight.environment.gathering",
    "premortem.preflight.config.gathering",
    "premortem.preflight.data.surveying",
    "premortem.rehearsal.checked_script",
    "premortem.rehearsal.director",
    "premortem.proof.compared_script",
    "premortem.fit.verb",
    "premortem.fit.rehearsed_script",
    "premortem.fit.session",
    "premortem.why.verb",
    "premortem.why.tried_script",
    "premortem.why.facts",
    "premortem.changes.patches",
    "premortem.drill.verb",
    "premortem.drill.mutated_script",
    "premortem.report.verb",
    "premortem.scriptrun.keeper",
)
# Likewise, where it is installed.
LOADED_IF_THERE = (
    "bokeh.plotting",
    "premortem.report.plots",
    "premortem.ui.app",
    "premortem.ui.verb",
    "uvicorn.lifespan.on",
    "uvicorn.loops.asyncio",
    "uvicorn.protocols.http.h11_impl",
)
MOST_DESCRIPTORS = 32
ABOVE = 512  # descriptors of a fork are below


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


def receive(line: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """An order, with the descriptors of the process to be."""
    room = socket.CMSG_SPACE(MOST_DESCRIPTORS * array.array("i").itemsize)
    words, rest, _, _ = line.recvmsg(1 << 16, room)
    descriptors = [number for _, _, numbers in rest for number in array.array("i", numbers)]
    while words and not words.endswith(b"\n"):
        words += line.recv(1 << 16)
    return json.loads(words or b"{}"), descriptors


def become(order: dict[str, Any], streams: list[int]) -> None:
    """This fork becomes the process that was ordered."""
    with contextlib.suppress(OSError):  # a group of another session
        os.setsid() if order["session"] else os.setpgid(0, order["group"])
    moved = [fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, ABOVE) for stream in streams]
    os.closerange(3, ABOVE)
    for number, stream in zip(order["descriptors"], moved, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    if order["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if order["umask"] >= 0:
        os.umask(order["umask"])
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED")) or "-u" in order["words"][:1]
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
    subprocess.Popen = forked_process.ForkedProcess  # type: ignore[misc]
    # Else this file and that one would be modules of the user's, which premortem reads while it watches.
    for name in ("forked_process", "__mp_main__"):
        sys.modules.pop(name, None)
    take_for_parent(order["parent"])


def take_for_parent(pid: int) -> None:
    """Who ordered this process is its parent, as far as it asks, and for as long as that one lives."""
    me, really = os.getpid(), os.getppid
    with contextlib.suppress(ProcessLookupError):
        here = os.pidfd_open(pid)
        parent = fcntl.fcntl(here, fcntl.F_DUPFD_CLOEXEC, ABOVE)  # a script opens its files from 3 on
        os.close(here)
        os.getppid = lambda: (
            pid if os.getpid() == me and not select.select([parent], [], [], 0)[0] else really()
        )


def execute(words: list[str]) -> None:
    """`python -m module ...`, `python -c code ...` or `python script.py ...`."""
    sys.orig_argv = [sys.executable, *words]
    words = words[1:] if words[0] == "-u" else words
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path[0] = str(Path.cwd())
        sys.modules.pop(words[1], None)  # a fresh process has not imported it, and runpy would warn
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    if words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(words[1], "<string>", "exec", dont_inherit=True), vars(main))
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
    except BaseException as error:  # noqa: BLE001 - told as Python tells it
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def leave(code: int) -> None:
    """As Python ends, but for taking all modules apart: in a fork that would copy most of the server's memory."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if code < 0:  # as Python ends after Ctrl-C: of the signal itself
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code & 0xFF)


def serve(life: socket.socket, orders: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork for the orders that come, and tell how the forks ended. Comes back in the forks, and at the end."""
    forks: dict[
        int, tuple[int, socket.socket]
    ] = {}  # the descriptor of a fork -> its pid, and who wants to know
    while True:
        ready, _, _ = select.select([life, orders, *forks], [], [])
        if life in ready:
            return {}, []
        for ended in [each for each in ready if isinstance(each, int)]:
            pid, line = forks.pop(ended)
            answer(line, status=os.waitpid(pid, 0)[1])
            line.close()
            os.close(ended)
        if orders not in ready:
            continue
        line, _ = orders.accept()
        order, streams = receive(line)
        if not order or threads() > 1:
            answer(line, threads=True)
            line.close()
        elif pid := os.fork():
            forks[os.pidfd_open(pid)] = pid, line
            answer(line, pid=pid)
        else:
            for each in (life, orders, line, *(line for _, line in forks.values())):
                each.close()
            return order, streams
        for stream in streams:
            os.close(stream)


def answer(line: socket.socket, **words: Any) -> None:
    with contextlib.suppress(OSError):  # the one who asked is gone
        line.sendall(json.dumps(words).encode() + b"\n")


def main() -> None:
    os.setpgrp()  # Ctrl-C is for those who give the orders
    for name in LOADED:
        importlib.import_module(name)
    for name in LOADED_IF_THERE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sys.modules["premortem.probes.files_read"].user_files()  # whose each of these modules is, found out once
    gc.collect()
    gc.freeze()
    life = socket.socket(fileno=int(sys.argv[1]))
    orders = socket.socket(fileno=int(sys.argv[2]))
    forked_process.inner_address[:] = [orders.getsockname()]
    order, streams = serve(life, orders)
    if order:
        become(order, streams)
        leave(ended(order["words"]))


if __name__ == "__main__":
    main()
