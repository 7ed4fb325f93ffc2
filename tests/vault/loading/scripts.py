"""Scripts that load what an earlier one saved. They know nothing of premortem."""

from tests.vault.writing.scripts import TRAIN

SAVES = (
    TRAIN
    + """
for number in range(3):
    epoch()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": number}, "last.pt")
"""
)

RESUMES = (
    TRAIN
    + """
state = torch.load("last.pt")
model.load_state_dict(state["model"]); optimizer.load_state_dict(state["optimizer"])
for number in range(state["epoch"] + 1, state["epoch"] + 3):
    epoch()
print("done", number)
"""
)

GIVES_UP = (
    TRAIN
    + """
try:
    model.load_state_dict(torch.load("last.pt")["model"])
except Exception:
    pass
epoch()
"""
)

# One way to load each; all of them give what the file holds. The last is not followed by any step.
WAYS = {
    "path": "state = torch.load(pathlib.Path('path.pt'))",
    "keyword": "state = torch.load(f='keyword.pt', map_location='cpu')",
    "mapped": "state = torch.load('mapped.pt', mmap=True)",
    "file": "with open('file.pt', 'rb') as file: state = torch.load(file)",
    "thread": (
        "import threading; got = []\n"
        "worker = threading.Thread(target=lambda: got.append(torch.load('thread.pt')))\n"
        "worker.start(); worker.join(); state = got[0]"
    ),
    "fsspec": "import fsspec\nwith fsspec.filesystem('file').open('fsspec.pt', 'rb') as f: state = torch.load(f)",
    "last": "epoch()\nstate = torch.load('last.pt')",
}

LOADS = TRAIN + "".join(f"{way}\nprint(state['epoch'])\n" for way in WAYS.values())

# Nothing is known of these; they must go on as if nobody was there.
UNTOLD = (
    TRAIN
    + """
import gzip, io
from safetensors.torch import load_file, save_file
raw = open("last.pt", "rb").read()
print("memory", torch.load(io.BytesIO(raw))["epoch"])
print("behind", end=" ")
with open("behind.bin", "wb") as file:
    file.write(b"x" * 64 + raw)
with open("behind.bin", "rb") as file:
    file.seek(64)
    print(torch.load(file)["epoch"])
with gzip.open("packed.gz", "wb") as file:
    file.write(raw)
with gzip.open("packed.gz") as file:
    print("packed", torch.load(file)["epoch"])
torch.save({"w": torch.arange(4.0)}, "old.pt", _use_new_zipfile_serialization=False)
print("old", torch.load("old.pt")["w"].tolist())
torch.serialization.set_crc32_options(False)
torch.save({"w": torch.arange(1000.0)}, "bare.pt")
print("bare", torch.load("bare.pt")["w"].sum().item())
save_file({"w": torch.arange(4.0)}, "a.safetensors")
print("tensors", load_file(filename="a.safetensors")["w"].tolist(), load_file("a.safetensors", "cpu")["w"].sum().item())
for name, wrong in (("nothing.pt", FileNotFoundError), ("text.pt", Exception), ("http://localhost:9/x.pt", Exception)):
    pathlib.Path("text.pt").write_text("this is no checkpoint")
    try:
        torch.load(name)
    except wrong as error:
        print(name, type(error).__name__)
with open("rewritten.pt", "wb") as file:
    torch.save({"w": torch.ones(300000)}, file)
for number in range(20):
    torch.load("rewritten.pt")
    with open("rewritten.pt", "wb") as file:
        torch.save({"w": torch.full((300000,), float(number))}, file)
print("rewritten")
epoch()
"""
)

BARE = (
    TRAIN
    + """
from safetensors.torch import save_file
import torch.distributed.checkpoint as dcp
for number in range(2):
    epoch()
    save_file(model.state_dict(), "a.tmp"); os.replace("a.tmp", "a.safetensors")
    torch.save(model.state_dict(), "old.pt", _use_new_zipfile_serialization=False)
    dcp.save({"model": model.state_dict()}, checkpoint_id="d")
torch.serialization.set_crc32_options(False)
torch.save(model.state_dict(), "bare.pt")
"""
)

LOADS_BARE = (
    TRAIN
    + """
from safetensors.torch import load_file
import torch.distributed.checkpoint as dcp
load_file("a.safetensors")
torch.load("old.pt")
torch.load("bare.pt")
state = {"model": {k: torch.zeros_like(v) for k, v in model.state_dict().items()}}
dcp.load(state, checkpoint_id="d")
epoch()
"""
)

# What Lightning's `_atomic_save` does: serialise into memory, then write through fsspec in one move.
LIGHTNING = """
import io, fsspec, torch
from fsspec.core import url_to_fs


def _atomic_save(checkpoint, filepath):
    buffer = io.BytesIO()
    torch.save(checkpoint, buffer)
    fs, path = url_to_fs(str(filepath))
    with fs.transaction, fs.open(path, "wb") as file:
        file.write(buffer.getvalue())


def _load(path):
    fs, path = url_to_fs(str(path))
    with fs.open(path, "rb") as file:
        return torch.load(file, map_location="cpu", weights_only=True)
"""

# What the savers of Lightning and of Hugging Face's Trainer do, step by step, and how they read it again.
TRAINERS = (
    TRAIN
    + """
import safetensors.torch
from lightning.fabric.utilities import cloud_io
for number in range(2):
    epoch()
    cloud_io._atomic_save({"state_dict": model.state_dict(), "epoch": number}, "last.ckpt")
    folder = f"checkpoint-{number}"
    os.makedirs(folder, exist_ok=True)
    safetensors.torch.save_file(model.state_dict(), os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    torch.save(optimizer.state_dict(), os.path.join(folder, "optimizer.pt"))
"""
)

TRAINERS_RESUME = (
    TRAIN
    + """
import safetensors.torch
from lightning.fabric.utilities import cloud_io
print(cloud_io._load("last.ckpt")["epoch"])
model.load_state_dict(safetensors.torch.load_file("checkpoint-1/model.safetensors", device="cpu"))
optimizer.load_state_dict(torch.load("checkpoint-1/optimizer.pt", map_location="cpu", weights_only=True))
epoch()
"""
)
