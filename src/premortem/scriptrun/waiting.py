"""A process that waits in the middle of the script, and forks for each order that comes: what the script has done until there,
be it for minutes, is done once.

The verb puts orders into a folder, one file each; `.end` beside one of them ends its fork.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from premortem.scriptrun.sandbox.kernel import die_with_parent
from premortem.scriptrun.script_process import Played

_LOOK = 0.01  # seconds between two looks for an order


def flush() -> None:
    """What a stream holds back would be printed by each fork."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # the script may have closed or replaced it
            stream.flush()


def wait_for_orders(
    played: Played, orders: Path, ended: Callable[[int, int], None], *, apart: bool = False
) -> dict[str, Any]:
    """Returns only in a fork, with its order. `ended` is called with the number of an order, or minus the process, and the
    exit code. `apart`: what a fork writes is seen by no other one."""
    seen: set[str] = set()
    forks: dict[int, int] = {}  # process -> number of its order
    played.speak_as()
    while True:
        _reap(forks, ended)
        for file in sorted(orders.glob("*.json")):
            if file.name in seen:
                continue
            seen.add(file.name)
            order: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            me = os.getpid()
            fork = os.fork()
            if not fork:
                die_with_parent(me)
                os.setpgid(0, 0)
                played.speak_as(order=order["number"])
                played.print_to(printed(played.shared, order["number"]))
                if apart:
                    _enter_apart(played, order["number"])
                return order
            forks[fork] = order["number"]
        for file in orders.glob("*.end"):
            file.unlink()
            for fork, number in forks.items():
                if str(number) == file.stem:
                    with suppress(ProcessLookupError):
                        os.killpg(fork, signal.SIGKILL)
        time.sleep(_LOOK)


def _enter_apart(played: Played, number: int) -> None:
    try:
        played.enter_apart(number)
    except OSError as error:
        played.tell(refused=str(error))
        played.leave()


def _reap(forks: dict[int, int], ended: Callable[[int, int], None]) -> None:
    with suppress(ChildProcessError):
        while (left := os.waitpid(-1, os.WNOHANG))[0]:
            ended(forks.pop(left[0], -left[0]), os.waitstatus_to_exitcode(left[1]))


def put(orders: Path, number: int, order: dict[str, Any]) -> None:
    """The verb's side: whole at once, for whoever looks."""
    draft = orders.parent / f"order-{number}.draft"
    draft.write_text(json.dumps({**order, "number": number}), encoding="utf-8")
    draft.replace(orders / f"{number}.json")


def end(orders: Path, number: int) -> None:
    (orders / f"{number}.end").touch()


def printed(shared: Path, number: int) -> Path:
    return shared / f"printed-by-{number}.txt"
