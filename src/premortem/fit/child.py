"""The process in which the user's script is rehearsed: `python -m premortem.fit.child`, orders on its stdin.

The answer is one JSON file. When everything was seen the process ends at once: nothing of the script runs after it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

from premortem.errors import UsageError
from premortem.fit import changes, gpus, session
from premortem.fit.facts import Facts
from premortem.fit.folders import cover_folders
from premortem.fit.levers import Lever, Levers
from premortem.fit.prediction import predict
from premortem.fit.session import STEPS, Rehearsal
from premortem.program import Program
from premortem.replay.sandbox import Sandbox


class Child:
    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.started = time.monotonic()
        self.gpu = gpus.by_name(order["device"])
        self.rehearsal = Rehearsal(self.gpu, self.seen)
        lever = order.get("lever")
        self.levers = Levers(Lever(**lever) if lever else None, order.get("batch") or order.get("side"))
        self.facts = Facts()
        # Before the sandbox covers `open`.
        self._file = Path(order["answer"]).open("w", encoding="utf-8")  # noqa: SIM115 - for the whole process

    def run(self) -> None:
        order = self.order
        program = Program(target=order["target"], module=order["module"], argv=order["argv"])
        try:
            program.check()
        except UsageError as error:
            self.tell({"problem": str(error)})
            return
        program._source = self.levers.rewritten(program._source)
        sandbox = Sandbox(Path(order["scratch"]))
        sandbox.install()
        with self.rehearsal.on():
            assert self.rehearsal.points is not None  # noqa: S101 - set by `on`
            self.levers.install(self.rehearsal.points, lambda: self.rehearsal.fakes.fake)
            self.facts.install(self.rehearsal.points)
            cover_folders(self.rehearsal.points, sandbox)
            for name in order.get("changes", ()):
                changes.by_name(name).apply(self.rehearsal.points)
            ending = program.run()
        self.tell(self.result() | {"ending": asdict(ending) | {"at": None}, "where": _place(ending.at)})

    def seen(self) -> None:
        self.tell(self.result())
        _leave()

    def result(self) -> dict[str, Any]:
        trace = self.rehearsal.trace()
        room = self.order.get("room") or self.gpu.memory - self.gpu.context
        predicted = predict(trace, room)
        careful = predict(trace, int(room * self.order["share"])).fits if predicted.fits else False
        return {
            "complete": trace.complete,
            "allocated": predicted.allocated,
            "reserved": predicted.reserved,
            "reserved_unlimited": predicted.reserved_unlimited,
            "kinds": predicted.kinds,
            "groups": predicted.groups[:40],
            "modules": predicted.modules,
            "phase": predicted.phase,
            "timeline": predicted.timeline,
            "marks": predicted.marks,
            "fits": predicted.fits,
            "careful": careful,
            "roomy": careful and predicted.reserved_unlimited * self.order["reserve"] <= room,
            "failed": predicted.failed,
            "retries": predicted.retries,
            "batch": trace.batch,
            "shapes": trace.shapes,
            "model": trace.modules,
            "steps": trace.steps,
            "assumptions": trace.assumptions,
            "operations": trace.operations,
            "levers": [asdict(lever) for lever in self.levers.found],
            "seconds": round(time.monotonic() - self.started, 2),
            **self.facts.found(self.rehearsal),
        }

    def tell(self, what: dict[str, Any]) -> None:
        self._file.seek(0)
        self._file.truncate()
        json.dump(what, self._file)
        self._file.flush()


def _place(at: Any) -> str:
    return f"{at.file}:{at.line}" if at is not None else ""


def _leave() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def rehearse(order: dict[str, Any]) -> None:
    """One order, in this process, which ends with it."""
    sys.argv = [order["target"]]
    child = Child(order)
    try:
        child.run()
    except UsageError as error:
        child.tell({"problem": str(error)})
    except Exception as error:  # noqa: BLE001 - a bug of ours must be told, not lost in the script's output
        traceback.print_exc()
        child.tell({"problem": f"the rehearsal itself failed ({type(error).__name__}: {error})"})
    finally:
        _leave()


def _warm_up() -> None:
    """What torch loads at the first fake and the first optimizer, before there is anything to fork."""
    import torch

    def step() -> None:
        model = torch.nn.Linear(2, 2).cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(torch.ones(1, 2, device="cuda")).sum().backward()
            optimizer.step()

    session.rehearse(step, gpus.by_name(gpus.DEFAULT))


def _has_threads() -> bool:
    try:
        return sum(1 for _ in Path("/proc/self/task").iterdir()) > 1
    except OSError:
        return False


def _stays_alone() -> bool:
    """Whether warming up starts no thread, which a fork would lack and wait for: tried in a fork.

    A build for GPUs may start some when there is a driver. Loading torch for each order instead would take minutes:
    one answer is made of some thirty of them.
    """
    import torch

    if not torch.backends.cuda.is_built():
        return True
    pid = os.fork()
    if not pid:
        try:
            _warm_up()
            os._exit(_has_threads())
        except BaseException:  # noqa: BLE001 - a fork must never go on as if it were the server
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def _in_a_new_process(order: dict[str, Any]) -> None:
    command = [sys.executable, "-m", "premortem.fit.child", "--once", json.dumps(order)]
    with open(order["output"] or os.devnull, "wb") as output:  # noqa: PTH123 - a path of ours, or the null device
        sink = output if order["output"] else sys.stderr
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, check=False)


def main() -> None:
    """Orders come line by line. Each is done in a fork: torch is loaded, and warm where possible, once for all."""
    import torch._dynamo  # noqa: F401 - what the first fake would load, and most of its time

    if not _has_threads() and _stays_alone():
        _warm_up()
    for line in sys.stdin:
        order = json.loads(line)
        if _has_threads():
            _in_a_new_process(order)
            sys.stdout.write("done\n")
            sys.stdout.flush()
            continue
        pid = os.fork()
        if not pid:
            output = os.open(order["output"], os.O_WRONLY | os.O_CREAT) if order["output"] else None
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for stream in (1, 2):
                os.dup2(2 if output is None else output, stream)
            rehearse(order)
        os.waitpid(pid, 0)
        sys.stdout.write("done\n")
        sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--once"]:
        rehearse(json.loads(sys.argv[2]))
    main()
