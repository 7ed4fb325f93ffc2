"""Scripts as strangers write them: they know nothing of premortem."""

TRAIN = """
import os, shutil, sys, time, pathlib
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = torch.randn(64, 8), torch.randint(0, 2, (64,))

def epoch(steps=5):
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

def poison():
    with torch.no_grad():
        model[0].weight[0, 0] = float("nan")

def finite(path):
    return torch.load(path)["0.weight"].isfinite().all().item()
"""

SAVES = (
    TRAIN
    + """
for number in range(4):
    epoch()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": number}, "last.pt")
    torch.save(model.state_dict(), pathlib.Path("out") / f"epoch{number}.pt")
print(sorted(os.listdir(".")), sorted(os.listdir("out")), os.path.getsize("last.pt"))
"""
)

POISONED = (
    TRAIN
    + """
epoch(); torch.save(model.state_dict(), "best.pt"); torch.save(model.state_dict(), "other.pt")
poison()
torch.save(model.state_dict(), "best.pt")
print("loaded right afterwards:", finite("best.pt"), os.path.exists("best.pt"))
torch.save(model.state_dict(), "first.pt")
print("the first of its name:", finite("first.pt"))
torch.save(model.state_dict(), "other.tmp"); os.replace("other.tmp", "other.pt")
print("after a rename:", finite("other.pt"), os.path.exists("other.tmp"))
shutil.copy("first.pt", "other.pt")
print("after a copy:", finite("other.pt"))
with open("best.pt", "rb") as file:
    print("through a file object:", finite(file))
os.remove("best.pt")
print("removed:", os.path.exists("best.pt"))
try:
    finite("best.pt")
except FileNotFoundError:
    print("and gone")
"""
)

STATISTICS = """
import torch
from torch import nn
torch.manual_seed(0)


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.full((4, 4), float("-inf")).triu(1))
        self.register_buffer("floor", torch.tensor([float("-inf"), 1.0]))
        self.register_buffer("unfilled", torch.full((3,), float("nan")))

    def forward(self, x):
        return x @ self.mask.softmax(1)


model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 4), Masked())
optimizer = torch.optim.SGD(model.parameters(), 0.05)
x, y = torch.randn(64, 8), torch.randint(0, 4, (64,))
for epoch in range(3):
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    if epoch == 2:
        with torch.no_grad():
            model(torch.full((4, 8), float("inf")))
    torch.save(model.state_dict(), "last.pt")
"""

MOVES = (
    TRAIN
    + """
for number in range(3):
    epoch()
    torch.save(model.state_dict(), "x.tmp")
    pathlib.Path("x.tmp").replace("x.pt")
    shutil.copy("x.pt", "best.pt")
    os.rename("best.pt", "final.pt")
print(sorted(p for p in os.listdir(".") if p.endswith(("pt", "tmp"))), finite("final.pt"))
"""
)

OTHERS = (
    TRAIN
    + """
import threading
from safetensors.torch import load_file, save_file, save_model
import torch.distributed.checkpoint as dcp

for number in range(2):
    epoch()
    save_file(model.state_dict(), "a.safetensors", metadata={"epoch": str(number)})
    save_model(model, "b.safetensors")
    pathlib.Path("d").mkdir(exist_ok=True); pathlib.Path("d", "config.txt").write_text("mine")
    dcp.save({"model": model.state_dict()}, checkpoint_id="d")
    worker = threading.Thread(target=torch.save, args=(model.state_dict(), "thread.pt"))
    worker.start(); worker.join()
    with open("handle.pt", "wb") as file:
        torch.save(model.state_dict(), file)
poison()
save_file(model.state_dict(), "a.safetensors")
print(load_file("a.safetensors")["0.weight"].isfinite().all().item())
state = {"model": {k: torch.zeros_like(v) for k, v in model.state_dict().items()}}
dcp.load(state, checkpoint_id="d")
print(state["model"]["2.weight"].abs().sum().item() > 0, pathlib.Path("d", "config.txt").read_text())
"""
)

FOREVER = (
    TRAIN
    + """
number = 0
while True:
    epoch(1)
    number += 1
    torch.save({"model": model.state_dict(), "pad": torch.full((1 << 20,), float(number))}, "last.pt")
    if number == 1:
        print("ready", flush=True)
"""
)

TRAINS = (
    TRAIN
    + """
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1000)
while True:
    epoch(1)
    scheduler.step()
    if scheduler.last_epoch == 5:
        print("ready", flush=True)
"""
)

EVALUATES = (
    TRAIN
    + """
epoch(20)
while True:
    with torch.no_grad():
        model(x)
    time.sleep(0.01)
"""
)

WORKERS = """
import torch
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = TensorDataset(torch.randn(512, 4), torch.randint(0, 2, (512,)))
n = 0
while True:
    for x, y in DataLoader(data, batch_size=8, num_workers=2):
        optimizer.zero_grad(); torch.nn.functional.cross_entropy(model(x), y).backward(); optimizer.step()
        n += 1
        if n == 5:
            print("ready", flush=True)
"""
