"""What the page on trust claims, tried out: scripts compared with plain Python, secrets planted, hostile files, kills.

    python bench/trust.py [--kills 40] [--json FILE]

Each part is a part of the tests, run as a whole in real processes: this program counts what was tried and what failed.
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
from xml.etree import ElementTree as ET

HOME = Path(__file__).parent.parent
PARTS = {
    "scripts and projects compared with plain Python": ["tests/transparent"],
    "secrets recognised, look-alikes left alone, and real runs searched for planted ones": [
        "tests/redaction"
    ],
    "hostile files, by each verb that reads them": ["tests/hostile/test_readers.py"],
    "kinds of files changed at random, 200 of each": ["tests/hostile/test_fuzz.py"],
    "foreign capsules, journals and keys": ["tests/test_trust.py", "tests/replay/test_permission.py"],
}


def tried(paths: list[str], folder: Path) -> dict[str, int]:
    """How many cases there were, and how many of them failed."""
    report = folder / "report.xml"
    marks = ["-m", "not exhaustive", "-n", "2", "--dist", "worksteal", "-q", f"--junitxml={report}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", "pytest", *marks, *paths],
        cwd=HOME,
        env=environment,
        check=False,
        capture_output=True,
    )
    [suite] = ET.parse(report).getroot().iter("testsuite")
    number = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    return {"tried": number["tests"] - number["skipped"], "failed": number["failures"] + number["errors"]}


def kills(number: int, folder: Path) -> dict[str, int]:
    """Runs that are killed while they save; what is left is judged by `ckpt verify`."""
    sys.path.insert(0, str(HOME))
    from tests.vault.writing.killed import Campaign

    campaign = Campaign(folder)
    try:
        wrong = [problem for _ in range(number) for problem in campaign.kill_one()]
    finally:
        campaign.close()
    return {"tried": number, "failed": len(wrong)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for what, paths in PARTS.items():
            found[what] = tried(paths, Path(scratch))
            print(what, found[what], flush=True)
        place = Path(scratch) / "kills"
        place.mkdir()
        found["runs killed while they save"] = kills(options.kills, place)
    record = {"machine": platform.machine(), "python": platform.python_version(), "parts": found}
    print(json.dumps(record, indent=1))
    if options.json is not None:
        options.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
