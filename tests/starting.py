"""Start a Python as `subprocess` does, without the seconds it takes to load torch.

For tests that judge what a training script was told or has written. Those about start-up itself, or about crashes,
start real processes; so do all with PREMORTEM_TESTS_REAL=1, as `make exhaustive` sets it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from premortem.scriptrun import run as scriptrun
from tests.forked_process import ForkedProcess

SERVER = Path(__file__).with_name("fork_server.py")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Server:
    """The process that forks, started with the first order of this one."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.folder = tempfile.mkdtemp(prefix="premortem-forks-")
        self.address = str(Path(self.folder) / "orders")
        self.life, theirs = socket.socketpair()
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | ONE_THREAD
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as orders:
            orders.bind(self.address)
            orders.listen()
            descriptors = [theirs.fileno(), orders.fileno()]
            self.process = subprocess.Popen(
                [sys.executable, str(SERVER), *map(str, descriptors)],
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                env=environment,
            )
        atexit.register(self.close)

    def close(self) -> None:
        if os.getpid() == self.owner:
            self.life.close()
            self.process.wait()
            shutil.rmtree(self.folder, ignore_errors=True)


_servers: list[Server] = []


class _Forked(ForkedProcess):
    @property
    def address(self) -> str:
        if not _servers or _servers[0].owner != os.getpid():
            _servers[:] = [Server()]
        return _servers[0].address


class OnATerminal(_Forked):
    """With `start_new_session`, and a terminal as stdin: as a shell starts it there."""

    terminal = True


def real() -> bool:
    return bool(os.environ.get("PREMORTEM_TESTS_REAL")) or not hasattr(os, "pidfd_open")


def Popen(*args: Any, **more: Any) -> subprocess.Popen[Any]:  # noqa: N802 - it stands for `subprocess.Popen`
    return subprocess.Popen(*args, **more) if real() else _Forked(*args, **more)


class _Subprocess(ModuleType):
    """The module `subprocess`, but for what it starts."""

    Popen = staticmethod(Popen)

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)


# For a module that starts Pythons by `subprocess`.
forking: Any = _Subprocess("subprocess")


def fork_keepers() -> None:
    """Verbs that run in the process of the tests start their keeper as a fork too."""
    scriptrun.subprocess = forking


def run(
    command: list[Any],
    *,
    input: str | None = None,  # noqa: A002 - as `subprocess.run` calls it
    timeout: float | None = None,
    check: bool = False,
    capture_output: bool = True,
    text: bool = True,
    **more: Any,
) -> subprocess.CompletedProcess[str]:
    """`subprocess.run(command, capture_output=True, text=True)` of this Python, with an empty stdin."""
    words = [str(word) for word in command]
    streams: dict[str, Any] = {
        "stdin": subprocess.DEVNULL if input is None else subprocess.PIPE,
        "text": text,
    }
    if capture_output:
        streams |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(words, **streams | more) as process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(words, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def together(
    command: list[Any], *, cwd: Any, environments: list[dict[str, str]], timeout: float, fresh: bool = False
) -> list[tuple[int, str]]:
    """The same command in each of these environments, at the same time: exit codes, and what was printed."""
    words = [str(word) for word in command]
    start: Any = subprocess.Popen if fresh else Popen
    until = time.monotonic() + timeout
    with contextlib.ExitStack() as open_files:
        outs = [open_files.enter_context(tempfile.TemporaryFile()) for _ in environments]
        streams = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
        processes = [
            start(words, cwd=cwd, env=env, stdout=out, **streams)
            for env, out in zip(environments, outs, strict=True)
        ]
        try:
            codes = [process.wait(max(0.0, until - time.monotonic())) for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
        return list(zip(codes, map(_text, outs), strict=True))


def _text(file: Any) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")
