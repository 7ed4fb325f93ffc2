"""Ordinary training loops, one function each: what `bench/cost.py` starts with `python` and with `premortem run`.

    python bench/cost_loops.py NAME --steps 4000 [--device cuda]

Nothing here knows of premortem. `tick` is called once for each turn of a loop. It notes the time, the CPU time of the
process and its memory at a few turns, and writes them to the file that COST_OUT names. With COST_COUNT=first:last,... it
counts the calls of Python functions in these turns instead, by function; COST_PROFILE=first:last tells how long each
function took in them, those of C too.
"""

from __future__ import annotations

import argparse
import copy
import cProfile
import json
import os
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

MARKS = (1, 100, 200, 1000)
LATE, BLOCK = 2000, 100  # turns: from here on every block is measured by itself
DEVICE = "cpu"


class Clock:
    def __init__(self) -> None:
        self.turns = 0
        self.marks: dict[int, dict[str, float]] = {}
        self.wanted = set(MARKS)
        spans = filter(None, os.environ.get("COST_COUNT", "").split(","))
        self.counts = {tuple(map(int, span.split(":"))): Counter[Any]() for span in spans}
        self.calls: Counter[Any] = Counter()  # of the span that is being counted
        self.first = {first: calls for (first, _), calls in self.counts.items()}
        self.last = {last for _, last in self.counts}
        first, _, last = os.environ.get("COST_PROFILE", "").partition(":")
        self.profiled = (int(first), int(last)) if last else (-1, -1)
        self.profile = cProfile.Profile()
        if self.counts:
            # How often premortem looks depends on the time: a turn takes a thousandth of a second then.
            began = time.perf_counter()
            time.perf_counter = lambda: began + self.turns * 1e-3

    def tick(self) -> None:
        self.turns += 1
        if self.turns in self.wanted or (self.turns >= LATE and not self.turns % BLOCK):
            self.mark()
        if self.turns == self.profiled[0]:
            self.profile.enable()
        elif self.turns == self.profiled[1]:
            self.profile.disable()
        if self.turns in self.last:
            sys.setprofile(None)
        if self.turns in self.first:
            self.calls = self.first[self.turns]
            sys.setprofile(self._count)

    def _count(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename != __file__:
            self.calls[frame.f_code] += 1

    def mark(self) -> None:
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.marks[self.turns] = {
            "wall": time.time(),
            "cpu": time.process_time(),
            "rss": pages * resource.getpagesize(),
        }

    def write(self) -> None:
        self.mark()
        path = os.environ.get("COST_OUT")
        if path:
            calls = {
                f"{first}:{last}": named(found, last - first) for (first, last), found in self.counts.items()
            }
            found = {"turns": self.turns, "marks": self.marks, "calls": calls, "times": self.times()}
            Path(path).write_text(json.dumps(found))

    def times(self) -> dict[str, float]:
        """Microseconds in a turn, by function."""
        first, last = self.profiled
        if first < 0:
            return {}
        found: Counter[str] = Counter()
        for entry in self.profile.getstats():
            code = entry.code
            name = code if isinstance(code, str) else f"{Path(code.co_filename).name}:{code.co_name}"
            found[name] += entry.inlinetime * 1e6 / (last - first)
        return dict(found)


def named(calls: Counter[Any], turns: int) -> dict[str, float]:
    """Calls in a turn, by file and function."""
    found: Counter[str] = Counter()
    for code, number in calls.items():
        found[f"{Path(code.co_filename).name}:{code.co_name}"] += number
    return {name: number / turns for name, number in found.items()}


CLOCK = Clock()
tick = CLOCK.tick


def mlp(inputs: int = 32, width: int = 128, outputs: int = 10) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, outputs)
    ).to(DEVICE)


def batch(size: int = 64, inputs: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(size, inputs, device=DEVICE)
    return x, x[:, :10].argmax(1)


def plain(steps: int) -> None:
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(steps):
        x, y = batch()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        tick()


def clip_schedule(steps: int) -> None:
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    criterion = nn.CrossEntropyLoss()
    for _ in range(steps):
        x, y = batch()
        loss = criterion(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        tick()


def accumulation(steps: int, parts: int = 4) -> None:
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        for _ in range(parts):
            x, y = batch(16)
            (F.cross_entropy(model(x), y) / parts).backward()
        optimizer.step()
        tick()


def loader_eval(steps: int, every: int = 50) -> None:
    torch.manual_seed(0)
    x, y = batch(64 * every)
    held_out = torch.utils.data.TensorDataset(*(t.cpu() for t in batch(256)))
    data = torch.utils.data.TensorDataset(x.cpu(), y.cpu())
    train = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)
    test = torch.utils.data.DataLoader(held_out, batch_size=64)
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    while CLOCK.turns < steps:
        model.train()
        for a, b in train:
            optimizer.zero_grad()
            F.cross_entropy(model(a.to(DEVICE)), b.to(DEVICE)).backward()
            optimizer.step()
            tick()
        model.eval()
        right = 0
        with torch.no_grad():
            for a, b in test:
                right += int((model(a.to(DEVICE)).argmax(1).cpu() == b).sum())


def q_learning(steps: int, acts: int = 8) -> None:
    model = mlp(4, 64, 2)
    target = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    memory = torch.randn(512, 4, device=DEVICE)
    for step in range(steps):
        state = memory[step % 512]
        for _ in range(acts):
            with torch.no_grad():
                action = int(model(state.unsqueeze(0)).argmax())
            state = torch.tanh(state + (0.1 if action else -0.1))
        memory[step % 512] = state
        chosen = torch.randint(0, 512, (64,), device=DEVICE)
        x, following = memory[chosen], memory[(chosen + 1) % 512]
        with torch.no_grad():
            best = x[:, 0] + 0.9 * target(following).max(1).values
        loss = F.smooth_l1_loss(model(x)[:, 0], best)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            target.load_state_dict(model.state_dict())
        tick()


def gan(steps: int) -> None:
    maker, judge = mlp(16, 64, 32), mlp(32, 64, 1)
    makers = torch.optim.Adam(maker.parameters(), lr=2e-4, betas=(0.5, 0.999))
    judges = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(64, 1, device=DEVICE), torch.zeros(64, 1, device=DEVICE)
    for _ in range(steps):
        real = torch.randn(64, 32, device=DEVICE) * 0.5 + 1
        fake = maker(torch.randn(64, 16, device=DEVICE))
        judges.zero_grad()
        (criterion(judge(real), ones) + criterion(judge(fake.detach()), zeros)).backward()
        judges.step()
        makers.zero_grad()
        criterion(judge(fake), ones).backward()
        makers.step()
        tick()


def policy(steps: int, acts: int = 128, epochs: int = 4, parts: int = 4) -> None:
    """As PPO: many small forward passes without gradients, then some steps on what they have seen."""
    actor, critic = mlp(8, 64, 4), mlp(8, 64, 1)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-4, eps=1e-5)
    state = torch.randn(4, 8, device=DEVICE)
    while CLOCK.turns < steps:
        seen, values, chances, actions = [], [], [], []
        for _ in range(acts):
            with torch.no_grad():
                choice = torch.distributions.Categorical(logits=actor(state))
                action = choice.sample()
                values.append(critic(state).flatten())
            seen.append(state)
            actions.append(action)
            chances.append(choice.log_prob(action))
            state = torch.tanh(state + 0.1 * (action.unsqueeze(1) - 1.5) + 0.1 * torch.randn_like(state))
        states, old = torch.cat(seen), torch.cat(chances)
        rewards, taken = -states[:, 0].abs(), torch.cat(actions)
        gains = rewards - torch.cat(values)
        for _ in range(epochs):
            for rows in torch.randperm(len(states), device=DEVICE).chunk(parts):
                choice = torch.distributions.Categorical(logits=actor(states[rows]))
                ratio = (choice.log_prob(taken[rows]) - old[rows]).exp()
                gain = gains[rows]
                surrogate = torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
                error = F.mse_loss(critic(states[rows]).flatten(), rewards[rows])
                loss = 0.5 * error - surrogate - 0.01 * choice.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
                optimizer.step()
                tick()


def actor_critic(steps: int) -> None:
    """As SAC: three optimizers, and targets that follow by hand."""
    actor, critic = mlp(8, 64, 2), mlp(10, 64, 1)
    target = copy.deepcopy(critic)
    temperature = torch.zeros(1, device=DEVICE, requires_grad=True)
    optimizers = [
        torch.optim.Adam(actor.parameters(), lr=3e-4),
        torch.optim.Adam(critic.parameters(), lr=3e-4),
        torch.optim.Adam([temperature], lr=3e-4),
    ]
    memory = torch.randn(1024, 8, device=DEVICE)
    for _ in range(steps):
        x = memory[torch.randint(0, 1024, (64,), device=DEVICE)]
        with torch.no_grad():
            action = torch.tanh(actor(x))
            wanted = -x[:, :1].abs() + 0.9 * target(torch.cat([x + 0.1 * x.roll(1, 1), action], 1))
        optimizers[1].zero_grad()
        F.mse_loss(critic(torch.cat([x, action], 1)), wanted).backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        action = torch.tanh(actor(x))
        size = (action**2).mean()
        (temperature.exp().detach() * size - critic(torch.cat([x, action], 1)).mean()).backward()
        optimizers[0].step()
        optimizers[2].zero_grad()
        (temperature.exp() * (0.5 - size.detach())).sum().backward()
        optimizers[2].step()
        with torch.no_grad():
            for old, new in zip(target.parameters(), critic.parameters(), strict=True):
                old.lerp_(new, 0.005)
        tick()


def ema(steps: int) -> None:
    model = mlp()
    averaged = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(steps):
        x, y = batch()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        averaged.update_parameters(model)
        tick()


def two_optimizers(steps: int) -> None:
    body, head = mlp(32, 64, 64), mlp(64, 64, 10)
    optimizers = [torch.optim.SGD(body.parameters(), lr=0.01), torch.optim.Adam(head.parameters(), lr=1e-3)]
    for _ in range(steps):
        x, y = batch()
        for optimizer in optimizers:
            optimizer.zero_grad()
        F.cross_entropy(head(body(x)), y).backward()
        for optimizer in optimizers:
            optimizer.step()
        tick()


def lbfgs(steps: int, unrolled: int = 100) -> None:
    """A cell called for each moment of a series, as in torch's own example; a turn is one closure."""
    cell, head = nn.LSTMCell(1, 32).to(DEVICE), nn.Linear(32, 1).to(DEVICE)
    parameters = [*cell.parameters(), *head.parameters()]
    optimizer = torch.optim.LBFGS(parameters, lr=0.5, max_iter=20, history_size=10)
    series = torch.sin(torch.arange(unrolled + 1, device=DEVICE) / 7).expand(16, -1)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        h, c = torch.zeros(16, 32, device=DEVICE), torch.zeros(16, 32, device=DEVICE)
        made = []
        for x in series[:, :-1].split(1, dim=1):
            h, c = cell(x, (h, c))
            made.append(head(h))
        loss = F.mse_loss(torch.cat(made, dim=1), series[:, 1:])
        loss.backward()
        tick()
        return loss

    while CLOCK.turns < steps:
        optimizer.step(closure)


def scaler(steps: int) -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scale = torch.amp.GradScaler(DEVICE, init_scale=1024.0)
    dtype = torch.float16 if DEVICE == "cuda" else torch.bfloat16
    for _ in range(steps):
        x, y = batch()
        optimizer.zero_grad()
        with torch.autocast(DEVICE, dtype=dtype):
            loss = F.cross_entropy(model(x), y)
        scale.scale(loss).backward()
        scale.step(optimizer)
        scale.update()
        tick()


def bf16(steps: int) -> None:
    model = mlp().to(torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        x, y = batch()
        optimizer.zero_grad()
        F.cross_entropy(model(x.bfloat16()).float(), y).backward()
        optimizer.step()
        tick()


def deep(steps: int) -> None:
    """Sixteen layers, fused: on a GPU nothing but launches."""
    layers = [layer for _ in range(16) for layer in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(256, 10)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    for _ in range(steps):
        x, y = batch(64, 256)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        tick()


def deep_default(steps: int) -> None:
    layers = [layer for _ in range(16) for layer in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(256, 10)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        x, y = batch(64, 256)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        tick()


def logged(steps: int) -> None:
    """The loss of every step is printed."""
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(steps):
        x, y = batch()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.4f}")
        tick()


def compiled(steps: int) -> None:
    model = mlp()
    fast = torch.compile(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(steps):
        x, y = batch()
        optimizer.zero_grad()
        F.cross_entropy(fast(x), y).backward()
        optimizer.step()
        tick()


class Decoder(nn.Module):
    """GPT-2's, of 124 million weights; on a CPU a small one."""

    def __init__(self) -> None:
        super().__init__()
        small = DEVICE == "cpu"
        self.context, self.words = (64, 256) if small else (1024, 50304)
        width, heads, layers = (64, 4, 2) if small else (768, 12, 12)
        self.heads = heads
        self.token, self.place = nn.Embedding(self.words, width), nn.Embedding(self.context, width)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm": nn.LayerNorm(width),
                    "project": nn.Linear(width, 3 * width),
                    "out": nn.Linear(width, width),
                    "second": nn.LayerNorm(width),
                    "widen": nn.Linear(width, 4 * width),
                    "narrow": nn.Linear(4 * width, width),
                }
            )
            for _ in range(layers)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, self.words, bias=False)
        self.head.weight = self.token.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.token(tokens) + self.place(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            q, k, v = (
                each.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                for each in block["project"](block["norm"](x)).chunk(3, -1)
            )
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + block["out"](seen.transpose(1, 2).flatten(-2))
            x = x + block["narrow"](F.gelu(block["widen"](block["second"](x))))
        return self.head(self.norm(x))


def gpt(steps: int, *, fast: bool = False) -> None:
    """As nanoGPT trains: bfloat16, clipping, a fused optimizer, the loss printed in every step."""
    model = Decoder().to(DEVICE)
    called = torch.compile(model) if fast else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), fused=True)
    for step in range(steps):
        tokens = torch.randint(model.words, (8, model.context + 1), device=DEVICE)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            logits = called(tokens[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(f"iter {step}: loss {loss.item():.4f}")
        tick()


def gpt_compiled(steps: int) -> None:
    gpt(steps, fast=True)


def accelerate(steps: int) -> None:
    from accelerate import Accelerator

    door = Accelerator(gradient_accumulation_steps=2, cpu=DEVICE == "cpu")
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = batch(64 * 50)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x.cpu(), y.cpu()), batch_size=64, shuffle=True
    )
    model, optimizer, loader = door.prepare(model, optimizer, loader)
    while CLOCK.turns < steps:
        for a, b in loader:
            with door.accumulate(model):
                loss = F.cross_entropy(model(a), b)
                door.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            tick()


def lightning(steps: int) -> None:
    import lightning as pl

    class Lit(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp()

        def training_step(self, given: Any, index: int) -> torch.Tensor:
            loss = F.cross_entropy(self.net(given[0]), given[1])
            self.log("loss", loss)
            tick()
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=1e-3)

    x, y = batch(64 * 50)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x.cpu(), y.cpu()), batch_size=64)
    trainer = pl.Trainer(
        max_steps=steps,
        max_epochs=-1,
        accelerator="gpu" if DEVICE == "cuda" else "cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Lit(), loader)


def trainer(steps: int) -> None:
    """Transformers' Trainer over a tiny model that is made here."""
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp()

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": F.cross_entropy(self.net(x), labels)}

    class Ticks(TrainerCallback):
        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            tick()

    x, y = batch(64 * 50)
    rows = [{"x": a, "labels": b} for a, b in zip(x.cpu(), y.cpu(), strict=True)]
    options = TrainingArguments(
        output_dir=os.environ.get("TMPDIR", "/tmp"),
        max_steps=steps,
        per_device_train_batch_size=64,
        report_to=[],
        save_strategy="no",
        use_cpu=DEVICE == "cpu",
    )
    Trainer(model=Net(), args=options, train_dataset=rows, callbacks=[Ticks()]).train()


LOOPS = {
    function.__name__: function
    for function in (
        plain,
        clip_schedule,
        accumulation,
        loader_eval,
        q_learning,
        policy,
        actor_critic,
        gan,
        ema,
        two_optimizers,
        lbfgs,
        scaler,
        bf16,
        deep,
        deep_default,
        logged,
        compiled,
        gpt,
        gpt_compiled,
        accelerate,
        lightning,
        trainer,
    )
}


def main() -> None:
    global DEVICE  # noqa: PLW0603 - set once, before anything is built
    parser = argparse.ArgumentParser()
    parser.add_argument("loop", choices=LOOPS)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    DEVICE = options.device
    torch.manual_seed(0)
    if DEVICE == "cuda":
        torch.cuda.init()
    CLOCK.mark()
    LOOPS[options.loop](options.steps)
    CLOCK.write()


if __name__ == "__main__":
    main()
