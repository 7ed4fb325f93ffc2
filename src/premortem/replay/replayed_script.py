"""The process in which the user's script runs again.

It does as many trials of the plan as this launch can do, and writes each result as one line of JSON at once: whatever
the script does next, what is known stays known. What is left over is for the next launch.

Where several ranks made the step, there is such a process for each of them. After a trial each waits for the results of
the others, and all go on from the same joint one.
"""

import sys
import time
import traceback
from typing import Any

from premortem import changes
from premortem.errors import UsageError
from premortem.files.plain import dumps
from premortem.replay.how_started import versions
from premortem.replay.order import Order
from premortem.replay.plan import Plan
from premortem.replay.rank_results import joined
from premortem.replay.trial import Result, Trial
from premortem.scriptrun.script_process import Played
from premortem.startup.import_hook import ImportHook

_MOST_THREADS = 1024


class Child:
    def __init__(self, played: Played) -> None:
        self.played, self.program = played, played.program
        self.order = order = Order.from_json(played.order)
        self.stage: Any = None
        self.plan: Plan | None = None
        self.current: Trial | None = None
        self.before = 0  # trials of earlier launches
        self.done = 0
        self.told = False  # why there is no stage
        self._log = order.log(order.rank).open("a", encoding="utf-8")

    def run(self) -> None:
        ImportHook("torch", self._arrived).wait()
        sys.excepthook = self._uncaught
        ending = self.program.run()
        if self.stage is None and self.told:
            return
        if self.stage is None:
            self.tell(problem="the script ended before it imported torch")
        elif self.current is not None and not self.stage.over:
            self._interrupted(ending)
        elif not self.stage.over and not self.done:
            how = f"{ending.error}: {ending.message}" if ending.error else "it ended by itself"
            self.tell(problem=f"the script did not reach the recorded step ({how})")

    def _interrupted(self, ending: Any) -> None:
        """In the middle of a trial: an error is a result, the end of the loop is not."""
        assert self.current is not None  # noqa: S101 - asked by the caller
        if ending.error:
            result = Result(self.current, error=f"{ending.error}: {ending.message}"[:500])
            self.tell(result=result)

    def _uncaught(self, kind: Any, error: BaseException, trace: Any) -> None:
        """Goes to the script's own output; the line goes with the result."""
        traceback.print_exception(kind, error, trace)

    # -- when torch is there --------------------------------------------------------------

    def _arrived(self) -> None:
        try:
            self._set_the_stage()
        except Exception as error:
            traceback.print_exc()
            self.told = True
            why = f"the capsule does not fit together ({type(error).__name__}: {error})"
            self.tell(problem=str(error) if isinstance(error, UsageError) else why)
            raise SystemExit from error

    def _set_the_stage(self) -> None:
        import torch

        from premortem.changes.reach import Reach
        from premortem.probes import Attachment
        from premortem.replay.capsule import Capsule, read
        from premortem.replay.repeated_step import Stage

        order = self.order
        capsule = Capsule.load(order.capsules[order.rank], order.digests[order.rank])
        if not order.alone:
            check_devices(capsule.manifest, order, torch.cuda.device_count())
        attachment = Attachment(lambda _event: None, self._fault)
        # The trials have a microscope of their own.
        attachment.models.before_forward.remove(attachment.nonfinite_origin.microscope_schedule.consider)
        threads = capsule.manifest["versions"].get("threads")  # sums are split among them
        if isinstance(threads, int) and 0 < threads <= _MOST_THREADS:
            torch.set_num_threads(threads)
        self.tell(here=versions())
        earlier = order.earlier()
        self.before = len(earlier)
        papers = map(read, order.capsules, order.digests)
        self.plan = Plan(joined([paper.manifest for paper in papers]), order.options, earlier)
        self.stage = Stage(capsule, attachment, self._next, order)
        self.stage.install()
        for cls in changes.of("one_step").values():
            if cls.one_step is not None and order.launch.get(cls.one_step.launch):
                cls(Reach(ours=lambda: attachment.session.looking)).put_on()

    def _fault(self, unit: str, error: BaseException) -> None:
        self.tell(fault=f"{unit}: {type(error).__name__}: {error}")

    def _next(self, result: Result | None) -> Trial | None:
        assert self.plan is not None  # noqa: S101 - made before the stage
        if result is not None:
            if not self.done:
                self.tell(here=versions())  # the script uses its device by now
            self.tell(result=result)
            self.current = None
            joint = result if self.order.alone else self.order.joint(self.before + self.done)
            self.plan.heard(joint)
            self.done += 1
            if joint.error:  # a rank is gone: the rest is for another launch
                return None
        trial = self.plan.trial
        single = self.order.launch.get("position") is not None and self.done
        if trial is None or single or trial.launch != self.order.launch:
            return None
        self.current = trial
        self.played.tell(trying=trial.name)
        return trial

    def tell(self, *, result: Result | None = None, **words: Any) -> None:
        if result is not None:
            result.at = time.time()
        record = {"result": result.to_json()} if result is not None else {**words, "at": time.time()}
        self._log.write(dumps(record) + "\n")
        self._log.flush()


def check_devices(manifest: dict[str, Any], order: Order, here: int) -> None:
    """A card for each rank: NCCL does not let two of them share one."""
    ranks = len(order.capsules)
    if str(manifest["device"]).startswith("cuda") and here < ranks and not order.options.get("cpu"):
        raise UsageError(f"the step ran on {ranks} GPUs, one for each rank, and there are {here} here")


def play(played: Played) -> None:
    child = Child(played)
    try:
        child.run()
    except Exception as error:  # noqa: BLE001 - a bug of ours must be reported, not lost in the script's output
        child.tell(problem=f"the replay itself failed ({type(error).__name__}: {error})")
        traceback.print_exc()
