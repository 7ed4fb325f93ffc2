"""Check the manifest against torch itself: where and when the first non-finite value of each script is born.

    python -m tests.numerics.verify [--only TEXT]

Nothing of premortem is used. Every operation is watched by a dispatch mode; a backward operation is traced to the line of
its forward by what anomaly mode records. A value is born where an operation turns finite operands into non-finite results,
or operands without NaN into NaN. An infinity that the code writes down (a mask of -inf) is not a fault.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import json
import math
import os
import re
import runpy
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

# Imported once, here: each script then runs in a fork of this process.
import torch
import torch._dynamo
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from tests.numerics.manifest import entries, plain

torch.set_num_threads(1)

_ENGINE = "_engine_run_backward"
MOST = 12  # births that are kept; what follows the first few are echoes


class Birth(NamedTuple):
    step: int
    stage: str
    op: str
    node: str  # of the graph, for a backward operation
    line: int | None
    rows: list[int]

    @property
    def names(self) -> set[str]:
        return {plain(self.op), plain(self.node)}


class Watch(TorchDispatchMode):
    def __init__(self, script: str) -> None:
        super().__init__()
        self.script = script
        self.births: list[Birth] = []
        self.spoiled: int | None = None  # the first step with a gradient that is not finite
        self._done, self._stepping = 0, False
        self._hooks = (
            register_optimizer_step_pre_hook(self._before),
            register_optimizer_step_post_hook(self._after),
        )

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        given = _asked_for([*args, *kwargs.values()])
        if len(self.births) >= MOST or name.startswith(("empty", "set_")) or given:
            return func(*args, **kwargs)
        operands = list(_tensors([args, kwargs]))
        before = [_badness(each) for each in operands]
        result = func(*args, **kwargs)
        worst = max(before, default=0)
        # In-place operations and running statistics: an operand may be the result.
        changed = [each for each, was in zip(operands, before, strict=True) if _badness(each) > was]
        for made in [*_tensors(result), *changed]:
            if _badness(made) > worst:
                self._write(name, made)
                break
        return result

    def _write(self, name: str, made: torch.Tensor) -> None:
        node = torch._C._current_autograd_node()
        # A closure runs inside `step` too, but with gradients.
        stepping = self._stepping and not torch.is_grad_enabled()
        stage = "backward" if node is not None else "update" if stepping else "forward"
        line = self._line() if node is None else self._line(until=_ENGINE) or self._forward_line(node)
        bad = made.isnan() if made.isnan().any() else ~made.isfinite()
        rows = bad.reshape(len(bad), -1).any(1).nonzero().flatten().tolist() if bad.ndim else []
        self.births.append(
            Birth(self._done + 1, stage, name, node.name() if node is not None else "", line, rows)
        )

    def _line(self, until: str = "") -> int | None:
        """Of the script, as far up as that function: a derivative that was written by hand has its own line."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.script:
            frame = None if frame.f_code.co_name == until else frame.f_back
        return frame.f_lineno if frame is not None else None

    def _forward_line(self, node: Any) -> int | None:
        for entry in reversed(node.metadata.get("traceback_", [])):
            if found := re.search(rf'File "{re.escape(self.script)}", line (\d+)', entry):
                return int(found[1])
        return None

    def _before(self, optimizer: Any, *_: Any) -> None:
        self._stepping = True
        held = [p.grad for group in optimizer.param_groups for p in group["params"]]
        if self.spoiled is None and any(_badness(each) for each in _tensors(held)):
            self.spoiled = self._done + 1

    def _after(self, *_: Any) -> None:
        self._stepping, self._done = False, self._done + 1


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        if (value.is_floating_point() or value.is_complex()) and value.numel():
            yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _badness(tensor: torch.Tensor) -> int:
    """0 finite, 1 holds an infinity, 2 holds NaN."""
    return 2 if tensor.isnan().any() else 0 if tensor.isfinite().all() else 1


def _asked_for(arguments: list[Any]) -> bool:
    return any(isinstance(each, float) and not math.isfinite(each) for each in arguments)


@functools.cache
def births(script: str, source: str = "") -> tuple[list[Birth], int | None]:
    """Of one run, in a process of its own; and the first step with a gradient that is not finite.

    `source` is the file whose lines count, when that is not the script itself."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        torch._dynamo.config.disable = True  # compiled or not, the arithmetic is the same
        watch = Watch(source or script)
        sys.path.insert(0, str(Path(script).parent))  # as Python does for a script
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            with torch.autograd.set_detect_anomaly(True, check_nan=False), watch:
                runpy.run_path(script, run_name="__main__")
        os.write(write, json.dumps([watch.births, watch.spoiled]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    found, spoiled = json.loads(text)
    return [Birth(*each) for each in found], spoiled


def wrong(entry: dict[str, Any]) -> str:
    """What the manifest says about this script and torch does not; empty when they agree."""
    seen, spoiled = births(entry["path"], entry.get("source", ""))
    if "stage" not in entry:  # a scaler's own skips come from gradients that overflow on purpose
        harm = [b for b in seen if b.stage != "backward"]
        return f"a clean script makes {harm[0]}" if harm else ""
    if entry["stage"] == "data":
        early = [b for b in seen if b.step < entry["step"]]
        return (
            ""
            if spoiled == entry["step"] and not early
            else f"gradients go bad in step {spoiled}; {early[:1]}"
        )
    if not seen:
        return "nothing is born"
    first = [b for b in seen if b.step == seen[0].step]
    if seen[0].line in entry.get("also_lines", ()):
        return ""  # in a table, before the first step; the manifest has the step in which it is looked up
    right = [b for b in first if b.line == entry["line"] and b.names & {plain(name) for name in entry["op"]}]
    agrees = (
        seen[0].step == entry["step"]
        and seen[0].line == entry["line"]
        and right
        and any(b.stage == entry["stage"] for b in first if b.line == entry["line"])
        and (entry["sample"] is None or right[0].rows == [entry["sample"]])
    )
    return "" if agrees else f"torch says {first[:3]}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    found = {entry["file"]: wrong(entry) for entry in entries(parser.parse_args().only)}
    for file, difference in found.items():
        print(f"{file}: {difference or 'agrees'}")
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main())
