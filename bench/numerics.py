"""How much of a planted set of numerics faults is detected, located and replayed.

    python bench/numerics.py [--jobs 2] [--only TEXT] [--quick] [--json FILE]

Each script of tests/numerics/faults is run with `premortem run`; when that leaves a capsule, `premortem replay` runs
the failed step again. Detected: said at most two steps after the first non-finite value was born. Op, line: named by
the run itself or by the replay, and right by the manifest, which was made with torch's own means. Bitwise: the replay
gives the very loss of the run. `--quick` leaves out the changes that a replay tries to remove the failure.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.numerics.grade import Grade  # noqa: E402 - from the checkout
from tests.numerics.manifest import entries, plain  # noqa: E402


def premortem(words: list[str], folder: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "premortem", *words]
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=600, check=False)


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def examine(entry: dict[str, Any], quick: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        run, findings, replay = Path(folder, "run"), Path(folder, "f.json"), Path(folder, "r.json")
        premortem(
            ["run", "--quiet", "--folder", str(run), "--findings", str(findings), entry["path"]], folder
        )
        capsules = sorted((run / "capsules").glob("step-*"), key=lambda path: int(path.name[5:]))
        if capsules:
            words = ["replay", *["--quick"] * quick, "--json", str(replay), str(capsules[0])]
            premortem(words, folder)
        said, again = read(findings).get("findings", []), read(replay)
    grade = Grade(entry, "", [f for f in said if f["severity"] in ("error", "warning")])
    certificate = again.get("certificate") or {}
    data = entry["stage"] == "data"
    lines = {entry["line"], *entry.get("also_lines", ())}
    ops = {plain(name) for name in entry["op"]}
    return {
        "file": entry["file"],
        "detected": grade.detected,
        "op": grade.op or data or plain(certificate.get("op", "")) in ops,
        "line": grade.line or entry["line"] is None or certificate.get("line") in lines,
        "capsule": bool(capsules),
        "reproduced": bool(again.get("reproduced")),
        "bitwise": bool(again.get("bitwise")),
        "smallest": (again.get("smallest") or {}).get("title"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    planted = [entry for entry in entries(options.only) if "stage" in entry]
    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(functools.partial(examine, quick=options.quick), planted):
            rows.append(row)
            print(row, flush=True)
    counts = {key: sum(row[key] for row in rows) for key in rows[0] if isinstance(rows[0][key], bool)}
    print({"faults": len(rows), **counts})
    if options.json:
        options.json.write_text(
            json.dumps({"faults": len(rows), "counts": counts, "rows": rows}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
