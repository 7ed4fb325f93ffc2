"""The script for real, on the card that is there: `premortem fit --measure` puts the truth beside the prediction."""

import os
from typing import Any

from premortem.errors import UsageError
from premortem.fit.trials import Asked
from premortem.scriptrun.run import Plan, ScriptRun
from premortem.scriptrun.script_process import Played

STEPS = 3  # one more than the rehearsal: the peak of the second is the peak of all that follow
_LINES = 4  # of what the script printed last, when it failed


def must_have_a_card() -> None:
    import torch

    if not torch.cuda.is_available():
        raise UsageError("`--measure` needs a GPU, and torch sees none here")


def measured(asked: Asked) -> dict[str, Any]:
    """Peaks of the first steps, in a process of its own. `problem` says why they are not, or not all, there."""
    # One card, as in the rehearsal: with several, a script may spread itself over all of them.
    card = {"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]}
    with ScriptRun(asked.script, Plan(play="premortem.fit.measure:play"), environment=card) as run:
        ran = run.go({}, asked.seconds)
    problem = f"its process died (exit code {ran.code})" if ran.code else ""
    if ran.late:
        problem = f"it made fewer than {STEPS} steps within {asked.seconds:g} s; --seconds gives it longer"
    found: dict[str, Any] = ran.last("peaks") or {}
    found["problem"] = found.get("problem") or ran.last("problem") or ran.last("failed") or problem
    if found["problem"]:
        found["output"] = ran.tail(_LINES)
    return found


def play(played: Played) -> None:
    from premortem.fit.steps import Steps
    from premortem.points import Subscriptions, after_optimizer_steps

    def leave(problem: str = "") -> None:
        played.tell(peaks=_peaks(problem) | {"steps": steps.made()})
        played.leave()

    steps = Steps(STEPS, leave)
    steps.install(Subscriptions())

    def stepped(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        steps.count(optimizer)
        steps.check()

    after_optimizer_steps(stepped)
    ending = played.program.run()
    leave(f"{ending.error}: {ending.message}" if ending.error else "")


def _peaks(problem: str) -> dict[str, Any]:
    import torch

    found: dict[str, Any] = {"torch": torch.__version__, "problem": problem}
    if not torch.cuda.is_initialized() or not torch.cuda.max_memory_allocated():
        return found | {"problem": problem or "it put nothing on the GPU"}
    return found | {
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
        "card": torch.cuda.get_device_name(),
    }
