"""Whether the time of lint grows with the size of a file and no faster: generated files up to 50,000 lines.

    python bench/lint_scale.py [--json FILE] [--lines 50000] [--shapes functions,script,nested,classes]

Files of four shapes: `functions` repeats the functions of a training script under new names (one that trains, one with
mixed precision, one that evaluates, a dataset that catches, a module), `script` is one script without a function,
`nested` has blocks in blocks, `classes` many small modules. Every rule runs, those in preview too. The time of a line in
the largest file is compared with the time of a line in the smallest.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PIECES = """
def train_{n}(model, loader, optimizer, device):
    model.train()
    total = 0.0
    for batch, target in loader:
        batch = batch.to(device)
        optimizer.zero_grad()
        out = model(batch)
        loss = torch.nn.functional.cross_entropy(out, target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def train_amp_{n}(model, loader, optimizer, scaler, scheduler, epochs):
    for epoch in range(epochs):
        for step, (batch, target) in enumerate(loader):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(model(batch), target) / 4
            scaler.scale(loss).backward()
            if (step + 1) % 4 == 0:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        scheduler.step()
        evaluate_{n}(model, loader)


@torch.no_grad()
def evaluate_{n}(model, val_loader):
    model.eval()
    right = 0
    for batch, target in val_loader:
        right += (model(batch).argmax(1) == target).sum().item()
    return right / len(val_loader.dataset)


class Net{n}(torch.nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.first = torch.nn.Linear(10, width)
        self.second = torch.nn.Linear(width, 10)

    def forward(self, x):
        x = torch.relu(self.first(x))
        return torch.softmax(self.second(x), dim=-1)


class Pictures{n}(torch.utils.data.Dataset):
    def __getitem__(self, index):
        try:
            picture = self.read(self.paths[index])
            label = self.labels[index]
        except OSError as error:
            raise RuntimeError(self.paths[index]) from error
        return picture, label


def build_{n}(args):
    model = Net{n}().to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    criterion = torch.nn.CrossEntropyLoss()
    if args.resume:
        state = torch.load(args.resume, map_location="cpu", weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    return model, optimizer, criterion
"""


SCRIPT = """
x{n} = torch.randn(4, 2)
loss{n} = (model(x{n}) - x{n}).pow(2).mean()
optimizer.zero_grad()
loss{n}.backward()
optimizer.step()
total{n} = 0.0
for batch in loader:
    loss = model(batch).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total{n} += loss.item()
if total{n} > 1:
    print(total{n})
try:
    model.load_state_dict(torch.load("{n}.pt"))
except FileNotFoundError:
    pass
"""
CLASS = """
class Net{n}(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(10, 20)
        self.second = torch.nn.Linear(20, 5)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))

    def training_step(self, batch, index):
        loss = self(batch).sum()
        loss.backward()
        return loss
"""
BLOCKS = ("if model.training:", "for batch in loader:", "with torch.no_grad():", "while optimizer:")
DEEP = 18
START = """import torch
import torch.nn

model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader([1])
"""


def _nested() -> str:
    blocks = [f"{'    ' * depth}{BLOCKS[depth % len(BLOCKS)]}" for depth in range(DEEP)]
    return "\n".join([*blocks, f"{'    ' * DEEP}v{{n}} = model(batch).sum()"]) + "\n"


SHAPES = {"functions": PIECES, "script": SCRIPT, "nested": _nested(), "classes": CLASS}


def written(lines: int, shape: str) -> str:
    """A file of about so many lines."""
    piece = SHAPES[shape]
    copies = max(1, lines // piece.count("\n"))
    return START + "".join(piece.replace("{n}", str(number)) for number in range(copies))


def seconds(path: Path) -> float:
    """The processor time of linting one file, the start of Python included."""
    command = [Path(sys.executable).parent / "premortem", "lint", "--no-cache", "--preview", path]
    with Path(os.devnull).open("wb") as nowhere:
        process = subprocess.Popen([*map(str, command)], stdout=nowhere)
        _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in {0, 1}:
        raise SystemExit(f"premortem lint failed on {path}")
    return usage.ru_utime + usage.ru_stime


def measured(most: int, shape: str) -> list[dict[str, Any]]:
    rows = []
    sizes = [size for size in (100, 1_000, 5_000, 12_500, 25_000, 50_000) if size <= most]
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"train_{size}.py"
            path.write_text(written(size, shape), encoding="utf-8")
            lines = path.read_bytes().count(b"\n")
            rows.append({"lines": lines, "cpu_s": round(seconds(path), 2)})
            print(shape, rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the result here")
    parser.add_argument("--lines", type=int, default=50_000, help="size of the largest file")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="which files to write")
    options = parser.parse_args()
    result: dict[str, Any] = {
        "command": "python bench/lint_scale.py",
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "shapes": {},
    }
    for shape in options.shapes.split(","):
        rows = measured(options.lines, shape)
        start = rows[0]["cpu_s"]  # nearly all of it is the start of the program
        per_line = [1e6 * (row["cpu_s"] - start) / row["lines"] for row in rows[1:]]
        result["shapes"][shape] = {"files": rows, "us_per_line": [round(one, 1) for one in per_line]}
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
