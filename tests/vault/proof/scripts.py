"""Training scripts as people write them, each with its own way to save and to resume."""

_MODEL = """
import argparse, glob, os, random, sys
from pathlib import Path
import numpy as np
import torch
from torch import nn


def seed(n):
    random.seed(n)
    np.random.seed(n)
    torch.manual_seed(n)


def build():
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))


def data():
    g = torch.Generator().manual_seed(3)
    x = torch.randn(48, 6, generator=g)
    return torch.utils.data.TensorDataset(x, x[:, :1] * 2 - x[:, 1:2])
"""

# Asks for the file with an option, and restores everything, generators too.
EXACT = (
    _MODEL
    + """
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--resume", default=None)
    parser.add_argument("--checkpoint-dir", default="ckpt")
    args = parser.parse_args()
    seed(0)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    loader = torch.utils.data.DataLoader(data(), batch_size=12, shuffle=True)
    start, best = 0, float("inf")
    if args.resume:
        state = torch.load(args.resume, weights_only=False)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        start, best = state["epoch"] + 1, state["best"]
        torch.set_rng_state(state["rng"])
        random.setstate(state["python"])
        np.random.set_state(state["numpy"])
    os.makedirs(args.checkpoint_dir, exist_ok=True)
    for epoch in range(start, args.epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        best = min(best, total)
        torch.save(
            dict(
                model=model.state_dict(), optimizer=optimizer.state_dict(), scheduler=scheduler.state_dict(),
                epoch=epoch, best=best, rng=torch.get_rng_state(), python=random.getstate(),
                numpy=np.random.get_state(),
            ),
            os.path.join(args.checkpoint_dir, f"epoch_{epoch}.pt"),
        )


if __name__ == "__main__":
    main()
"""
)

# Finds its newest file by itself, in a folder beside the script, and keeps the rest to itself.
FORGETFUL = (
    _MODEL
    + """
class Trainer:
    def __init__(self):
        seed(1)
        self.model = build()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.loader = torch.utils.data.DataLoader(data(), batch_size=8, shuffle=True)
        self.best = float("inf")
        self.bad = 0
        self.folder = Path(__file__).resolve().parent / "out"
        self.folder.mkdir(exist_ok=True)

    def resume(self):
        files = sorted(self.folder.glob("step_*.pt"))
        if files:
            self.model.load_state_dict(torch.load(files[-1])["model"])

    def fit(self, steps):
        self.resume()
        step = 0
        while step < steps:
            for x, y in self.loader:
                self.optimizer.zero_grad()
                loss = nn.functional.mse_loss(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                step += 1
                self.best = min(self.best, loss.item())
                if step % 4 == 0:
                    torch.save({"model": self.model.state_dict(), "step": step}, self.folder / f"step_{step}.pt")
                if step == steps:
                    break


Trainer().fit(40)
"""
)

# Only the statistics of batch norm are left out: the file holds parameters.
PARAMETERS_ONLY = (
    EXACT.replace("model=model.state_dict()", "model=dict(model.named_parameters())")
    .replace('model.load_state_dict(state["model"])', 'model.load_state_dict(state["model"], strict=False)')
    .replace('"--resume", default=None', '"--restart", action="store_true"')
    .replace("if args.resume:", "if args.restart:")
    .replace("torch.load(args.resume,", 'torch.load(sorted(glob.glob("ckpt/*.pt"))[-1],')
)

AT_THE_END = (
    _MODEL
    + """
seed(0)
model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(data(), batch_size=12):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""
)

NEVER = AT_THE_END.replace('torch.save(model.state_dict(), "model.pt")', "")

NO_RESUME = AT_THE_END.replace('torch.save(model.state_dict(), "model.pt")', "").replace(
    "    optimizer.step()\n", '    optimizer.step()\n    torch.save(model.state_dict(), "model.pt")\n'
)

# The newest file is behind a link, as many write it.
LINKED = FORGETFUL.replace(
    'sorted(self.folder.glob("step_*.pt"))', '[p for p in [self.folder / "last.pt"] if p.exists()]'
).replace(
    """f"step_{step}.pt")
""",
    """f"step_{step}.pt")
                    (self.folder / "new.pt").symlink_to(f"step_{step}.pt")
                    os.replace(self.folder / "new.pt", self.folder / "last.pt")
""",
)

# A folder for each checkpoint, and an option that wants the folder.
FOLDERS = (
    EXACT.replace(
        'os.path.join(args.checkpoint_dir, f"epoch_{epoch}.pt")', 'folder_of(args, epoch) / "all.pt"'
    )
    .replace("torch.load(args.resume,", 'torch.load(Path(args.resume) / "all.pt",')
    .replace(
        "def main():",
        """def folder_of(args, epoch):
    folder = Path(args.checkpoint_dir) / f"checkpoint-{epoch}"
    folder.mkdir()
    return folder


def main():""",
    )
)
