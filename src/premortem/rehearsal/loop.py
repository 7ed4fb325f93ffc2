"""The script's loop in a rehearsal: which act is on, and when it is over.

watched   until the asked steps, an evaluation and a save were seen, or patience is at its end
clean     the probes are gone: a few steps are timed
looked    one forward pass is looked at, operation by operation
trials    one batch again and again
"""

import os
import re
import statistics
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as tree

from premortem.amounts import peak
from premortem.events import EvaluationEnded, Event, SchedulerBuilt, SchedulerStep
from premortem.probes.loop_counters import loop_counters, user_frames
from premortem.rehearsal.looks import Looks
from premortem.rehearsal.loop_calls import NOTHING, Clock, Stage
from premortem.rehearsal.observations import Loader, Rehearsed, Saved, Schedule, Split
from premortem.rehearsal.overfit import Trials
from premortem.rehearsal.parameter_audit import Chains
from premortem.rehearsal.quiet import ALWAYS, WHEN_CUT
from premortem.rehearsal.script_settings import planned, saves_and_resumes, stated
from premortem.rehearsal.twice import Evaluated
from premortem.scriptrun.early_stop import Cutter, Pass

WATCHED, CLEAN, LOOKED, TRIALS = "watched", "clean", "looked", "trials"
_PATIENCE = 12.0  # seconds after the asked steps for an evaluation and a save
_A_WHILE = 6.0  # ... in which whole epochs are watched on
_SEVERAL = 6  # evaluations
_NOT_PER_STEP = 3  # steps without a call of the scheduler
_WARM_UP = 2  # unwatched steps that are not counted
_CLEAN = 5
_ENCORE = 15.0  # seconds for all that is unwatched


class Loop:
    def __init__(self, facts: Rehearsed, child: Any, watcher: Any, order: dict[str, Any]) -> None:
        self.facts = facts
        self.child = child
        self.watcher = watcher
        self.act = WATCHED if watcher is not None else CLEAN
        self.cutter = Cutter(facts.asked)
        self.stage = Stage(self)
        self.looks = Looks()
        self.chains = Chains()
        self.trials: Trials | None = None
        self.roots: dict[
            int, nn.Module
        ] = {}  # trained ones; kept, so that they outlive the script's function
        self.optimizers: dict[int, Any] = {}
        self._loaders: dict[int, tuple[Any, Loader]] = {}
        self._kept: dict[int, Any] = {}  # loader -> a batch of it
        self._evaluated: Evaluated | None = None
        self._schedules: dict[int, Schedule] = {}
        self._times: list[tuple[float, ...]] = []
        self._draws: list[int] = []  # batches of training that were drawn, at the end of each timed step
        self._reached = 0.0  # when the asked steps were made
        self._encore = time.monotonic()  # when the unwatched part began
        self._due = False
        self._window: list[float] = []  # losses since the last step
        self._largest = 0
        self._began = time.monotonic()
        self._may_cut = bool(order["cut"])

    def install(self) -> None:
        if self.watcher is not None:
            self.watcher.silence(ALWAYS)
        self.looks.install()
        self.stage.install()

    def heard(self, event: Event) -> None:
        self.chains.heard(event)
        if isinstance(event, EvaluationEnded) and self.stage.steps:
            self.facts.evaluations += 1
        elif isinstance(event, SchedulerBuilt):
            at = (event.at.file, event.at.line) if event.at else ("", 0)
            self._schedules[event.scheduler] = Schedule(
                event.kind, event.horizon, 0, 0, file=at[0], line=at[1]
            )
            for part in event.parts:
                self._schedules.pop(part, None)
        elif isinstance(event, SchedulerStep) and event.scheduler in self._schedules:
            schedule = self._schedules[event.scheduler]
            if not self.facts.cut:
                schedule.calls, schedule.steps = event.count, event.optimizer_steps
            schedule.per_epoch = schedule.per_epoch or (
                event.count == 1 and event.since_step >= _NOT_PER_STEP
            )

    # -- data -----------------------------------------------------------------------------

    def _started(self) -> None:
        if not self.facts.start_up:
            self.child.started()

    def pass_began(self, loader: Any, one: Pass) -> None:
        self._started()
        if id(loader) not in self._loaders:
            workers, persistent = loader.num_workers, loader.persistent_workers
            self._loaders[id(loader)] = (
                loader,
                Loader(one.batches, loader.batch_size, workers, persistent),
            )

    def pass_ends(self, loader: Any, one: Pass) -> bool:
        known = self._loaders[id(loader)][1]
        now = time.perf_counter()
        if one.evaluates and one.drawn:
            known.seconds = (now - one.began) / one.drawn
        if self.act != WATCHED:
            return one.evaluates and one.drawn >= 2
        if not self._may_cut or not self.cutter.ends(one, self.stage.steps, self.stage.open_backwards, now):
            return False
        known.cut = self.facts.cut = True
        self.watcher.silence(WHEN_CUT)
        return True

    def batch_instead(self, loader: Any, one: Pass) -> Any:
        if self.trials is None or id(loader) not in self._kept or one.evaluates:
            return NOTHING
        return tree.tree_map_only(torch.Tensor, torch.clone, self._kept[id(loader)])

    def drawn(self, loader: Any, one: Pass, batch: Any) -> None:
        self._loaders[id(loader)][1].drawn += 1
        leaves = [leaf for leaf in tree.tree_leaves(batch) if isinstance(leaf, torch.Tensor)]
        size = sum(leaf.numel() for leaf in leaves)
        if self.act == CLEAN:
            self._kept[id(loader)] = batch
        if size > self._largest:
            self._largest = size
            self.facts.largest = ", ".join(str(tuple(leaf.shape)) for leaf in leaves[:4])
            self.facts.samples = int(leaves[0].shape[0]) if leaves[0].dim() else None

    # -- the step -------------------------------------------------------------------------

    def between(self) -> None:
        """Where the script is between two things: acts change here, never inside an optimizer's hooks."""
        if not self._due:
            return
        self._due = False
        if self.act == WATCHED:
            self.child.curtain()
            self._next_act(CLEAN)
        elif self.act == CLEAN:
            self._next_act(LOOKED)
        elif self.act == LOOKED:
            self._begin_trials()
        else:
            self.child.done()

    def _next_act(self, act: str) -> None:
        self.act = act
        self.stage.clock.exact = act == CLEAN
        if act == CLEAN:
            self._encore = time.monotonic()
            self.stage.clock = Clock()
            self.stage.clock.exact = True

    def calling(self, root: nn.Module, args: Any, kwargs: Any) -> Any:
        self._started()
        if torch.is_grad_enabled():
            mode = self.looks.mode() if self.act == LOOKED and not self.looks.force.looked else None
            return mode.__enter__() if mode is not None else None
        if self.stage.current is not None:
            self.stage.current.judged += 1
        if id(root) in self.roots and self.stage.steps >= 1:
            self._evaluated = Evaluated(root, args, kwargs)
        return None

    def called(self, root: nn.Module, note: Any) -> None:
        if note is not None:
            note.__exit__(None, None, None)
        if torch.is_grad_enabled():
            self.roots.setdefault(id(root), root)

    def backward_done(self, loss: Any) -> None:
        value = float(loss.detach()) if isinstance(loss, torch.Tensor) and loss.numel() == 1 else float("nan")
        if self.trials is not None:
            self.trials.loss(value)
        else:
            self._window.append(value)
        if self.stage.current is not None:
            for loader, known in self._loaders.values():
                known.training = known.training or any(
                    it[0] is loader and it[1] is self.stage.current for it in self.stage.passes.values()
                )

    def stepping(self, optimizer: Any) -> None:
        if self.trials is not None:
            self.trials.stepping()

    def stepped(self, optimizer: Any) -> None:
        facts = self.facts
        self.optimizers.setdefault(id(optimizer), optimizer)
        parts = self.stage.clock.step_ended()
        if self.act == WATCHED:
            self._watched_step()
        elif self.act == CLEAN:
            self._times.append(parts)
            self._draws.append(sum(known.drawn for _, known in self._loaders.values() if known.training))
            self._due = len(self._times) >= _WARM_UP + _CLEAN
        elif self.act == LOOKED:
            self._due = True
        elif self.trials is not None:
            self.trials.stepped()
            self._due = self.trials.over
        if self.act != WATCHED and time.monotonic() - self._encore > _ENCORE:
            self.act, self._due = TRIALS, True
        if len(facts.losses) < facts.asked and self._window:
            facts.losses.append(sum(self._window))  # of a step, however many batches it sums up
        self._window.clear()
        facts.loops = facts.loops or self.stage.current is not None
        if self.stage.steps <= facts.asked:
            facts.backwards.append(self.stage.open_backwards)
            facts.optimizers = len(self.optimizers)
            self._read_the_script()
            self.child.save()

    def _watched_step(self) -> None:
        facts, now = self.facts, time.monotonic()
        facts.steps = self.stage.steps
        if facts.steps < facts.asked:
            return
        if not self._reached:
            self._reached = now
            facts.to_steps = now - self._began
            self.cutter.reached(time.perf_counter())
            facts.saves, facts.resumes = saves_and_resumes()
        waited = now - self._reached
        seen = facts.evaluations > 0 and (bool(facts.saved) or not facts.saves)
        # A quick script is watched a little longer: some faults show only when a second evaluation comes.
        enough = facts.cut or facts.evaluations >= _SEVERAL or waited > _A_WHILE
        self._due = (seen and enough) or waited > _PATIENCE

    def _read_the_script(self) -> None:
        frames = list(user_frames())
        facts = self.facts
        facts.stated = stated(frames)
        facts.epochs, facts.planned_steps = planned(frames)

    def _begin_trials(self) -> None:
        facts = self.facts.overfit
        facts.why_not = self._no_trials()
        if facts.why_not:
            self.child.done()
        (optimizer,) = self.optimizers.values()
        self.trials = Trials(list(self.roots.values()), optimizer)
        self.act = TRIALS

    def _no_trials(self) -> str:
        if len(self.optimizers) != 1:
            return f"{len(self.optimizers)} optimizers take turns, so no single loss must fall"
        if not self._kept:
            return "its batches do not come from a DataLoader, so none can be repeated"
        if any(type(o).__name__ == "LBFGS" for o in self.optimizers.values()):
            return "LBFGS makes several evaluations in a step"
        return ""

    # -- saves ----------------------------------------------------------------------------

    def saved(self, target: Any, seconds: float) -> None:
        if not self.stage.steps or self.act != WATCHED or not isinstance(target, (str, os.PathLike)):
            return
        place = Path(os.fspath(target))
        size = place.stat().st_size if place.is_file() else 0
        shown = str(place)
        counts = {count + more for _, count in loop_counters(list(user_frames())) for more in (0, 1)}
        numbered = any(int(digits) in counts for digits in re.findall(r"\d{1,9}", place.stem))
        self.facts.saved.append(Saved(shown, size, seconds, self.stage.steps, numbered))

    # -- the end --------------------------------------------------------------------------

    def finish(self) -> None:
        facts = self.facts
        facts.overfit = self.trials.result if self.trials is not None else facts.overfit
        if not facts.overfit.tried and not facts.overfit.why_not:
            facts.overfit.why_not = "the script ended before that"
        facts.chains = self.chains.chains()
        facts.loaders = [known for _, known in self._loaders.values()]
        facts.schedules = list(self._schedules.values())
        facts.peak_rss = peak()
        if torch.cuda.is_initialized():
            facts.peak_cuda = int(torch.cuda.max_memory_allocated())
        devices = {str(p.device) for root in self.roots.values() for p in root.parameters()}
        facts.device = ", ".join(sorted(devices))
        timed = self._times[_WARM_UP:]
        if len(timed) >= 3:
            whole, data, forward, backward, optimizer = (
                statistics.median(c) for c in zip(*timed, strict=True)
            )
            facts.split = Split(whole, data, forward, backward, optimizer, len(timed))
            draws = self._draws[-1] - self._draws[_WARM_UP - 1]
            facts.split.batch = whole * len(timed) / draws if draws > 0 else None
        self.child.save()
        if self._evaluated is not None:
            facts.twice = self._evaluated.again()
        trained = next((loader for loader, known in self._loaders.values() if known.training), None)
        try:
            facts.force = self.looks.finish(trained)
        except Exception as error:  # noqa: BLE001 - what else is known must still be reported
            facts.faults.append(f"{type(error).__name__}: {error}")
        facts.reads = self.child.openings.reads(trained.dataset) if trained is not None else None
        facts.opened = self.child.openings.folders()
