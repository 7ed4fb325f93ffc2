"""One launch: the script's process, or one for each rank that made the step. It ends with all of them.

A rank that dies or ends early leaves the others in a collective, where they would wait for ever. So nobody waits for long
after the first has gone, and what is said is what that one had to say.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from premortem import private
from premortem.children import Left, Started
from premortem.plain import dumps, exact
from premortem.replay.order import Order
from premortem.replay.together import named
from premortem.replay.trial import Result

# Seconds, for ranks that were about to end too, or are told by their library that a peer is gone.
_GRACE = 10.0
_SHORT = 2.0  # where one has died, nothing that the others could still do is of use
_LOOK = 0.02
_TAIL = 12  # lines


class Ended(NamedTuple):
    problem: str  # with the launch itself
    tail: str  # the last lines that the script printed


def launch(order: Order, environment: Mapping[str, str], seconds: float, *, show_output: bool) -> Ended:
    """One run of the script, on as many processes as there are capsules."""
    began = time.time()
    ranks = len(order.capsules)
    meeting = {} if order.alone else _meeting(ranks)
    children: list[Started] = []
    gone: list[int] = []  # ranks, in the order in which they ended
    try:
        for rank in range(ranks):
            paper = order.scratch / f"order-{rank}.json"
            private.write_text(paper, exact(replace(order, rank=rank).to_json()))
            place = {} if order.alone else {name: str(rank) for name in ("RANK", "LOCAL_RANK", "ROLE_RANK")}
            children.append(
                Started(
                    "premortem.replay.child",
                    [str(paper)],
                    scratch=order.scratch,
                    cwd=order.cwd,
                    environment={**environment, **meeting, **place},
                    show_output=show_output,
                    output=f"printed-{rank}.txt",
                )
            )
        _wait(children, gone, seconds)
    finally:
        left = [child.end() for child in children]
    if order.alone:
        return Ended(left[0].problem(seconds), left[0].tail(_TAIL))
    return _settled(order, left, gone, began, seconds)


def _wait(children: list[Started], gone: list[int], seconds: float) -> None:
    until = time.monotonic() + seconds
    while len(gone) < len(children) and time.monotonic() < until:
        time.sleep(_LOOK)
        gone += [rank for rank, child in enumerate(children) if rank not in gone and not child.runs]
        if gone:
            grace = _SHORT if any(child.died for child in children) else _GRACE
            until = min(until, time.monotonic() + grace)


def _meeting(ranks: int) -> dict[str, str]:
    """What torchrun tells the ranks of one machine, so that they find each other."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return {
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        "ROLE_WORLD_SIZE": str(ranks),
        "GROUP_RANK": "0",
        "GROUP_WORLD_SIZE": "1",
        "ROLE_NAME": "default",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "TORCHELASTIC_RUN_ID": "replay",
        "TORCHELASTIC_USE_AGENT_STORE": "False",  # there is no agent: the first rank keeps the store
    }


def _settled(order: Order, left: list[Left], gone: list[int], began: float, seconds: float) -> Ended:
    """What went wrong with one of several; their logs are made equally long."""
    counts = [len(order.results(rank)) for rank in range(len(left))]
    late = [rank for rank, each in enumerate(left) if each.late]
    died = [rank for rank in gone if left[rank].code]
    troubled = order.troubled(began)
    problem, blamed = "", [*troubled, *gone, 0][0]
    # A rank that has said what is wrong and gone takes others with it: some libraries end a process that lost its peer.
    if died and not (gone[0] in troubled and gone[0] not in died):
        blamed = died[0]
        problem = f"the process of rank {blamed} died (exit code {left[blamed].code}), which ends the replay on all ranks"
    elif late and not gone:
        behind = [rank for rank in late if counts[rank] == min(counts)]
        blamed = behind[0]
        where = f"; {named(behind)} did not come as far as the others" if len(behind) < len(left) else ""
        problem = f"the script took longer than {seconds:g} s (see --seconds){where}"
    if not problem:
        _level(order, counts, blamed)
    return Ended(problem, left[blamed].tail(_TAIL))


def _level(order: Order, counts: list[int], blamed: int) -> None:
    """A trial that some ranks have not come to the end of is one that could not be made."""
    most = max(counts)
    for rank, count in enumerate(counts):
        if count < most:
            trial = next(order.results(r)[count].trial for r, own in enumerate(counts) if own == most)
            why = f"it did not come to the end of this trial, after rank {blamed} had ended"
            missing = Result(
                trial, error=why if rank != blamed else "it ended in the middle of this trial", at=time.time()
            )
            with order.log(rank).open("a", encoding="utf-8") as log:
                log.write("\n" + dumps({"result": missing.to_json()}) + "\n")
