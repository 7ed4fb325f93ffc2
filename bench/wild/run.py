"""The exam of strangers: public scripts run bare and watched, as they are and with mistakes planted in them.

    python bench/wild/run.py --half open [--mirror FOLDER] [--mistakes 2] [--minutes 60] [--out FILE.json]

`--half closed` is for the end: numbers for a page come from there, and nothing is tuned to it. Scripts are run one at a time, in
a scratch folder that is removed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

from checkout import checked_out, is_closed
from made_data import MAKERS
from mistakes import MISTAKES, Mistake, planted

HERE = Path(__file__).resolve().parent
LIMIT = 120  # seconds for one run
ALONE = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "PYTHONHASHSEED": "0"}
# Every run draws the same random numbers, where the script does not seed by itself.
SEEDED = "import random, numpy, torch; random.seed(0); numpy.random.seed(0); torch.manual_seed(0)\n"


def scripts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = loads((HERE / "scripts.toml").read_text())["script"]
    return found


def prepared(script: dict[str, Any], whole: Path, scratch: Path, mistake: Mistake | None, seed: int) -> str:
    """A copy with its data, shrunk and seeded; the text that is run, or "" where the mistake does not apply."""
    shutil.copytree(whole, scratch, dirs_exist_ok=True)
    for maker, place in script.get("data", ()):
        MAKERS[maker](scratch / place)
    file = scratch / script["file"]
    text = file.read_text()
    for old, new in script.get("edits", ()):
        assert old in text, (script["name"], old)
        text = text.replace(old, new)
    if mistake is not None:
        choose = random.Random(f"{script['name']} {mistake.name} {seed}").randrange
        text = planted(text, mistake, choose)
        if not text:
            return ""
    place = max((n.end_lineno for n in ast.parse(text).body if _future(n)), default=0)
    lines = text.splitlines(keepends=True)
    text = "".join([*lines[:place], SEEDED, *lines[place:]])
    file.write_text(text)
    return text


def _future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def run(script: dict[str, Any], scratch: Path, watched: bool) -> dict[str, Any]:
    file = scratch / script["file"]
    findings = scratch / ".findings.json"
    command = [sys.executable, file.name, *script.get("args", ())]
    if watched:
        ours = ["-m", "premortem", "run", "--quiet", "--policy", "observe", "--findings", str(findings)]
        command[1:2] = [*ours, file.name]
    environment = {**os.environ, **ALONE, "PYTHONPATH": str(scratch)}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    try:
        done = subprocess.run(
            command,
            cwd=file.parent,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        code, output, error = done.returncode, done.stdout, done.stderr[-400:]
    except subprocess.TimeoutExpired:
        code, output, error = "timeout", "", ""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = json.loads(findings.read_text())["findings"] if findings.exists() else []
    loud = [finding for finding in told if finding["severity"] != "info"]
    return {
        "exit": code,
        "output": hashlib.sha256(_steady(output).encode()).hexdigest()[:12],
        "cpu": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
        "seconds": round(time.time() - began, 1),
        "error": error if code != 0 else "",
        "findings": [[f["code"], f["family"], f["severity"], f["step"], f["certainty"], f["message"][:140]] for f in loud],
    }  # fmt: skip


def _steady(output: str) -> str:
    """Without lines that say how long something took, which differ in any two runs."""
    timed = ("time", "ms", "sec", "s/it", "it/s", "elapsed", "tok")
    return "\n".join(line for line in output.splitlines() if not any(word in line.lower() for word in timed))


def examined(script: dict[str, Any], whole: Path, count: int, seed: int) -> dict[str, Any]:
    row: dict[str, Any] = {"name": script["name"], "repo": script["repo"], "planted": []}
    with tempfile.TemporaryDirectory() as folder:
        prepared(script, whole, Path(folder, "a"), None, seed)
        row["bare"] = run(script, Path(folder, "a"), watched=False)
    if row["bare"]["exit"] != 0:
        return row
    with tempfile.TemporaryDirectory() as folder:
        prepared(script, whole, Path(folder, "a"), None, seed)
        row["watched"] = run(script, Path(folder, "a"), watched=True)
    order = random.Random(f"{script['name']} {seed}").sample(MISTAKES, len(MISTAKES))
    for mistake in order:
        if len(row["planted"]) >= count:
            break
        with tempfile.TemporaryDirectory() as folder:
            if prepared(script, whole, Path(folder, "a"), mistake, seed):
                result = run(script, Path(folder, "a"), watched=True)
                row["planted"].append({"mistake": mistake.name, **judged(mistake, result), **result})
    return row


def judged(mistake: Mistake, result: dict[str, Any]) -> dict[str, Any]:
    loud = sorted(result["findings"], key=lambda one: one[2] != "error")
    right = [finding for finding in loud if finding[1] in mistake.families]
    first = bool(loud) and loud[0][1] in mistake.families
    return {"found": bool(right), "first": first, "step": right[0][3] if right else None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("open", "closed"), required=True)
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir(), "premortem-wild"))
    parser.add_argument("--mistakes", type=int, default=2, help="planted in each script")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    began = time.time()
    rows = []
    chosen = [
        s
        for s in scripts()
        if is_closed(s["repo"]) == (options.half == "closed") and options.only in s["name"]
    ]
    # One of each repository first, so that a run that is cut short has seen as many as it could.
    met: dict[str, int] = {}
    turns = [(met.update({s["repo"]: met.get(s["repo"], 0) + 1}), met[s["repo"]])[1] for s in chosen]
    for _turn, script in sorted(zip(turns, chosen, strict=True), key=lambda pair: pair[0]):
        if time.time() - began > 60 * options.minutes:
            break
        whole = checked_out(script["repo"], script["commit"], options.cache, options.mirror)
        row = examined(script, whole, options.mistakes, options.seed)
        rows.append(row)
        told = [(p["mistake"], p["first"]) for p in row["planted"]]
        print(row["name"], row["bare"]["exit"], row.get("watched", {}).get("findings"), told, flush=True)
        options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
