"""`subprocess.Popen` of this Python as a fork of a process that has torch loaded: see `tests/fork_server.py`.

Pipes, waiting and signals are those of `subprocess`; only the start is another. The parent of the process is the server,
which reports how it ended. In the forks themselves it stands in the place of `subprocess.Popen`, so that a verb that starts
`python -m premortem...` forks too. No import of `tests`: the server, which is a plain script, loads this file as well.
"""

from __future__ import annotations

import inspect
import json
import os
import select
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

REAL = subprocess.Popen
# Where forks of forks are ordered; only the server and its forks have it.
inner_address: list[str] = []
# What a verb starts besides modules of premortem. A script's own children are real: tests of them are about their start.
OURS = ("torch.distributed.run",)
_OTHER_WAYS = ("preexec_fn", "shell", "gid", "gids", "uid", "executable")


def words_of(args: Any) -> list[str] | None:
    """What comes after `python`: `-m module ...`, `-c code ...` or `script.py ...`; None where it is something else."""
    if isinstance(args, (str, bytes, os.PathLike)):
        return None
    words = [os.fsdecode(word) for word in args]
    if Path(words[0]) == Path(sys.executable).with_name("premortem"):  # a script of this Python
        return words
    if words[0] != sys.executable:
        return None
    words = words[1:]
    first = next((word for word in words if word != "-u"), "-")
    return words if first in {"-m", "-c"} or not first.startswith("-") else None


def _ours(words: list[str]) -> bool:
    words = [word for word in words[:3] if word != "-u"]
    return words[0] == "-m" and (words[1].partition(".")[0] == "premortem" or words[1] in OURS)


class ForkedProcess(subprocess.Popen):  # type: ignore[type-arg]
    """A `Popen` whose process is forked at `address`; a real one where that cannot be."""

    address = ""
    terminal = False  # its stdin is the terminal of its session
    _line: socket.socket | None = None

    def _execute_child(self, *args: Any) -> None:
        given = inspect.signature(REAL._execute_child).bind(self, *args).arguments  # type: ignore[attr-defined]
        if not self._forked(given):
            super()._execute_child(*args)  # type: ignore[misc]

    def _forked(self, given: dict[str, Any]) -> bool:
        words = words_of(given["args"])
        if words is None or any(given.get(name) for name in _OTHER_WAYS):
            return False
        inner = inner_address[0] if inner_address and _ours(words) else ""
        address = self.address or inner
        if not address:
            return False
        sys.audit("subprocess.Popen", sys.executable, given["args"], given["cwd"], given["env"])
        environment = os.environ if given["env"] is None else given["env"]
        kept = sorted(map(int, given["pass_fds"]))
        streams = [
            number if stream == -1 else stream
            for number, stream in enumerate((given["p2cread"], given["c2pwrite"], given["errwrite"]))
        ]
        order = {
            "words": words,
            "folder": os.path.abspath(given["cwd"] or "."),  # noqa: PTH100 - a PathLike or text
            "environment": {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()},
            "descriptors": [0, 1, 2, *kept],
            "session": bool(given["start_new_session"]),
            "terminal": self.terminal,
            "group": os.getpgrp(),
            "parent": os.getpid(),
            "umask": given["umask"],
        }
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            line.connect(address)
            text = json.dumps(order).encode() + b"\n"
            line.sendall(text[socket.send_fds(line, [text], streams + kept) :])
            answer = json.loads(_read_line(line))
        except BaseException:
            line.close()
            raise
        if "pid" not in answer:
            line.close()
            return False
        self._line = line
        self.pid = answer["pid"]
        self._child_created = True
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(given[name] for name in ends))  # type: ignore[attr-defined]
        return True

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        line = self._line
        if line is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc]
        if wait_flags & os.WNOHANG and not select.select([line], [], [], 0)[0]:
            return 0, 0
        status = _read_line(line)
        line.close()
        # Without an answer the server is gone, and how the process ended is not known.
        return self.pid, json.loads(status)["status"] if status else 0

    def _internal_poll(self, *args: Any, **more: Any) -> int | None:
        if self._line is None:
            return super()._internal_poll(*args, **more)  # type: ignore[misc]
        if self.returncode is None and self._waitpid_lock.acquire(False):  # type: ignore[attr-defined]
            try:
                if self.returncode is None:
                    pid, status = self._try_wait(os.WNOHANG)
                    if pid:
                        self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


def _read_line(line: socket.socket) -> bytes:
    got = b""
    while not got.endswith(b"\n"):
        part = line.recv(1)
        if not part:
            return b""
        got += part
    return got
