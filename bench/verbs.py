"""How long each verb takes, and when it first says something: whole commands, as a person starts them.

    python bench/verbs.py [--verb fit,check] [--script TEXT] [--minutes 30] [--json bench/results/verbs.json]

The scripts are the demo, the examples of the documentation, the five systems of the casebook, the models of bench/fit_models
(for `fit`) and, with `--exam DIR`, every script of that folder. Each command runs alone, in a copy of its folder. `first` is
the time until something stands on stdout, `start_up` how long plain Python needs for the script's own imports, `left` how
many processes of the command were alive when it had ended: it must be 0. `cpu` is what all processes together used; others
on the machine change that less than `seconds`, and `load` says how many there were. Rows that are in the file already stay
there, unless they are measured again; so a long measurement can be made in pieces.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "verbs.json"
LIMIT = 600  # seconds for one command
MARK = "PREMORTEM_BENCH_VERBS"  # in the environment of a command and of all that it starts
TARGETS = {"fit": 60, "check": 30}  # seconds: each `fit`, the median of `check`
FIT_MODELS = (
    "hub_gpt2_fp32",
    "hub_llama_checkpointed_adafactor",
    "text_guided_diffusion_bf16",
    "unet3d_fp32",
    "vit_base_bf16_dropout",
    "translation_with_cells_adagrad",
    "densely_connected_fp32",
    "video_restoration_checkpointed_bf16",
)
# A model of bench/fit_models as a script that `fit` can be pointed at.
FIT_SCRIPT = """
import argparse, sys
sys.path.insert(0, {bench!r})
import fit_models
options = argparse.ArgumentParser()
options.add_argument("--batch-size", type=int, default={batch})
step = fit_models.ALL[{name!r}].build(options.parse_args().batch_size)
for _ in range(100):
    step()
"""


@dataclass
class Case:
    """A script, and the folder that it needs around it."""

    name: str
    folder: Path | None = None  # copied; None: `text` is all there is
    script: str = "train.py"
    text: str = ""
    words: dict[str, list[str]] = field(
        default_factory=dict
    )  # arguments of the script, by verb; "" is any other

    def arguments(self, verb: str) -> list[str]:
        return self.words.get(verb, self.words.get("", []))


def cases(exam: Path | None) -> list[Case]:
    examples = ROOT / "docs" / "examples"
    found = [
        Case("demo", ROOT / "src" / "premortem" / "demo" / "scripts", "finetune_fixed.py"),
        Case("example", examples / "plain", words={"fit": ["--device", "cuda"]}),
        Case("example of fit", examples / "fit", words={"fit": ["--device", "cuda"]}),
    ]
    for system in sorted(path.parent for path in (ROOT / "casebook").glob("*/quick.txt")):
        quick, drill = ((system / f"{name}.txt").read_text().split() for name in ("quick", "drill"))
        found.append(Case(f"casebook {system.name}", system, words={"": quick, "drill": drill, "fit": []}))
    if exam is not None:
        scripts = [
            path for path in sorted(exam.rglob("*.py")) if path.parent.name in {"buggy", "clean", "fixed"}
        ]
        found += [Case(f"exam {path.relative_to(exam)}", path.parent, path.name) for path in scripts]
    return found


def models() -> list[Case]:
    """Large models, for `fit` alone."""
    sys.path.insert(0, str(ROOT / "bench"))
    import fit_models

    known = fit_models.ALL
    folder = str(ROOT / "bench")
    return [
        Case(f"model {name}", text=FIT_SCRIPT.format(bench=folder, batch=known[name].batch, name=name))
        for name in FIT_MODELS
    ]


# --- one command ---------------------------------------------------------------------------------


@dataclass
class Took:
    seconds: float
    cpu: float
    first: float | None
    code: int
    left: int
    out: str


def timed(words: list[str], folder: Path, *, limit: float = LIMIT) -> Took:
    """One `premortem` command."""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    environment = {**os.environ, MARK: mark, "PYTHONDONTWRITEBYTECODE": "1"}
    began, spent = time.monotonic(), cpu_seconds()
    command = subprocess.Popen(
        [sys.executable, "-m", "premortem", *words],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if words[0] == "replay" else subprocess.DEVNULL,
    )
    assert command.stdout is not None
    first, read = None, b""
    os.set_blocking(command.stdout.fileno(), False)
    while command.poll() is None and time.monotonic() - began < limit:
        part = command.stdout.read() or b""
        read += part
        if read.strip() and first is None:
            first = time.monotonic() - began
        time.sleep(0.02)
    if command.poll() is None:
        command.terminate()
        command.wait()
    seconds = time.monotonic() - began
    read += command.stdout.read() or b""
    if read.strip() and first is None:
        first = seconds
    return Took(
        seconds,
        cpu_seconds() - spent,
        first,
        command.returncode,
        left_behind(mark),
        read.decode(errors="replace"),
    )


def cpu_seconds() -> float:
    """Of all processes that have ended below this one."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def left_behind(mark: str) -> int:
    """Processes that carry the mark of a command that has ended; they are ended here, and counted."""
    found = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found += 1
                os.kill(int(entry.name), 9)
        except OSError:
            continue
    return found


def start_up(script: Path, arguments: list[str]) -> float | None:
    """Seconds that plain Python needs for the imports at the top of the script, and nothing else."""
    import ast

    body = ast.parse(script.read_text(encoding="utf-8")).body
    lines = [ast.unparse(node) for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines) or "pass"],
        cwd=script.parent,
        capture_output=True,
        check=False,
    )
    return round(time.monotonic() - began, 2) if done.returncode == 0 else None


# --- the verbs -----------------------------------------------------------------------------------


def row(verb: str, case: Case) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="premortem-verbs-") as scratch:
        folder = Path(scratch).resolve() / "project"
        if case.folder is not None:
            shutil.copytree(case.folder, folder, ignore=shutil.ignore_patterns(".premortem", "__pycache__"))
            if case.folder.parent.name == "casebook":
                shutil.copytree(ROOT / "casebook" / "common", folder.parent / "common")
        else:
            folder.mkdir()
            (folder / case.script).write_text(case.text)
        target = [case.script, *case.arguments(verb)]
        took, more = MEASURES[verb](folder, target)
        return {
            "verb": verb,
            "script": case.name,
            "seconds": round(took.seconds, 1),
            "cpu": round(took.cpu, 1),
            "load": round(os.getloadavg()[0], 1),
            "first": round(took.first, 1) if took.first is not None else None,
            "start_up": start_up(folder / case.script, target[1:]),
            "exit_code": took.code,
            "left": took.left,
            **more,
        }


def _answer(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text()) if file.exists() else {}


def fit(folder: Path, target: list[str]) -> tuple[Took, dict[str, Any]]:
    file = folder.parent / "answer.json"
    took = timed(["fit", "--device", "h100", "--json", str(file), *target], folder)
    told = _answer(file)
    if not told:
        return took, {"said": took.out.strip()[-300:]}
    more = ("peak_allocated_bytes", "verdict", "batch", "largest_batch", "largest_batch_note", "largest_side")
    return took, {name: told.get(name) for name in more} | {
        "advice": len(told["advice"]),
        "notes": told["notes"],
    }


def check(folder: Path, target: list[str]) -> tuple[Took, dict[str, Any]]:
    file = folder.parent / "answer.json"
    took = timed(["check", "--json", str(file), *target], folder)
    told = _answer(file)
    loud = [f["code"] for p in told.get("parts", []) for f in p["findings"] if f["severity"] != "info"]
    return took, {"verdict": told.get("verdict"), "loud": loud, "spent": told.get("run", {}).get("spent")}


def drill(folder: Path, target: list[str]) -> tuple[Took, dict[str, Any]]:
    file = folder.parent / "answer.json"
    took = timed(["drill", "--json", str(file), *target], folder)
    told = _answer(file)
    return took, {name: told.get(name) for name in ("problem", "effective", "caught")}


def replay(folder: Path, target: list[str]) -> tuple[Took, dict[str, Any]]:
    """Of a run whose loss is NaN from the third step on, if the script has one."""
    subprocess.run(
        [sys.executable, "-m", "premortem", "run", "--quiet", *target],
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    file = folder.parent / "answer.json"
    took = timed(["replay", "--json", str(file)], folder)
    told = _answer(file)
    return took, {name: told.get(name) for name in ("reproduced", "launches", "trials")}


def report(folder: Path, target: list[str]) -> tuple[Took, dict[str, Any]]:
    subprocess.run(
        [sys.executable, "-m", "premortem", "run", "--quiet", *target],
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    return timed(["report"], folder), {}


MEASURES = {"fit": fit, "check": check, "drill": drill, "replay": replay, "report": report}


# --- all of them ---------------------------------------------------------------------------------


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    found = {}
    for verb in MEASURES:
        mine = [each for each in rows if each["verb"] == verb]
        if mine:
            seconds = [each["seconds"] for each in mine]
            first = [each["first"] for each in mine if each["first"] is not None]
            found[verb] = {
                "commands": len(mine),
                "median": round(statistics.median(seconds), 1),
                "longest": max(seconds),
                "cpu_median": round(statistics.median(each["cpu"] for each in mine), 1),
                "first_median": round(statistics.median(first), 1) if first else None,
                "first_longest": max(first, default=None),
                "processes_left": sum(each["left"] for each in mine),
            }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--verb", default=",".join(MEASURES))
    parser.add_argument("--script", default="", help="only scripts with this in their name")
    parser.add_argument("--exam", type=Path, help="a folder with scripts in buggy/, clean/ and fixed/")
    parser.add_argument("--minutes", type=float, default=30.0, help="begin no command after this")
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    kept = json.loads(options.json.read_text())["rows"] if options.json.exists() else []
    until = time.monotonic() + 60 * options.minutes
    for verb in options.verb.split(","):
        chosen = [*cases(options.exam), *(models() if verb == "fit" else ())]
        for case in chosen:
            if options.script not in case.name or time.monotonic() > until:
                continue
            new = row(verb, case)
            print(json.dumps(new), flush=True)
            kept = [each for each in kept if (each["verb"], each["script"]) != (verb, case.name)] + [new]
            record = {
                "machine": platform.machine(),
                "cores": os.cpu_count(),
                "python": platform.python_version(),
                "summary": summary(kept),
                "rows": kept,
            }
            options.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
