"""A sweep of 200 small trials, a third of them with a planted mistake, each started as a user starts it: what ending broken ones saves.

    python bench/sweep.py [--trials 200] [--jobs 2] [--json bench/results/sweep.json]

Every trial draws its settings (task, width, depth, batch, optimizer, rate, schedule, clipping, dropout) by chance and trains for 1,200
steps under `premortem run --policy strict --quiet`, which ends it at its first error. A third has one of twelve mistakes, drawn by
chance too. What is counted is steps, which do not depend on how busy the machine is: how many of the steps of broken trials were
not made, and whether any healthy trial was ended. Minutes are those steps at the pace of the trials that were not ended, start
included. Which trials are broken is known to this program alone. Then `premortem sweep`
looks at all of them, and the groups it names are counted.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.metadata
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

STEPS = 1200
TRIAL = """
import json
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

s = json.loads(sys.argv[1])
mistake = s["mistake"]
torch.manual_seed(s["seed"])


def make(rows, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, 16, generator=g)
    if s["task"] == "classes":
        weights = torch.randn(16, 4, generator=torch.Generator().manual_seed(1))
        y = (x @ weights + 0.3 * torch.randn(rows, 4, generator=g)).argmax(1)
    else:
        y = (x[:, :4].prod(1, keepdim=True) + x[:, 4:8].sum(1, keepdim=True)) + 0.1 * torch.randn(rows, 1, generator=g)
    return x, y


x, y = make(2048, 2)
if mistake == "labels_shuffled":
    y = y[torch.randperm(len(y))]
train = DataLoader(TensorDataset(x, y), batch_size=s["batch"], shuffle=True)
held_out = DataLoader(TensorDataset(*make(512, 3)), batch_size=256)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        width = s["width"]
        layers = [nn.Linear(16, width), nn.ReLU()]
        for _ in range(s["depth"]):
            layers += [nn.Linear(width, width), nn.ReLU(), nn.Dropout(s["dropout"])]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(width, 4 if s["task"] == "classes" else 1)

    def forward(self, x):
        hidden = self.body(x)
        if mistake == "detached":
            hidden = hidden.detach()
        out = self.head(hidden)
        return out.softmax(1) if mistake == "softmax_twice" else out


model = Net()
if mistake == "left_frozen":
    for p in model.body.parameters():
        p.requires_grad_(False)
    for p in model.head.parameters():
        p.requires_grad_(False)
    model.head.bias.requires_grad_(True)
parameters = list(model.body.parameters()) if mistake == "head_forgotten" else [p for p in model.parameters() if p.requires_grad]
kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
extra = {"momentum": 0.9} if s["optimizer"] == "sgd" else {}
optimizer = kinds[s["optimizer"]](parameters, lr=s["lr"], **extra)
scheduler = None
if mistake == "schedule_per_batch":
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
elif s["schedule"] == "cosine":
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, s["steps"])
lossy = nn.CrossEntropyLoss() if s["task"] == "classes" else nn.MSELoss()
done = 0
epoch = 0
while done < s["steps"]:
    epoch += 1
    model.train()
    total = 0.0
    for xb, yb in train:
        if mistake != "not_cleared":
            optimizer.zero_grad()
        out = model(xb)
        loss = lossy(out, yb)
        if mistake == "sign":
            loss = -loss
        if mistake == "log_of_nothing" and done > 200:
            loss = loss + 0.01 * torch.log(torch.relu(out - 1.0)).mean()
        loss.backward()
        if s["clip"]:
            nn.utils.clip_grad_norm_(model.parameters(), 1e-7 if mistake == "clipped_to_nothing" else s["clip"])
        if mistake != "no_step":
            optimizer.step()
        if scheduler is not None:
            scheduler.step()
        total += loss.item()
        done += 1
        if done >= s["steps"]:
            break
    if mistake != "eval_in_train_mode":
        model.eval()
    with torch.no_grad():
        held = sum(lossy(model(a), b).item() for a, b in held_out) / len(held_out)
    print(f"epoch {epoch} train {total / len(train):.4f} val {held:.4f}")
"""
MISTAKES = (
    "rate_too_high labels_shuffled detached softmax_twice left_frozen head_forgotten schedule_per_batch not_cleared sign "
    "log_of_nothing clipped_to_nothing no_step"
).split()


def drawn(number: int, draw: random.Random) -> dict[str, Any]:
    """Settings that a person would try; of every third trial one thing is a mistake."""
    optimizer = draw.choice(["sgd", "adam", "adamw"])
    mistake = draw.choice(MISTAKES) if number % 3 == 0 else ""
    task = draw.choice(["classes", "numbers"])
    if mistake == "softmax_twice":
        task = "classes"
    rate = 10 ** draw.uniform(-2.5, -1.7) if optimizer == "sgd" else 10 ** draw.uniform(-3.5, -2.3)
    return {
        "number": number,
        "mistake": mistake,
        "task": task,
        "seed": draw.randrange(1000),
        "width": draw.choice([32, 64, 128]),
        "depth": draw.choice([1, 2, 3]),
        "batch": draw.choice([32, 64, 128]),
        "dropout": draw.choice([0.0, 0.1, 0.2]),
        "optimizer": optimizer,
        "lr": rate * 1e4 if mistake == "rate_too_high" else rate,
        "schedule": draw.choice(["constant", "cosine"]),
        "clip": 1.0 if mistake == "clipped_to_nothing" else draw.choice([0.0, 1.0, 5.0]),
        "steps": STEPS,
    }


def trial(settings: dict[str, Any], folder: Path) -> dict[str, Any]:
    findings = folder / f"{settings['number']}.json"
    runs = folder / "runs" / f"trial-{settings['number']:03d}"
    began = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "premortem", "run", "--policy", "strict", "--quiet", "--folder", runs),
            *("--findings", findings, "trial.py", json.dumps(settings)),
        ],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    found = json.loads(findings.read_text(encoding="utf-8"))
    errors = [each for each in found["findings"] if each["severity"] == "error"]
    return {
        "number": settings["number"],
        "mistake": settings["mistake"],
        "ended": done.returncode == 3,
        "exit_code": done.returncode,
        "seconds": round(time.monotonic() - began, 2),
        "steps": found["run"].get("steps", 0),
        "codes": [each["code"] for each in errors],
        "warnings": [each["code"] for each in found["findings"] if each["severity"] == "warning"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--after", type=Path, metavar="LOG", help="go on after the trials whose rows this has printed"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    draw = random.Random(20261118)
    chosen = [drawn(number, draw) for number in range(options.trials)]
    printed = options.after.read_text(encoding="utf-8").splitlines() if options.after else []
    before = [json.loads(line) for line in printed if line.startswith('{"number"')]
    chosen = chosen[len(before) :]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "trial.py").write_text(TRIAL, encoding="utf-8")
        rows = list(before)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for row in pool.map(lambda settings: trial(settings, folder), chosen):
                rows.append(row)
                print(json.dumps(row), flush=True)
        swept = subprocess.run(
            [sys.executable, "-m", "premortem", "sweep", "--format", "json", str(folder / "runs")],
            capture_output=True,
            text=True,
            check=False,
        )
    broken = [row for row in rows if row["mistake"]]
    healthy = [row for row in rows if not row["mistake"]]
    # A trial that never steps goes through all of its batches.
    made = sum(row["steps"] if row["ended"] else STEPS for row in broken)
    ended = [row for row in broken if row["ended"]]
    whole = statistics.median([row["seconds"] for row in rows if not row["ended"]] or [0.0])
    summary = {
        "trials": len(rows),
        "broken": len(broken),
        "ended": len(ended),
        "steps_when_ended_median": statistics.median(row["steps"] for row in ended) if ended else None,
        "broken_steps_not_made": round(1 - made / (STEPS * len(broken)), 3),
        "sweep_steps_not_made": round(1 - (made + STEPS * len(healthy)) / (STEPS * len(rows)), 3),
        "seconds_of_a_whole_trial": round(whole, 1),
        "minutes_of_whole_trials": round(whole * len(rows) / 60, 1),
        "minutes_saved": round(whole * sum(1 - row["steps"] / STEPS for row in ended) / 60, 1),
        "healthy": len(healthy),
        "healthy_ended": sum(row["ended"] for row in healthy),
        "healthy_with_warnings": sum(bool(row["warnings"]) for row in healthy),
        "ended_by_mistake": dict(Counter(row["mistake"] for row in ended)),
        "not_ended_by_mistake": dict(Counter(row["mistake"] for row in broken if not row["ended"])),
        # Only of what was run here: the folders of earlier parts are gone.
        "groups": len(json.loads(swept.stdout)["groups"]) if swept.stdout and not before else None,
    }
    print(json.dumps(summary, indent=1))
    if options.json:
        machine = {
            "machine": platform.machine(),
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "torch": importlib.metadata.version("torch"),
            "command": f"python bench/sweep.py --jobs {options.jobs}",
        }
        options.json.write_text(
            json.dumps({**machine, **summary, "rows": rows}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
