"""A scheduler and a gradient scaler that go on: what was set otherwise, how much is left, whether the counts agree."""

from collections.abc import Mapping
from typing import Any

from premortem.vault.report import ResumeReport

# What moves while a scheduler runs; the rest of its state is how it was set up.
_MOVES = {
    "last_epoch", "_step_count", "_last_lr", "_get_lr_called_within_step", "_is_initial", "best", "num_bad_epochs",
    "cooldown_counter", "_total_step_count", "base_lrs", "T_cur", "T_i", "mode_worse", "_anneal_func_type", "verbose",
    "_schedulers", "lr_lambdas", "total_iters_done", "_initial_step", "min_lrs", "_scale_fn_custom",
    "_scale_fn_ref", "_warned",
}  # fmt: skip
# Beyond these the rate rises again, or the scheduler raises. (A warm-up's `total_iters` is there to be passed.)
_HORIZONS = ("T_max", "total_steps")


def compare_schedule(
    saved: Mapping[str, Any],
    current: Mapping[str, Any],
    report: ResumeReport,
    *,
    about: str,
    script_wins: bool,
) -> dict[str, Any]:
    """The state to load. Settings of the script that win are put into it."""
    state = dict(saved)
    kinds = (set(saved) - _MOVES, set(current) - _MOVES)
    if kinds[0] ^ kinds[1] and not kinds[0] & kinds[1]:
        report.add(
            "error",
            about,
            "The saved state is of another kind of scheduler; its settings share no name with this one.",
        )
        return state
    for key, value in saved.items():
        if script_wins and key == "base_lrs":
            state[key] = current.get(key, value)
        if key in _MOVES or key not in current:
            continue
        if script_wins:
            state[key] = current[key]
        shown = (
            not key.startswith("_") and _plain(value) and _plain(current[key])
        )  # the rest follows from these
        if shown and _comparable(value) != _comparable(current[key]):
            winner = "script" if script_wins else "checkpoint"
            report.add(
                "warning",
                about,
                f"{key}: the checkpoint has {value}, the script {current[key]}. The {winner} wins.",
                "" if script_wins else 'Call resume with settings="script" to keep the script\'s.',
            )
    _horizon(state, report, about)
    return state


def load_schedule(scheduler: Any, state: Mapping[str, Any], *, script_wins: bool) -> None:
    """Load it. A rate that is derived from the one before must first be what the script's settings make of it."""
    scheduler.load_state_dict(state)
    closed = getattr(scheduler, "_get_closed_form_lr", None)
    if not script_wins or closed is None:
        return
    rates = closed()
    for group, rate in zip(scheduler.optimizer.param_groups, rates, strict=True):
        if hasattr(group["lr"], "fill_"):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate
    scheduler._last_lr = list(rates)  # noqa: SLF001 - torch has no other way to set it


def _horizon(state: Mapping[str, Any], report: ResumeReport, about: str) -> None:
    done = state.get("last_epoch")
    for name in _HORIZONS:
        end = state.get(name)
        if not isinstance(end, int) or not isinstance(done, int):
            continue
        if done > end or (done == end and name == "total_steps"):
            report.add(
                "warning",
                about,
                f"The schedule was made for {end:,} steps ({name}) and {done:,} are done: it is past its horizon.",
                "Give the scheduler the whole length of the training, from the first step on.",
            )
        else:
            report.add("note", about, f"{done:,} of {end:,} steps of the schedule are done ({name}).")
        return


def compare_counts(step: int | None, optimizer: Mapping[str, Any], report: ResumeReport) -> None:
    """How many steps the optimizer itself has counted."""
    counts = [
        int(each["step"])
        for each in optimizer.get("state", {}).values()
        if isinstance(each, Mapping) and "step" in each
    ]
    if not optimizer.get("state"):
        moments = any(
            "betas" in group or group.get("momentum") for group in optimizer.get("param_groups", [])
        )
        if step and moments:
            report.add(
                "warning",
                "optimizer",
                f"The checkpoint is of step {step:,}, and its optimizer has no moments: it was saved before its first step, "
                "or is not the one that trained.",
            )
        return
    if counts and step is not None and max(counts) > step + 1:
        report.add(
            "note",
            "optimizer",
            f"The optimizer has counted {max(counts):,} steps; the checkpoint says step {step:,}.",
        )


def compare_scaler(saved: Mapping[str, Any], report: ResumeReport, *, about: str) -> None:
    scale = saved.get("scale")
    if isinstance(scale, (int, float)) and not isinstance(scale, bool):
        if scale < 1:
            report.add(
                "warning",
                about,
                f"The saved loss scale is {scale:g}: gradients overflowed again and again before this was saved.",
            )
        else:
            report.add("note", about, f"The loss scale goes on at {scale:g}.")


def _plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_plain(each) for each in value)
    if isinstance(value, Mapping):
        return all(_plain(each) for each in (*value, *value.values()))
    return value is None or isinstance(value, (bool, int, float, str))


def _comparable(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
