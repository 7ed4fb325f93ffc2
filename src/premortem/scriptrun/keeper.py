"""The process between a verb and the script: `python -m premortem.scriptrun.keeper`. Orders come line by line.

For each it forks a process that enters the sandbox and plays the plan. It stays outside, has one thread, and adopts
every process that the script leaves behind. When the pipe of orders closes, be it because the verb is done, was
interrupted or was killed, the keeper ends them all and goes.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from premortem.scriptrun.ending import end_descendants
from premortem.scriptrun.sandbox import LEVELS, kernel
from premortem.scriptrun.sandbox.layers import discard

_LOOK = 0.02  # seconds between two looks, where the kernel cannot wake us
_ENTERED, _REFUSED = b"entered", b"refused "


class Keeper:
    def __init__(self, orders: int, answers: int, scratch: Path) -> None:
        self._orders, self._answers = orders, answers
        self._scratch = scratch
        self._verb = os.getppid()
        self._rest = b""
        self._fell: dict[int, str] = {}  # levels of the sandbox that cannot be had here -> why

    def serve(self) -> None:
        try:
            while (line := self._line()) is not None:
                self._answer(ended=self._do(json.loads(line)), fell=self._fell)
        finally:
            end_descendants()
            if os.getppid() != self._verb:  # it was killed, and cannot tidy up
                discard(self._scratch)

    def _line(self) -> bytes | None:
        while b"\n" not in self._rest:
            part = os.read(self._orders, 1 << 16)
            if not part:
                return None
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _answer(self, **words: Any) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(self._answers, json.dumps(words).encode() + b"\n")

    def _do(self, order: dict[str, Any]) -> int:
        """One run of the script; how its process ended, as `subprocess` says it."""
        for level in LEVELS:
            if level < order["level"] or level in self._fell:
                continue
            ours, theirs = socket.socketpair()
            pid = os.fork()
            if not pid:
                ours.close()
                self._become_the_script(order, level, theirs)
            theirs.close()
            either: list[Any] = [ours, self._orders]
            ready, _, _ = select.select(either, [], [])
            if self._orders in ready:  # closed, while a dead filesystem keeps it from entering
                raise SystemExit
            word = ours.recv(1 << 16)
            ours.close()
            if word.startswith(_REFUSED):
                os.waitpid(pid, 0)
                self._fell[level] = word.removeprefix(_REFUSED).decode()
                continue
            code = self._wait(pid)
            end_descendants(pid)
            return code
        raise RuntimeError("no sandbox at all, not even the last one")

    def _become_the_script(self, order: dict[str, Any], level: int, word: socket.socket) -> None:
        """In the fork. Does not return."""
        try:
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for descriptor in (self._orders, self._answers):
                os.close(descriptor)
            os.setpgid(0, 0)

            from premortem.scriptrun.script_process import Played

            played = Played(order, self._scratch)
            try:
                played.enter(level)
            except OSError as error:
                word.send(_REFUSED + str(error).encode())
                os._exit(1)
            word.send(_ENTERED)
            word.close()
            played.play()
        except BaseException:  # noqa: BLE001 - a fork must never go on as if it were the keeper
            import traceback

            traceback.print_exc()
        finally:
            os._exit(1)

    def _wait(self, pid: int) -> int:
        """Until it has ended, or the verb wants no more of it."""
        try:
            ending = os.pidfd_open(pid)
        except (AttributeError, OSError):
            ending = -1
        watched = [self._orders] + ([ending] if ending >= 0 else [])
        try:
            while True:
                ready, _, _ = select.select(watched, [], [], None if ending >= 0 else _LOOK)
                if self._orders in ready:  # closed: orders come one at a time
                    raise SystemExit
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    return os.waitstatus_to_exitcode(status)
        finally:
            if ending >= 0:
                os.close(ending)


def has_threads() -> bool:
    return kernel.threads() > 1


def _leave(*_: object) -> None:
    raise SystemExit


def main() -> None:
    orders, answers, scratch, warm = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    for descriptor in (orders, answers):
        os.set_inheritable(descriptor, False)
    kernel.adopt_orphans()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _leave)
    if warm:
        module, _, name = warm.partition(":")
        getattr(importlib.import_module(module), name)()
        if has_threads():  # a fork would lack them, and wait for them: begin again, cold
            for descriptor in (orders, answers):
                os.set_inheritable(descriptor, True)
            words = ["-m", "premortem.scriptrun.keeper", *sys.argv[1:4], ""]
            os.execv(sys.executable, [sys.executable, *words])  # noqa: S606
    Keeper(orders, answers, scratch).serve()


if __name__ == "__main__":
    main()
