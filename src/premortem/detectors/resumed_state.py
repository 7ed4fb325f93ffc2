"""A run that goes on from a file: what it took from the file, and what it started anew."""

import math
from dataclasses import replace

from premortem.detectors.base import Card, Finding, Findings, Severity
from premortem.detectors.shared.resuming import OfResumed, file_of, goes_on, starts_anew
from premortem.events import Resumed, Schedule, SchedulerStep, Setting
from premortem.metric_words import counts

_JUMP = 1.5  # between the rate in the file and that of the first step
# Between the restored rate and that of the schedule: rounding, and a step more or less, stay below.
_DISAGREES = 1.05
_BEGINNING = 1  # a scheduler that was just built stands here, or at 0
# These go on from the current rate, whatever their own position is.
_RELATIVE = frozenset({"ExponentialLR", "MultiplicativeLR", "ReduceLROnPlateau"})
_SPENT = 1e-3  # of the rate that the optimizer was built with: what a schedule leaves at its end
_LABELS = {"lr": "learning rate", "initial_lr": "learning rate", "weight_decay": "weight decay"}
_CLOSE = 1e-3  # relative: a rate that was computed twice differs by less
_APART = 4.0  # two steps of the scaler: it finds a smaller difference out by itself at once


class ScheduleRestarts(OfResumed):
    """A run is resumed, and its learning-rate schedule begins again from the start.

    ## Why it matters
    The rate jumps back to its first value (and through the warm-up again) on weights that were being fine-tuned at a
    small one: the loss jumps, and the schedule never reaches its end.

    ## Usual causes
    `scheduler.state_dict()` was not saved, or not loaded; the scheduler was built anew after the optimizer was
    restored.

    ## What to do
    Save and load the scheduler with the model and the optimizer: `scheduler.load_state_dict(checkpoint["scheduler"])`.

    ## When it stays silent
    A new training that starts from old weights and counts its epochs from the start (an intended warm restart), a
    scheduler that was wound forward by hand, and a schedule that gives the rate of the file. A second phase: the script
    set a rate of its own after it loaded the state, or its schedule is of another kind than the one in the file.
    """

    card = Card("PM336", "schedule-restarts", "checkpoint", Severity.WARNING)
    listens = (Resumed, SchedulerStep)

    def __init__(self) -> None:
        self._agrees: Resumed | None = None  # so far: the rate of its first step may be met by chance
        self._moved = False

    def observe(self, event: Resumed | SchedulerStep) -> Findings:
        if isinstance(event, Resumed):
            self._agrees, self._moved = event, False
            yield from super().observe(event)
        elif self._agrees is not None and event.optimizer == self._agrees.optimizer:
            resumed, self._agrees = self._agrees, None
            # Its first move takes it away from the rate that was restored: it does not know how far the run is.
            self._moved = event.position <= _BEGINNING and event.after > _JUMP * event.before > 0
            if self._moved:
                own = tuple(s._replace(rate=event.after) for s in resumed.schedules)
                yield from super().observe(replace(resumed, schedules=own))

    def judge(self, event: Resumed) -> Finding | None:
        counter = goes_on(event)
        if counter is None or event.by_hand:
            return None
        begun = [s for s in event.schedules if not s.other_kind and s.position <= _BEGINNING]
        off = (s for s in begun if jumped(event) or must_be_off(s) or disagrees(s, event, self._moved))
        late = next(off, None)
        if late is None:
            return None
        now, then, saved = largest(event.rates), largest(event.saved_rates), late.saved_position
        rates = f"the rate is {now:.3g}, it was {then:.3g}" if jumped(event) else "it repeats its first rates"
        if not jumped(event) and disagrees(late, event, self._moved):
            rates = f"there its rate is {late.rate:.3g}, and the one that was restored is {now:.3g}"
        held = f"The file holds it at position {saved}" if saved is not None else "The file does not hold it"
        return self.about(
            event,
            f"the run goes on at {counter[0]} {counter[1]} with `{file_of(event)}`, but its {late.kind} begins again at "
            f"{late.position}: {rates}",
            cause=f"The scheduler's state was not restored. {held}.",
            remedy="Load it after it was built: `scheduler.load_state_dict(checkpoint[...])`."
            if saved is not None
            else "Save `scheduler.state_dict()` in the checkpoint, and load it after the scheduler was built.",
            position=late.position,
            saved_position=saved,
            rate=now,
            saved_rate=then,
        )


class SettingsOverwrittenByFile(OfResumed):
    """A learning rate, weight decay or schedule that the script sets is replaced by the one in the checkpoint.

    ## Why it matters
    `load_state_dict` of an optimizer restores its settings too, and a scheduler's restores `T_max`. A run that is resumed
    with a lower rate or for more epochs trains with the old values, without any message.

    ## Usual causes
    `--lr` or `--epochs` was changed between the run that was saved and the one that is resumed.

    ## What to do
    Decide which values count. To keep the new ones, set them after loading: `for group in optimizer.param_groups:
    group["lr"] = lr`, and give the scheduler its new length after its state was loaded.

    ## When it stays silent
    The values agree, or the script writes its own again before the first step. A rate that had been lowered before it
    was saved, and is lower than the one the optimizer was built with, is reported as `info` only, down to a thousandth.
    """

    card = Card("PM337", "settings-overwritten-by-file", "checkpoint", Severity.WARNING)

    def observe(self, event: Resumed) -> Findings:
        finding = self.judge(event)  # whether the state of the optimizer was restored or not
        if finding is not None and self.once(event.optimizer):
            yield finding

    def judge(self, event: Resumed) -> Finding | None:
        changed = [setting for setting in event.overwritten if differs(setting)]
        shorter = next((s for s in event.schedules if replaced(s)), None)
        base = [s for s in changed if s.name != "lr"]
        if shorter is not None:
            return self.about(
                event,
                f"{shorter.kind} was built for {shorter.built_horizon} steps, and `{file_of(event)}` set it back to "
                f"{shorter.horizon}",
                cause="`scheduler.load_state_dict` restores the length of the schedule along with its position.",
                remedy="Set the new length after the state was loaded, or resume with the old one.",
                built=shorter.built_horizon,
                saved=shorter.horizon,
            )
        if base:
            return self._setting(event, base[0], Severity.WARNING)
        if changed and not event.schedules:
            # Without a schedule the rate may have been lowered by hand in the earlier run: then it should count, unless
            # that run had come to its end.
            spent = [s for s in changed if s.name == "lr" and 0 <= s.saved < _SPENT * s.built]
            severity = Severity.WARNING if spent else Severity.INFO
            return self._setting(event, (spent or changed)[0], severity)
        return None

    def _setting(self, event: Resumed, setting: Setting, severity: Severity) -> Finding:
        return self.about(
            event,
            f"{event.kind} was built with {_LABELS[setting.name]} {setting.built:.4g}, and `{file_of(event)}` set it to "
            f"{setting.saved:.4g}",
            cause="`optimizer.load_state_dict` restores the settings of the run that was saved, over those of the script.",
            remedy=f"To train with {setting.built:.4g}, write it to `optimizer.param_groups` after loading.",
            severity=severity,
            built=setting.built,
            saved=setting.saved,
            group=setting.group,
        )


class ScalerNotRestored(OfResumed):
    """A run is resumed with the optimizer's state, and its gradient scaler starts from its first scale.

    ## Why it matters
    The scale had settled where gradients do not overflow. From its first value the scaler skips step after step until
    it is there again. That does harm where the scale is checked, or where few batches make an epoch.

    ## Usual causes
    `scaler.load_state_dict(checkpoint["scaler"])` was forgotten, or another scaler is built afterwards.

    ## What to do
    Load the scaler with the rest, before the first step.

    ## When it stays silent
    The scale of the first step is that of the file, or lies within a step or two of it.
    """

    card = Card("PM338", "scaler-not-restored", "checkpoint", Severity.WARNING)

    def judge(self, event: Resumed) -> Finding | None:
        saved, now = event.saved_scale, event.scale
        if not saved or not now or max(saved / now, now / saved) < _APART:
            return None
        larger = now > saved
        return self.about(
            event,
            f"the run goes on with `{file_of(event)}`, but its gradient scaler starts at {now:.6g}; the file holds "
            f"{saved:.6g}",
            cause="The scaler's state was not restored: its first steps "
            + ("overflow and are skipped." if larger else "lose small gradients to underflow."),
            remedy="Call `scaler.load_state_dict(...)` with the state in the file, before the first step.",
            severity=Severity.WARNING if larger else Severity.INFO,
            scale=now,
            saved_scale=saved,
        )


class CounterRestarts(OfResumed):
    """A run is resumed with the optimizer's state, and its epochs or steps are counted from the start again.

    ## Why it matters
    The run trains longer than planned, runs past the end of its schedule, and writes checkpoints and logs under the numbers
    of epochs that exist already.

    ## Usual causes
    `start_epoch = checkpoint["epoch"] + 1` is read, and the loop still says `range(epochs)`; the counter is reset by a
    function that is called after the load.

    ## What to do
    Begin the loop where the file ends: `for epoch in range(start_epoch, epochs)`.

    ## When it stays silent
    A new training that starts from old weights (without the optimizer's state). Where the script never reads the counter
    of the file, more epochs may be intended: that is `info`, not a warning.
    """

    card = Card("PM339", "counter-restarts", "checkpoint", Severity.WARNING)

    def judge(self, event: Resumed) -> Finding | None:
        anew = starts_anew(event)
        if anew is None:
            return None
        name, value, saved = anew
        read = [held for held in event.held if counts(held[0]) == counts(name)]
        if any(used for _, _, used in read):
            return None  # the number of the file is added somewhere, or compared
        known = f"`{read[0][0]}` is {read[0][1]}, and nothing uses it." if read else "Nothing reads it."
        return self.about(
            event,
            f"the run goes on with `{file_of(event)}` of {counts(name)} {saved}, optimizer included, but `{name}` "
            f"starts at {value}",
            cause=f"The file holds {counts(name)} {saved}, and the loop does not start from it. {known}",
            remedy=f"Start the loop at the {counts(name)} in the file; ignore this if {counts(name)}s should start anew.",
            severity=Severity.WARNING if read else Severity.INFO,
            counter=name,
            value=value,
            saved=saved,
        )


class AverageNotRestored(OfResumed):
    """A run is resumed, and its averaged weights (EMA) start anew from the plain ones, although the file holds them.

    ## Why it matters
    The averaged model is usually the one that is evaluated and shipped. Each resume drops its whole history, and its
    metrics fall back to those of the plain weights.

    ## Usual causes
    The average is built as a copy of the model after the load, and its own state in the file is never loaded.

    ## What to do
    Load the averaged weights as well: `ema.load_state_dict(checkpoint["ema"])`.

    ## When it stays silent
    The average holds anything else than exactly the plain weights of the file: then it was restored, or there is nothing to
    compare it with.
    """

    card = Card("PM340", "average-not-restored", "checkpoint", Severity.WARNING)

    def judge(self, event: Resumed) -> Finding | None:
        if not event.average:
            return None
        return self.about(
            event,
            f"`{file_of(event)}` holds averaged weights under `{event.averaged}`, but `{event.average}` starts from "
            "the plain ones",
            cause="The average was copied from the restored model; its own state in the file was not loaded.",
            remedy=f"Load the entry `{event.averaged}` into `{event.average}` before the first step.",
            module=event.average,
            entry=event.averaged,
        )


def must_be_off(schedule: Schedule) -> bool:
    """The state in the file is further, and it is the same schedule: from here on it will be late."""
    behind = schedule.saved_position is not None and schedule.saved_position >= schedule.position + 2
    same = schedule.horizon is not None and schedule.horizon == schedule.saved_horizon
    return behind and same and schedule.kind not in _RELATIVE


def disagrees(schedule: Schedule, event: Resumed, moved: bool) -> bool:
    """The rate is that of the file, and not the one that the schedule has where it stands: its next step takes it away.

    Where the file holds a schedule, this may be another one, for a second phase, until it has `moved` the rate to its own."""
    now, own = largest(event.rates), schedule.rate
    if (
        own is None
        or own <= 0
        or not now > 0
        or schedule.kind in _RELATIVE
        or (schedule.saved_position is not None and not moved)
    ):
        return False
    return max(now / own, own / now) > _DISAGREES


def replaced(schedule: Schedule) -> bool:
    built, now, saved = schedule.built_horizon, schedule.horizon, schedule.saved_horizon
    return built is not None and saved is not None and now == saved != built


def largest(rates: tuple[float, ...]) -> float:
    return max((rate for rate in rates if not math.isnan(rate)), default=math.nan)


def jumped(event: Resumed) -> bool:
    now, then = largest(event.rates), largest(event.saved_rates)
    return then > 0 and now > 0 and max(now / then, then / now) > _JUMP


def differs(setting: Setting) -> bool:
    return abs(setting.built - setting.saved) > _CLOSE * max(abs(setting.built), abs(setting.saved))
