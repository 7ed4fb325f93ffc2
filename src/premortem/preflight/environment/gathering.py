"""Gathers the facts of the environment and lets the checks judge them."""

import dataclasses
import platform
from pathlib import Path
from typing import Any

from premortem.amounts import free, short, size
from premortem.preflight import reading
from premortem.preflight.environment import caching, copies, devices, machine, outputs
from premortem.preflight.environment.machine_facts import Facts
from premortem.preflight.project import Project, Tell
from premortem.preflight.reading import Reading


def gather(project: Project, tell: Tell) -> tuple[Facts, Reading]:
    tell("reading the script")
    read = project.reading
    known, values = project.options, project.values
    facts = Facts(use=devices.use(read), memory=free())
    tell("asking the machine")
    present, facts.driver = machine.gpus()
    facts.gpus = machine.visible(present)
    facts.hidden = bool(present) and not facts.gpus
    facts.booking = machine.booking(facts.gpus)
    _torch(facts, read, tell)
    tell("looking at folders")
    facts.outputs = outputs.outputs(read, known, values)
    facts.savings = outputs.savings(read, values)
    facts.caching = caching.caching(read, known, values, project.data, facts.memory)
    if read.entry is not None:
        facts.copies = copies.copies(read)
        facts.clones = copies.clones(read)
    return facts, read


def _torch(facts: Facts, read: Reading, tell: Tell) -> None:
    found = read.found.get("torch") or reading.ask(read.start, read.folder, ["torch"]).get("torch")
    if found is None or not found.folders or read.inside(found.place):
        return
    facts.torch = machine.torch_at(found.folders[0])
    if facts.torch is not None and facts.torch.cuda and facts.gpus:
        tell("asking torch about the GPU")
        facts.torch, capabilities = machine.asked(facts.torch, read.folder)
        for place, capability in enumerate(capabilities[: len(facts.gpus)]):
            facts.gpus[place] = dataclasses.replace(facts.gpus[place], capability=capability)


def lines(facts: Facts, read: Reading) -> list[tuple[str, str]]:
    """What the page shows."""
    found = [("python", f"{platform.python_version()}, {_torch_line(facts)}"), ("GPUs", _gpu_line(facts))]
    if facts.memory is not None:
        found.append(("memory", f"{size(facts.memory)} available"))
    for output in facts.outputs[:3]:
        room = f"{size(output.free)} free" if output.free is not None else "free space unknown"
        found.append(("saves to", f"{_folder(output.path)}, {room}"))
    if read.sources:
        count = len(read.sources)
        found.append(("code", f"{count} file{'' if count == 1 else 's'} of this project"))
    return found


def record(facts: Facts) -> dict[str, Any]:
    return dataclasses.asdict(facts)


def _torch_line(facts: Facts) -> str:
    torch = facts.torch
    if torch is None:
        return "no torch is found"
    build = f"CUDA {torch.cuda}" if torch.cuda else f"ROCm {torch.rocm}" if torch.rocm else "the CPU only"
    return f"torch {torch.version} for {build}"


def _gpu_line(facts: Facts) -> str:
    if facts.hidden:
        return "hidden by CUDA_VISIBLE_DEVICES"
    if not facts.gpus:
        return "none"
    names: dict[str, int] = {}
    for gpu in facts.gpus:
        names[gpu.name] = names.get(gpu.name, 0) + 1
    shown = ", ".join(f"{count} x {name}" for name, count in names.items())
    driver = f", driver {facts.driver}" if facts.driver else ""
    return f"{shown}{driver}{'; the script uses one' if facts.use.devices == 1 else ''}"


def _folder(path: Path) -> str:
    near = short(path)
    return "this folder" if near == "." else near
