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
import time
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

    def run(
        self, orders: list[dict[str, Any]], streams: list[int], timeout: float | None
    ) -> list[int] | None:
        """The exit codes of processes that run at the same time; None where it cannot fork."""
        socket.send_fds(self.orders, [json.dumps(orders).encode()], streams)
        pids = self.answer().get("pids")
        if pids is None:
            return None
        ended = False
        try:
            ended = bool(select.select([self.orders], [], [], timeout)[0])
        finally:
            if not ended:
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):  # it has just ended
                        os.kill(pid, signal.SIGKILL)
                self.answer()
        if not ended:
            raise subprocess.TimeoutExpired(orders[0]["words"], timeout or 0.0)
        return list(self.answer()["codes"])


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


def together(
    command: list[Any], *, cwd: Any, environments: list[dict[str, str]], timeout: float, fresh: bool = False
) -> list[tuple[int, str]]:
    """The same command in each of these environments, at the same time: exit codes, and what was printed."""
    words = [str(word) for word in command]
    with contextlib.ExitStack() as open_files:
        outs = [open_files.enter_context(tempfile.TemporaryFile()) for _ in environments]
        codes = None
        if not (fresh or real()):
            codes = _codes(words, cwd, environments, [(out, out) for out in outs], timeout)
        if codes is None:
            codes = _started(words, cwd, environments, outs, timeout)
        return list(zip(codes, map(_text, outs), strict=True))


def _started(
    words: list[str], cwd: Any, environments: list[dict[str, str]], outs: list[Any], timeout: float
) -> list[int]:
    until = time.monotonic() + timeout
    processes = [
        subprocess.Popen(
            words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
        for env, out in zip(environments, outs, strict=True)
    ]
    try:
        return [process.wait(max(0.0, until - time.monotonic())) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _forked(
    words: list[str], cwd: Any, env: dict[str, str] | None, timeout: float | None
) -> subprocess.CompletedProcess[str] | None:
    environment = dict(os.environ if env is None else env)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        codes = _codes(words, cwd, [environment], [(out, err)], timeout)
        if codes is None:
            return None
        return subprocess.CompletedProcess(words, codes[0], _text(out), _text(err))


def _codes(
    words: list[str],
    cwd: Any,
    environments: list[dict[str, str]],
    files: list[tuple[Any, Any]],
    timeout: float | None,
) -> list[int] | None:
    assert words[0] == sys.executable, words
    folder = str(Path(cwd or ".").absolute())
    orders = [{"words": words[1:], "folder": folder, "environment": each} for each in environments]
    with Path(os.devnull).open("rb") as none:
        streams = [each.fileno() for out, err in files for each in (none, out, err)]
        return _server().run(orders, streams, timeout)


def _text(file: Any) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")
