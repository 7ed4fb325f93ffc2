"""PM337 settings-overwritten-by-file."""

from __future__ import annotations

from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.shared.resuming import OfResumed, file_of
from premortem.events import Resumed, Schedule, Setting
from premortem.findings import Finding, Severity

_LABELS = {"lr": "learning rate", "initial_lr": "learning rate", "weight_decay": "weight decay"}
_SPENT = 1e-3  # of the rate that the optimizer was built with: what a schedule leaves at its end, and nobody goes on with
_CLOSE = 1e-3  # relative: a rate that was computed twice differs by less


class SettingsOverwrittenByFile(OfResumed):
    """A learning rate, weight decay or schedule that the script sets is replaced by the one in the checkpoint.

    ## Why it matters
    `load_state_dict` of an optimizer restores its settings too, and a scheduler's restores `T_max`. Whoever resumes
    with a lower rate or for more epochs trains with the old values, and nothing says so.

    ## Usual causes
    `--lr` or `--epochs` was changed between the run that was saved and the one that is resumed.

    ## What to do
    Decide who wins. To keep the new values, set them after loading: `for group in optimizer.param_groups:
    group["lr"] = lr`, and give the scheduler its new length after its state was loaded.

    ## When it stays silent
    The values agree, or the script writes its own again before the first step. A rate that had been lowered before it
    was saved, and is lower than the one the optimizer was built with, is only told as information, down to a thousandth.
    """

    card = Card(
        code="PM337", name="settings-overwritten-by-file", family="checkpoint", severity=Severity.WARNING
    )

    def observe(self, event: Resumed) -> Iterator[Finding]:
        finding = self.judge(event)  # whether the state of the optimizer was restored or not
        if finding is not None and self.once(event.optimizer):
            yield finding

    def judge(self, event: Resumed) -> Finding | None:
        changed = [setting for setting in event.overwritten if differs(setting)]
        shorter = next((s for s in event.schedules if self._replaced(s)), None)
        base = [s for s in changed if s.name != "lr"]
        if shorter is not None:
            return self._horizon(event, shorter)
        if base:
            return self._setting(event, base[0], Severity.WARNING)
        if changed and not event.schedules:
            # Without a schedule the rate may have been lowered by hand in the earlier run: then it should win, unless
            # that run had come to its end.
            spent = [s for s in changed if s.name == "lr" and 0 <= s.saved < _SPENT * s.built]
            severity = Severity.WARNING if spent else Severity.INFO
            return self._setting(event, (spent or changed)[0], severity)
        return None

    def _replaced(self, schedule: Schedule) -> bool:
        built, now, saved = schedule.built_horizon, schedule.horizon, schedule.saved_horizon
        return built is not None and saved is not None and now == saved != built

    def _horizon(self, event: Resumed, schedule: Schedule) -> Finding:
        return self.about(
            event,
            f"{schedule.kind} was built for {schedule.built_horizon} steps, and `{file_of(event)}` set it back to "
            f"{schedule.horizon}",
            cause="`scheduler.load_state_dict` restores the length of the schedule along with its position.",
            remedy="Set the new length after the state was loaded, or resume with the old one.",
            built=schedule.built_horizon,
            saved=schedule.horizon,
        )

    def _setting(self, event: Resumed, setting: Setting, severity: Severity) -> Finding:
        label = _LABELS[setting.name]
        return self.about(
            event,
            f"{event.kind} was built with {label} {setting.built:.4g}, and `{file_of(event)}` set it to "
            f"{setting.saved:.4g}",
            cause="`optimizer.load_state_dict` restores the settings of the run that was saved: the file wins.",
            remedy=f"If {setting.built:.4g} is meant, write it to `optimizer.param_groups` after loading.",
            severity=severity,
            built=setting.built,
            saved=setting.saved,
            group=setting.group,
        )


def differs(setting: Setting) -> bool:
    return abs(setting.built - setting.saved) > _CLOSE * max(abs(setting.built), abs(setting.saved))
