"""The script for real, on the card that is there: `premortem fit --measure` puts the truth beside the prediction."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from premortem import private, redaction, untrusted
from premortem.errors import UsageError
from premortem.fit.trials import Asked
from premortem.program import Program
from premortem.replay.sandbox import Sandbox

STEPS = 3  # one more than the rehearsal: the peak of the second is the peak of all that follow
_LINES = 4  # of what the script printed last, when it failed


def must_have_a_card() -> None:
    import torch

    if not torch.cuda.is_available():
        raise UsageError("`--measure` needs a GPU, and torch sees none here")


def measured(asked: Asked) -> dict[str, Any]:
    """Peaks of the first steps, in a process of its own. `problem` says why they are not, or not all, there."""
    with tempfile.TemporaryDirectory(prefix="premortem-fit-") as folder:
        place = Path(folder).resolve()
        answer, said = place / "answer.json", place / "output.txt"
        order = {"target": asked.target, "module": asked.module, "argv": asked.argv, "answer": str(answer)}
        private.write_text(place / "order.json", json.dumps(order | {"scratch": folder}))
        command = [sys.executable, "-m", "premortem.fit.measure", str(place / "order.json")]
        problem = ""
        with said.open("wb") as sink:
            try:
                done = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    env=_environment(place),
                    timeout=asked.seconds,
                    check=False,
                )
                problem = f"its process died (exit code {done.returncode})" if done.returncode else ""
            except subprocess.TimeoutExpired:
                problem = (
                    f"it made fewer than {STEPS} steps within {asked.seconds:g} s; --seconds gives it longer"
                )
        found = _read(answer)
        found["problem"] = found.get("problem") or problem
        if found["problem"]:
            found["output"] = _last_lines(said)
        return found


def _environment(place: Path) -> dict[str, str]:
    """One card, as in the rehearsal: with several, a script may spread itself over all of them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    here = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))
    own = place / "tmp"
    own.mkdir()
    return os.environ | {
        "CUDA_VISIBLE_DEVICES": visible,
        "PYTHONPATH": path,
        "WANDB_MODE": "disabled",
        "TMPDIR": str(own),
    }


def _read(answer: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = untrusted.loads(untrusted.read_text(answer))
    except (OSError, ValueError):
        return {"problem": ""}
    return found


def _last_lines(said: Path) -> str:
    text = redaction.redacted(said.read_text(encoding="utf-8", errors="replace"))
    return "\n".join(text.splitlines()[-_LINES:])


def main() -> None:
    from premortem.fit.steps import Steps
    from premortem.points import Subscriptions, after_optimizer_steps

    order = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    file = Path(order["answer"]).open("w", encoding="utf-8")  # noqa: SIM115 - before the sandbox covers `open`
    program = Program(target=order["target"], module=order["module"], argv=order["argv"])
    program.check()

    def leave(problem: str = "") -> None:
        json.dump(_peaks(problem) | {"steps": steps.made()}, file)
        file.flush()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    steps = Steps(STEPS, leave)
    steps.install(Subscriptions())

    def stepped(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        steps.count(optimizer)
        steps.check()

    after_optimizer_steps(stepped)
    sandbox = Sandbox(Path(order["scratch"]) / "scratch")
    sandbox.install()
    sandbox.cover_torch()
    ending = program.run()
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


if __name__ == "__main__":
    main()
