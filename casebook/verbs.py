"""How the casebook asks premortem about one case: each verb in a real process, what it said as plain rows."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.faults import stage, story

LIMIT = 1800  # seconds; only a run that hangs takes that long
STOPPED = 3  # premortem's exit code for a run that it has ended
AGAIN = 3  # times that a run is begun without more and more samples; who needs more has another fault


@dataclass
class Answer:
    """What premortem said about one case, faulty or healthy."""

    findings: list[dict[str, Any]] = field(
        default_factory=list
    )  # errors and warnings, in the order they were said
    exit_code: int = 0
    steps: int | None = None
    first_after: float | None = None  # seconds from the start to the first finding
    result: dict[str, Any] = field(default_factory=dict)  # what the script wrote at its end
    proof: str = ""  # what a verb that comes afterwards has shown
    recovered: bool | None = None  # likewise
    rescue: dict[str, Any] = field(default_factory=dict)  # the run again, without the samples it had named
    cpu_seconds: float = 0.0
    output: str = ""
    journal: Path = Path()


@dataclass
class Question:
    """One case with one fault (or none), and where its files go."""

    case: Path
    fault: str | None
    out: Path
    arguments: list[str]

    @property
    def machine(self) -> dict[str, str]:
        """What the story's machine says of itself, as environment variables."""
        told = story(self.case, self.fault).get("environment", {}) if self.fault else {}
        project = str(self.out / "output" / "project")
        return {
            name: text.replace("{project}", project).replace("{PATH}", os.environ["PATH"])
            for name, text in told.items()
        }

    @property
    def command(self) -> list[str]:
        """What `train.py --fault ID` would run, made here, so that a replay meets the same files again."""
        train, more = self.case / "train.py", []
        if self.fault:
            train = stage(self.case, self.fault, self.out / "output")
            more = story(self.case, self.fault).get("arguments", [])
        return [str(train), *more, "--out", str(self.out / "output"), *self.arguments]


def premortem(words: list[str], out: Path, machine: dict[str, str] | None = None) -> tuple[int, str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(machine or {})}
    command = [sys.executable, "-m", "premortem", *words]
    done = subprocess.run(
        command,
        cwd=out,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    return done.returncode, done.stdout


def ask(verb: str, question: Question) -> Answer:
    """Put the question; CPU seconds are those of all processes that it took."""
    question.out.mkdir(parents=True, exist_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = VERBS[verb](question)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer.cpu_seconds = after.ru_utime - before.ru_utime
    return answer


def run(question: Question, verb: str = "run") -> Answer:
    answer = _watched(question, verb, ["--folder", str(question.out / "journal")] if verb == "run" else [])
    if verb == "run" and question.fault:
        answer.rescue = _rescued(question, answer)
    return answer


def _rescued(question: Question, answer: Answer) -> dict[str, Any]:
    """What becomes of the run where premortem has named broken samples: begun again without them, as its summary proposes."""
    named, rescue = answer.journal / "quarantine.json", {}
    for again in range(1, AGAIN + 1):
        if not named.exists():
            break
        left_out = len(json.loads(named.read_text())["samples"])
        words = [f"--quarantine={named}", "--folder", str(question.out / f"again-{again}")]
        later = _watched(question, "run", words)
        rescue = {"left_out": left_out, "exit_code": later.exit_code, "quality": later.result.get("quality")}
        if later.exit_code != STOPPED:  # it came to its end
            break
        named = later.journal / "quarantine.json"
    return rescue


def _watched(question: Question, verb: str, options: list[str]) -> Answer:
    out = question.out
    findings = out / "findings.json"
    findings.unlink(missing_ok=True)
    (out / "output" / "result.json").unlink(missing_ok=True)
    words = [verb, *options, "--findings", str(findings), *question.command]
    code, said = premortem(words, out, question.machine)
    if not findings.exists():
        raise SystemExit(f"premortem {verb} wrote no findings:\n{said}")
    told = json.loads(findings.read_text())
    result = out / "output" / "result.json"
    journal = Path(told["run"].get("folder") or out / "journal")
    return Answer(
        findings=[f for f in told["findings"] if f["severity"] in ("error", "warning")],
        exit_code=code,
        steps=told["run"].get("steps"),
        first_after=_first_after(journal),
        result=json.loads(result.read_text()) if result.exists() else {},
        output=said,
        journal=journal,
    )


def check(question: Question) -> Answer:
    return run(question, "check")


def lint(question: Question) -> Answer:
    """The patched copy is read, or the case itself; nothing runs."""
    folder = stage(question.case, question.fault, question.out).parent if question.fault else question.case
    code, said = premortem(["lint", "--no-cache", "--format", "json", str(folder)], question.out)
    found = sorted(json.loads(said), key=lambda f: f["severity"] != "error")
    return Answer(
        findings=[{**f, "step": None} for f in found if f["severity"] in ("error", "warning")],
        exit_code=code,
        output=said,
    )


def replay(question: Question) -> Answer:
    """The run leaves a capsule of its bad step, and that step is run again until its cause is proved."""
    answer = run(question)
    capsules = sorted(answer.journal.glob("capsules/step-*"), key=lambda path: int(path.name[5:]))
    if not capsules:
        answer.findings = []
        return answer
    page = question.out / "replay.json"
    premortem(["replay", "--json", str(page), str(capsules[0])], question.out)
    told = json.loads(page.read_text())
    certificate = told.get("certificate") or {}
    smallest = (told.get("smallest") or {}).get("title", "")
    if certificate.get("op") and told.get("reproduced"):
        place = f"{Path(certificate.get('file') or '').name}:{certificate.get('line')}"
        answer.proof = f"`{certificate['op']}` at {place}" + (f"; gone {smallest}" if smallest else "")
    else:
        answer.findings = []
    return answer


def ckpt(question: Question) -> Answer:
    """The run is over; its newest checkpoint is torn in two. Is that seen, and is a whole one still there?"""
    answer = run(question)
    target = question.out / "output" / story(question.case, question.fault or "")["file"]
    torn = target.read_bytes()[: target.stat().st_size // 2]
    target.unlink()  # kept versions are links to the old bytes
    target.write_bytes(torn)
    code, said = premortem(["ckpt", "verify", str(target)], question.out)
    answer.output += said
    if code == 1:
        answer.findings.append({"code": "ckpt verify", "name": "torn", "family": "persistence", "step": None})
    words = ["ckpt", "restore", str(answer.journal), "--file", target.name, "--to", str(target), "--force"]
    code, said = premortem(words, question.out)
    whole, again = premortem(["ckpt", "verify", str(target)], question.out)
    answer.output += said + again
    answer.recovered = code == 0 and whole == 0
    return answer


def fit(question: Question) -> Answer:
    """Does the step fit on the story's card, and is the operation that it names the one to blame?"""
    tale = story(question.case, question.fault or "")
    page = question.out / "fit.json"
    words = [
        "fit",
        "--quick",
        "--seconds",
        "120",
        "--device",
        tale["device"],
        "--json",
        str(page),
        *question.command,
    ]
    code, said = premortem(words, question.out)
    answer = Answer(exit_code=code, output=said)
    if not page.exists():
        return answer
    told = json.loads(page.read_text())
    first = told["top"][0]
    place = f"{Path(first['file'] or '').name}:{first['line']}"
    peak = told["peak_reserved_bytes"] / 2**30
    answer.proof = f"{peak:.1f} GiB on {tale['device']}; most by `{first['op']}` at {place}, {first['bytes'] / 2**30:.2f} GiB"
    if told["verdict"] == tale["verdict"] and place.startswith(tale["file"]):
        name = f"verdict {told['verdict']}"
        answer.findings.append({"code": "fit", "name": name, "family": "memory-fit", "step": None})
    return answer


CELLS = """
import json, subprocess, sys
sys.path.insert(0, sys.argv[1])
from model import CMFDNet
subprocess.run(["git", "-C", sys.argv[1], "pull", "--quiet"], check=True)
import premortem
found = premortem.check_modules(sys.argv[1])
rows = [{"code": f.code, "name": f.name, "family": f.family, "step": None, "message": f.message} for f in found]
print(json.dumps(rows))
"""


def notebook(question: Question) -> Answer:
    """The cells of a notebook: the import, `git pull`, and the question whether memory and disk are the same."""
    project = Path(question.command[0]).parent
    words = [sys.executable, "-c", CELLS, str(project)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
    rows = done.stdout.strip().splitlines()[-1:] if done.returncode == 0 else []
    return Answer(
        findings=json.loads(rows[0]) if rows else [],
        exit_code=done.returncode,
        output=done.stdout + done.stderr,
    )


VERBS = {
    "fit": fit,
    "notebook": notebook,
    "run": run,
    "check": check,
    "lint": lint,
    "replay": replay,
    "ckpt": ckpt,
}


def _first_after(journal: Path) -> float | None:
    path = journal / "journal.sqlite"
    if not path.exists():
        return None
    with closing(sqlite3.connect(path)) as rows:
        record = "SELECT MIN(time) FROM findings WHERE json_extract(record, '$.severity') != 'info'"
        (first,) = rows.execute(record).fetchone()
        (start,) = rows.execute("SELECT MIN(time) FROM events").fetchone()
    return round(first - start, 1) if first is not None and start is not None else None
