"""Start a Python as `subprocess.run` does, without the seconds it takes to load torch.

For tests that judge what a training script was told or has written. Those about start-up itself, signals or crashes
start real processes; so do all with PREMORTEM_TESTS_REAL=1, as `make exhaustive` sets it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("fork_server.py")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Server:
    """The process that forks, started with the first order of this one."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | ONE_THREAD
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, str(SERVER), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,  # Ctrl-C is for this process, which tells
            )
        self.answers = self.orders.makefile("rb", buffering=0)  # so that `select` sees all there is
        atexit.register(self.close)

    def close(self) -> None:
        if os.getpid() == self.owner:
            self.answers.close()
            self.orders.close()
            self.process.wait()

    def answer(self) -> dict[str, Any]:
        line = self.answers.readline()
        assert line, f"the fork server ended with {self.process.wait()}"
        return json.loads(line)

    def run(self, order: dict[str, Any], streams: list[int], timeout: float | None) -> int | None:
        """The exit code; None where it cannot fork."""
        socket.send_fds(self.orders, [json.dumps(order).encode()], streams)
        pid = self.answer().get("pid")
        if pid is None:
            return None
        ended = False
        try:
            ended = bool(select.select([self.orders], [], [], timeout)[0])
        finally:
            if not ended:
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.kill(pid, signal.SIGKILL)
                self.answer()
        if not ended:
            raise subprocess.TimeoutExpired(order["words"], timeout or 0.0)
        return int(self.answer()["status"])


_servers: list[Server] = []


def _server() -> Server:
    if not _servers or _servers[0].owner != os.getpid():
        _servers[:] = [Server()]
    return _servers[0]


def real() -> bool:
    return bool(os.environ.get("PREMORTEM_TESTS_REAL")) or not Path("/proc/self/task").is_dir()


def run(
    command: list[Any],
    *,
    cwd: Any = None,
    env: dict[str, str] | None = None,
    timeout: float | None = None,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """`subprocess.run(command, capture_output=True, text=True)` of this Python, with an empty stdin."""
    words = [str(word) for word in command]
    assert words[0] == sys.executable, words
    done = None if real() else _forked(words, cwd, env, timeout)
    if done is None:
        done = subprocess.run(
            words,
            cwd=cwd,
            env=env,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    if check:
        done.check_returncode()
    return done


def _forked(
    words: list[str], cwd: Any, env: dict[str, str] | None, timeout: float | None
) -> subprocess.CompletedProcess[str] | None:
    order = {
        "words": words[1:],
        "folder": str(Path(cwd or ".").absolute()),
        "environment": dict(os.environ if env is None else env),
    }
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        Path(os.devnull).open("rb") as none,
    ):
        code = _server().run(order, [none.fileno(), out.fileno(), err.fileno()], timeout)
        if code is None:
            return None
        said = [_text(file) for file in (out, err)]
    return subprocess.CompletedProcess(words, code, *said)


def _text(file: Any) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")
