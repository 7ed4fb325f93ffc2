"""The process between a verb and the script: `python -m premortem.scriptrun.keeper`.

It loads what all launches need, and forks a server for each lane. Orders come to a server line by line. For each it
forks a process that enters the sandbox and plays the plan; an order that comes before that one has ended, ends it. A
server stays outside, has one thread, and adopts every process that the script leaves behind. When its pipe of orders
closes, be it because the verb is done, was interrupted or was killed, it ends them all and goes. The keeper goes last.
"""

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
from premortem.scriptrun.sandbox import AUDIT, LEVELS, kernel
from premortem.scriptrun.sandbox.layers import discard

_LOOK = 0.02  # seconds between two looks, where the kernel cannot wake us
_AGAIN = 0.05  # seconds: by then the object is gone
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_ENTERED, _REFUSED = b"entered", b"refused "


class Server:
    def __init__(self, orders: int, answers: int, scratch: Path) -> None:
        self._orders, self._answers = orders, answers
        self._scratch = scratch
        self._rest = b""
        self._fell: dict[int, str] = {}  # levels of the sandbox that cannot be had here -> why

    def serve(self) -> None:
        try:
            while (line := self._line()) is not None:
                if order := json.loads(line):  # an empty one came too late: it had ended
                    self._answer(ended=self._do(order), fell=self._fell)
        finally:
            end_descendants()

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
            if level < order["level"] or level in self._fell or (order.get("strict") and level == AUDIT):
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
        """Until it has ended, or the verb wants no more of it: then it is ended."""
        try:
            ending = os.pidfd_open(pid)
        except (AttributeError, OSError):
            ending = -1
        watched = [self._orders] + ([ending] if ending >= 0 else [])
        try:
            while True:
                ready, _, _ = select.select(watched, [], [], None if ending >= 0 else _LOOK)
                if self._orders in ready:
                    if self._line() is None:
                        raise SystemExit
                    end_descendants(pid)
                    return 0
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    return os.waitstatus_to_exitcode(status)
        finally:
            if ending >= 0:
                os.close(ending)


def has_threads() -> bool:
    return kernel.threads() > 1


def _leave(*_: object) -> None:
    for number in _ENDING:  # another one would keep us from ending what is left
        signal.signal(number, signal.SIG_IGN)
    sys.unraisablehook = _passed_over
    raise SystemExit


def _passed_over(problem: "sys.UnraisableHookArgs") -> None:
    """The signal came while Python ended some object, where it shows what is raised and goes on. So once more, a moment later."""
    if problem.exc_type is not SystemExit:
        sys.__unraisablehook__(problem)
        return

    def leave(*_: object) -> None:
        raise SystemExit

    signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN)


def main() -> None:
    scratch, warm, pipes = Path(sys.argv[1]), sys.argv[2], [int(word) for word in sys.argv[3:]]
    verb = os.getppid()
    for descriptor in pipes:
        os.set_inheritable(descriptor, False)
    kernel.adopt_orphans()
    for number in _ENDING:
        signal.signal(number, _leave)
    try:
        if warm:
            module, _, name = warm.partition(":")
            getattr(importlib.import_module(module), name)()
            if has_threads():  # a fork would lack them, and wait for them: begin again, cold
                for descriptor in pipes:
                    os.set_inheritable(descriptor, True)
                words = ["-m", "premortem.scriptrun.keeper", str(scratch), "", *sys.argv[3:]]
                os.execv(sys.executable, [sys.executable, *words])  # noqa: S606
        for place in range(0, len(pipes), 2):
            if not os.fork():
                _serve(pipes, place, scratch)
        for descriptor in pipes:
            os.close(descriptor)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()
    finally:
        end_descendants()
        if os.getppid() != verb:  # it was killed, and cannot tidy up
            discard(scratch)


def _serve(pipes: list[int], place: int, scratch: Path) -> None:
    """In a fork of the keeper. Does not return."""
    try:
        kernel.adopt_orphans()
        for descriptor in {*pipes} - {*pipes[place : place + 2]}:
            os.close(descriptor)
        Server(pipes[place], pipes[place + 1], scratch).serve()
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
