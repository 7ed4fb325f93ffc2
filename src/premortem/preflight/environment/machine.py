"""The GPUs, their driver and the memory of this machine, without loading torch in this process."""

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from premortem.files.machine import answer_of
from premortem.preflight.environment.machine_facts import Booking, Gpu, Torch
from premortem.vault.deadline import on_colab, on_kaggle

PROC = Path("/proc/driver/nvidia")
_SMI_PATIENCE = 15.0  # seconds; the first call wakes a sleeping driver
_TORCH_PATIENCE = 120.0  # seconds; importing torch from a network disk is slow
_VERSION = re.compile(r"\b(\d{3}\.\d+(?:\.\d+)?)\b")
_ASSIGNED = re.compile(r"^(__version__|cuda|hip)\b[^=\n]*=\s*(None|'[^']*'|\"[^\"]*\")", re.MULTILINE)
# Without the project's folder: a `json.py` of its own must not be run.
_ASK_TORCH = """
import sys
if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]
import json, warnings
warnings.simplefilter("ignore")
try:
    import torch
    flags = getattr(torch._C, "_cuda_getArchFlags", lambda: None)() or ""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    answer = {"sees": torch.cuda.is_available(), "flags": flags.split()}
    answer["capabilities"] = [list(torch.cuda.get_device_capability(n)) for n in range(count)]
except Exception as error:
    answer = {"problem": f"{type(error).__name__}: {error}"}
print(json.dumps(answer))
"""


def gpus() -> tuple[list[Gpu], str | None]:
    """NVIDIA's, as the driver lists them, and the version of the driver."""
    tool = shutil.which("nvidia-smi")
    if tool is not None:
        query = [
            tool,
            "--query-gpu=name,compute_cap,memory.total,driver_version",
            "--format=csv,noheader,nounits",
        ]
        if rows := _lines(query):
            found = [row.split(", ") for row in rows]
            if all(len(row) == 4 for row in found):
                return [_gpu(row) for row in found], found[0][3]
    try:
        driver = _VERSION.search((PROC / "version").read_text(encoding="utf-8", errors="replace"))
        cards = [_model(file) for file in sorted(PROC.glob("gpus/*/information"))]
    except OSError:
        return [], None
    return [Gpu(name=name) for name in cards], driver[1] if driver else None


def _gpu(row: list[str]) -> Gpu:
    major, _, minor = row[1].partition(".")
    capability = (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None
    return Gpu(name=row[0], capability=capability, memory=int(row[2]) << 20 if row[2].isdigit() else None)


def _model(file: Path) -> str:
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        label, _, name = line.partition(":")
        if label.strip() == "Model":
            return name.strip()
    return "NVIDIA GPU"


def _lines(command: list[str]) -> list[str]:
    said = answer_of(command, _SMI_PATIENCE, well=True)
    return [line.strip() for line in said.splitlines() if line.strip()]


def visible(found: list[Gpu], environ: Mapping[str, str] = os.environ) -> list[Gpu]:
    """Those that CUDA_VISIBLE_DEVICES leaves to a script."""
    asked = environ.get("CUDA_VISIBLE_DEVICES")
    if asked is None:
        return found
    chosen: list[Gpu] = []
    for word in filter(None, map(str.strip, asked.split(","))):
        place = int(word) if word.isdigit() else 0  # `GPU-5f3a…` names one that is not looked up
        if word == "-1" or place >= len(found):
            break  # CUDA ignores what follows a wrong number
        chosen.append(found[place])
    return chosen


def booking(seen: list[Gpu], environ: Mapping[str, str] = os.environ) -> Booking | None:
    if not seen and environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in {"", "-1"}:
        return None  # hidden on purpose
    # The scheduler knows, also where nothing lists the devices: another maker's, or a container without the tool.
    for name in ("SLURM_GPUS_ON_NODE", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS"):
        text = environ.get(name, "")
        if text:
            count = int(text) if name == "SLURM_GPUS_ON_NODE" and text.isdigit() else text.count(",") + 1
            return Booking(devices=count, said_by="SLURM")
    if not seen:
        return None
    if environ.get("CUDA_VISIBLE_DEVICES"):
        return Booking(devices=len(seen), said_by="CUDA_VISIBLE_DEVICES")
    session = "Kaggle" if on_kaggle(environ) else "Colab" if on_colab(environ) else ""
    return Booking(devices=len(seen), said_by=session)


def torch_at(folder: str) -> Torch | None:
    """From the files of an installed torch; nothing is imported."""
    try:
        text = (Path(folder) / "version.py").read_text(encoding="utf-8")
    except OSError:
        return None
    said: dict[str, Any] = {
        name: None if value == "None" else value[1:-1] for name, value in _ASSIGNED.findall(text)
    }
    version = said.get("__version__")
    return Torch(version=version, cuda=said.get("cuda"), rocm=said.get("hip")) if version else None


def asked(torch: Torch, folder: Path) -> tuple[Torch, list[tuple[int, int]]]:
    """What torch itself says where there is a GPU, in a process of its own; and the GPUs' capabilities."""
    try:
        said = answer_of([sys.executable, "-c", _ASK_TORCH], _TORCH_PATIENCE, folder)
        answer = json.loads(said.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return torch, []
    found = Torch(
        version=torch.version,
        cuda=torch.cuda,
        rocm=torch.rocm,
        architectures=tuple(answer.get("flags", ())),
        sees_gpu=answer.get("sees"),
        problem=answer.get("problem", ""),
    )
    return found, [(major, minor) for major, minor in answer.get("capabilities", ())]
