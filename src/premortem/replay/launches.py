"""One launch: the script's process, or one for each rank that made the step. The problem of a launch is that of the first
process that ended.
"""

import socket
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from premortem.files.plain import dumps
from premortem.replay.order import Order
from premortem.replay.rank_results import named
from premortem.replay.trial import Result
from premortem.scriptrun.process_group import Place, printed
from premortem.scriptrun.run import Ran, ScriptRun

_TAIL = 12  # lines


class Ended(NamedTuple):
    problem: str  # with the launch itself
    tail: str  # the last lines that the script printed
    sandbox: dict[str, object]


def launch(
    run: ScriptRun, order: Order, seconds: float, heard: Callable[[dict[str, Any]], None] | None = None
) -> Ended:
    """One run of the script, on as many processes as there are capsules. `heard` is called with what they are trying."""
    began = time.time()
    if order.alone:
        ran = run.go(order.to_json(), seconds, heard=heard)
        problem = ran.last("problem") or ran.last("failed") or ran.problem(seconds)
        return Ended(problem, ran.tail(_TAIL), ran.guarantee.to_json())
    ranks = len(order.capsules)
    meeting = _meeting(ranks)
    for rank in range(ranks):
        printed(run.shared, rank).unlink(missing_ok=True)
    places = [
        Place(
            argv=order.argvs[rank][1 + (order.argvs[rank][0] == "-m") :],
            environment=meeting | {name: str(rank) for name in ("RANK", "LOCAL_RANK", "ROLE_RANK")},
        )
        for rank in range(ranks)
    ]
    ran = run.go(order.to_json(), seconds, crew=places, heard=heard)
    return _settled(run, order, ran, began, seconds)


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


def _settled(run: ScriptRun, order: Order, ran: Ran, began: float, seconds: float) -> Ended:
    """What went wrong with one of several; their logs are made equally long."""
    codes = {line["gone"]: line["code"] for line in ran.lines if "gone" in line}
    gone = list(codes)  # in the order in which they ended
    counts = [len(order.results(rank)) for rank in range(len(order.capsules))]
    late = [rank for rank in range(len(counts)) if rank not in codes]
    died = [rank for rank in gone if codes[rank]]
    troubled = order.troubled(began)
    problem, blamed = "", [*troubled, *gone, 0][0]
    # A rank that has reported what is wrong and ended takes others with it: some libraries end a process that lost its peer.
    if died and not (gone[0] in troubled and gone[0] not in died):
        blamed = died[0]
        problem = f"the process of rank {blamed} died (exit code {codes[blamed]}), which ends the replay on all ranks"
    elif late and not gone:
        behind = [rank for rank in late if counts[rank] == min(counts)]
        blamed = behind[0]
        where = f"; {named(behind)} did not come as far as the others" if len(behind) < len(counts) else ""
        problem = f"the script took longer than {seconds:g} s (see --seconds){where}"
    for line in ran.lines:
        if "rank" in line and ("problem" in line or "failed" in line):
            problem = problem or f"rank {line['rank']}: {line.get('problem') or line.get('failed')}"
    if not problem:
        _level(order, counts, blamed)
    return Ended(problem, _tail(run, blamed), ran.guarantee.to_json())


def _tail(run: ScriptRun, rank: int) -> str:
    file = printed(run.shared, rank)
    text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    return "\n".join(text.splitlines()[-_TAIL:])


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
