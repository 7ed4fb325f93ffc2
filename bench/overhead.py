"""What watching costs: step time watched against unwatched, in alternating blocks of one run.

    python bench/overhead.py [--device cpu|cuda] [--rounds 7] [--json FILE] [--only NAME] [--task NAME]

Three models: a GPT-2-sized decoder, a conv net, and a 32-layer MLP that is bound by kernel launches (the worst
case for any watcher). Beside premortem stand the ways people watch today. Every way is measured against
unwatched blocks of the same run, block by block, because machines are noisy; the ratio is the median over rounds.
On a GPU it also proves that a cruising step adds no host synchronisation: it runs with sync_debug_mode "error".
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

import premortem as premortem_package
from premortem.probes.rest import ALIKE
from premortem.run.watcher import Watcher

TASKS = ("decoder", "conv", "mlp")
CRUISING = 1_000_003  # a step number far from any audit


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(
        self, vocabulary: int = 50304, context: int = 1024, width: int = 768, layers: int = 12
    ) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, 12) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.b(F.relu(self.norm(self.a(x))))


class Cost(NamedTuple):
    """Of one step, in milliseconds."""

    wall: float
    host: float  # of the training thread's own processor time: what a noisy machine does not disturb


class Task:
    """A model, its optimizer, and one training step as people write it."""

    def __init__(self, name: str, device: str) -> None:
        self.name, self.device = name, device
        gpu = device == "cuda"
        # On a GPU a block takes two seconds, as a rest does: about two of its steps are told.
        if name == "decoder":
            batch, length = (8, 1024) if gpu else (1, 64)
            self.model: nn.Module = Decoder()
            ids = torch.randint(0, 50304, (batch, length + 1), device=device)
            self.inputs, self.targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
            self.loss = lambda out, y: F.cross_entropy(out.flatten(0, 1), y.flatten())
            self.steps = 80 if gpu else 2
        elif name == "conv":
            width, depth, side, batch = (64, 24, 256, 16) if gpu else (32, 8, 48, 8)
            body = [Residual(width) for _ in range(depth)]
            self.model = nn.Sequential(
                nn.Conv2d(3, width, 3, padding=1), *body, nn.Conv2d(width, 3, 3, padding=1)
            )
            self.inputs = torch.rand(batch, 3, side, side, device=device)
            self.targets = torch.rand_like(self.inputs)
            self.loss = F.l1_loss
            self.steps = 14 if gpu else 6
        else:
            layers = [nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(32)]
            self.model = nn.Sequential(*layers)
            self.inputs = torch.rand(128, 256, device=device)
            self.targets = torch.rand_like(self.inputs)
            self.loss = F.mse_loss
            self.steps = 320 if gpu else 30
        self.model.to(device)
        self.amp = gpu and name != "mlp"
        self.optimizer = self.optimizer_of(fused=gpu)

    def optimizer_of(self, *, fused: bool) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=fused)

    def step(self, after_backward: Callable[[torch.Tensor], None] = lambda loss: None) -> None:
        with torch.autocast("cuda", torch.bfloat16, enabled=self.amp):
            loss = self.loss(self.model(self.inputs), self.targets)
        loss.backward()
        after_backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def wait(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def block(self, after_backward: Callable[[torch.Tensor], None] = lambda loss: None) -> Cost:
        """Milliseconds per step over one block."""
        self.wait()
        start, busy = time.perf_counter(), time.thread_time()
        for _ in range(self.steps):
            self.step(after_backward)
        busy = time.thread_time() - busy
        self.wait()
        return Cost((time.perf_counter() - start) / self.steps * 1e3, busy / self.steps * 1e3)


# --- the ways ---------------------------------------------------------------------------------


@contextlib.contextmanager
def unwatched(task: Task) -> Iterator[Callable[[], Cost]]:
    yield task.block


def cruising(task: Task, *, rests: bool = True) -> Watcher:
    """All probes and all detectors, in the gear a run spends its life in. Whoever asks closes it."""
    watcher = Watcher("protect")
    watcher.attach()
    attachment = watcher._attachment
    assert attachment is not None
    attachment.introduce((task.model, task.optimizer))
    attachment.session.step = CRUISING
    attachment.op_audit.focus()
    for _ in range(10):  # what is new to premortem is audited first
        task.step()
    attachment.session.step += 10_000  # past what an alarm would still audit
    if not rests or task.device == "cpu":  # few steps in a block: each is told, which is more than a run pays
        attachment.session.rest.after = sys.maxsize
    for _ in range(ALIKE + 3):
        task.step()
    return watcher


@contextlib.contextmanager
def premortem(task: Task, rests: bool = True) -> Iterator[Callable[[], Cost]]:
    watcher = cruising(task, rests=rests)
    try:
        yield task.block
    finally:
        watcher.close()


@contextlib.contextmanager
def clip_error(task: Task) -> Iterator[Callable[[], Cost]]:
    def check(loss: torch.Tensor) -> None:
        nn.utils.clip_grad_norm_(task.model.parameters(), 1e9, error_if_nonfinite=True)

    yield lambda: task.block(check)


@contextlib.contextmanager
def item_norms(task: Task) -> Iterator[Callable[[], Cost]]:
    def check(loss: torch.Tensor) -> None:
        for parameter in task.model.parameters():
            if parameter.grad is not None:
                parameter.grad.norm().item()

    yield lambda: task.block(check)


@contextlib.contextmanager
def isnan_parameters(task: Task) -> Iterator[Callable[[], Cost]]:
    def check(loss: torch.Tensor) -> None:
        if torch.isnan(loss) or torch.isinf(loss):
            raise RuntimeError
        for parameter in task.model.parameters():
            if torch.isnan(parameter).any() or torch.isinf(parameter).any():
                raise RuntimeError

    yield lambda: task.block(check)


@contextlib.contextmanager
def isnan_hooks(task: Task) -> Iterator[Callable[[], Cost]]:
    def check(module: nn.Module, args: Any, output: Any) -> None:
        if torch.isnan(output).any() or torch.isinf(output).any():
            raise RuntimeError

    handles = [module.register_forward_hook(check) for module in task.model.modules()]
    yield task.block
    for handle in handles:
        handle.remove()


@contextlib.contextmanager
def anomaly(task: Task) -> Iterator[Callable[[], Cost]]:
    with torch.autograd.set_detect_anomaly(True):
        yield task.block


# With the optimizer that torch takes on a GPU when nobody asks for another one: it has no `found_inf`.
NOT_FUSED = "premortem, optimizer not fused"
WAYS: dict[str, Callable[[Task], contextlib.AbstractContextManager[Callable[[], Cost]]]] = {
    "premortem": premortem,
    "premortem, before it rests": functools.partial(premortem, rests=False),
    NOT_FUSED: premortem,
    "`clip_grad_norm_(error_if_nonfinite=True)`": clip_error,
    "gradient norm with `.item()` per parameter": item_norms,
    "isnan and isinf per parameter": isnan_parameters,
    "isnan in forward hooks of every module": isnan_hooks,
    "`set_detect_anomaly(True)`": anomaly,
}


class Ratio(NamedTuple):
    wall: float
    spread: float
    host_us: float  # added to the training thread in each step


def ratio(task: Task, way: str, rounds: int) -> Ratio:
    """Median over rounds of (watched block / mean of the unwatched blocks around it), and the spread."""
    ratios, added = [], []
    for _ in range(2):
        task.step()
    before = task.block()
    for _ in range(rounds):
        with WAYS[way](task) as block:
            watched = block()
        after = task.block()
        ratios.append(watched.wall / ((before.wall + after.wall) / 2))
        added.append((watched.host - (before.host + after.host) / 2) * 1e3)
        before = after
    ordered = sorted(ratios)
    spread = (ordered[-2] - ordered[1]) / 2 if len(ordered) > 3 else math.nan
    return Ratio(statistics.median(ratios), spread, statistics.median(added))


def added_synchronisations(task: Task) -> str:
    """Cruise steps under sync_debug_mode "error": any host synchronisation raises."""
    if task.device != "cuda":
        return "not measured (CPU)"
    with premortem(task):
        torch.cuda.set_sync_debug_mode("error")
        try:
            for _ in range(4 * task.steps):
                task.step()
        except RuntimeError as error:
            return f"SYNCHRONISES: {error}"
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return f"none in {4 * task.steps} steps"


def startup(rounds: int = 5) -> float:
    """Seconds that `premortem run` adds to a script that imports torch and ends."""
    source = str(Path(premortem_package.__file__).parents[1])
    # What is installed has its bytecode; here it is written in the first round.
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": ""}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "nothing.py")
        script.write_text("import torch\n")
        differences = []
        for number in range(rounds + 1):
            times = []
            for command in ([], ["-m", "premortem", "run", "--quiet"]):
                start = time.perf_counter()
                subprocess.run(
                    [sys.executable, *command, str(script)], cwd=folder, env=environment, check=True
                )
                times.append(time.perf_counter() - start)
            if number:
                differences.append(times[1] - times[0])
    return statistics.median(differences)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="only the ways whose name contains this")
    parser.add_argument("--task", choices=TASKS, help="only this model")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    name = (
        torch.cuda.get_device_name()
        if options.device == "cuda"
        else platform.processor() or platform.machine()
    )
    result: dict[str, Any] = {
        "command": f"python bench/overhead.py --device {options.device} --rounds {options.rounds}"
        + (f" --only {options.only!r}" if options.only else "")
        + (f" --task {options.task}" if options.task else ""),
        "machine": name,
        "torch": torch.__version__,
        "step_ms": {},
        "ratio": {},
        "spread": {},
        "added_host_us": {},
        "added_synchronisations": {},
    }
    for model in [options.task] if options.task else TASKS:
        task = Task(model, options.device)
        for _ in range(3):
            task.step()
        result["step_ms"][model] = round(task.block().wall, 2)
        result["added_synchronisations"][model] = added_synchronisations(task)
        print(
            f"{model}: {result['step_ms'][model]} ms, synchronisations {result['added_synchronisations'][model]}"
        )
        for way in WAYS:
            gpu = options.device == "cuda"
            if options.only in way and (gpu or way != NOT_FUSED):
                task.optimizer = task.optimizer_of(fused=gpu and way != NOT_FUSED)
                # Where a step is short and bound by the host, blocks differ most: more of them.
                cost = ratio(task, way, options.rounds * (3 if model == "mlp" else 1))
                result["ratio"].setdefault(way, {})[model] = round(cost.wall, 3)
                result["spread"].setdefault(way, {})[model] = round(cost.spread, 3)
                result["added_host_us"].setdefault(way, {})[model] = round(cost.host_us)
                print(f"  {way:45} x{cost.wall:.3f} ± {cost.spread:.3f}, {cost.host_us:+.0f} µs", flush=True)
        del task
        if options.json:  # after each model: a machine may be lent for a limited time
            options.json.write_text(json.dumps(result, indent=1) + "\n")
    result["startup_seconds"] = round(startup(), 2)
    print(f"start-up: {result['startup_seconds']} s over importing torch")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
