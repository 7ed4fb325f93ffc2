"""The script for real, on the card that is there: `premortem fit --measure` puts the truth beside the prediction."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from premortem.errors import UsageError
from premortem.fit.trials import Asked, NotRehearsed
from premortem.program import Program
from premortem.replay.sandbox import Sandbox

STEPS = 3  # one more than the rehearsal: the peak of the second is the peak of all that follow


def must_have_a_card() -> None:
    import torch

    if not torch.cuda.is_available():
        raise UsageError("`--measure` needs a GPU, and torch sees none here")


def measured(asked: Asked) -> dict[str, Any]:
    """Peaks of the first steps, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="premortem-fit-") as folder:
        place = Path(folder).resolve()
        answer = place / "answer.json"
        order = {"target": asked.target, "module": asked.module, "argv": asked.argv, "answer": str(answer)}
        (place / "order.json").write_text(json.dumps(order | {"scratch": folder}), encoding="utf-8")
        command = [sys.executable, "-m", "premortem.fit.measure", str(place / "order.json")]
        subprocess.run(command, capture_output=True, timeout=asked.seconds, check=False)
        if not answer.exists() or not answer.stat().st_size:
            raise NotRehearsed("the real run ended before its third step")
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return found


def main() -> None:
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    order = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    file = Path(order["answer"]).open("w", encoding="utf-8")  # noqa: SIM115 - before the sandbox covers `open`
    program = Program(target=order["target"], module=order["module"], argv=order["argv"])
    program.check()
    counts: dict[int, int] = {}

    def stepped(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        counts[id(optimizer)] = counts.get(id(optimizer), 0) + 1
        if min(counts.values()) >= STEPS:
            leave()

    def leave(problem: str = "") -> None:
        peaks = {
            "allocated": torch.cuda.max_memory_allocated(),
            "reserved": torch.cuda.max_memory_reserved(),
            "card": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "problem": problem,
        }
        json.dump(peaks, file)
        file.flush()
        os._exit(0)

    register_optimizer_step_post_hook(stepped)
    sandbox = Sandbox(Path(order["scratch"]) / "scratch")
    sandbox.install()
    sandbox.cover_torch()
    ending = program.run()
    leave(f"{ending.error}: {ending.message}" if ending.error else "")


if __name__ == "__main__":
    main()
