"""Both halves of the exam as one result and one page: `python bench/wild/summary.py OPEN.json CLOSED.json`.

What is right in a healthy script is a person's verdict: `verdicts.toml` has it for each alarm, with the reason.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections import defaultdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

# Of our own twins, in per cent: `tests/test_twins.py` fails where one is not named first, so there is nothing to measure.
HELD = 100.0
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def summed(rows: list[dict[str, Any]], verdicts: dict[str, dict[str, str]]) -> dict[str, Any]:
    ran = [row for row in rows if "watched" in row]
    planted = [one for row in ran for one in row["planted"]]
    alarms = [(row["name"], finding) for row in ran for finding in row["watched"]["findings"]]
    kinds: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in planted:
        kinds[one["mistake"]].append(one)
    steps = [one["step"] for one in planted if one["step"] is not None]
    return {
        "scripts": len(rows),
        "ran": len(ran),
        "repositories": len({row["repo"] for row in ran}),
        "same_exit": sum(row["watched"]["exit"] == row["bare"]["exit"] for row in ran),
        "same_output": sum(row["watched"]["output"] == row["bare"]["output"] for row in ran),
        "other_output": [row["name"] for row in ran if row["watched"]["output"] != row["bare"]["output"]],
        "cpu_ratio": round(statistics.median(row["watched"]["cpu"] / row["bare"]["cpu"] for row in ran), 2)
        if ran
        else None,
        "alarms": [
            [
                name,
                finding[0],
                finding[2],
                *verdicts.get(f"{name} {finding[0]}", {"verdict": "open"}).values(),
            ]
            for name, finding in alarms
        ],
        "planted": len(planted),
        "found": sum(one["found"] for one in planted),
        "first": sum(one["first"] for one in planted),
        "median_step": statistics.median(steps) if steps else None,
        "kinds": {
            kind: [len(some), sum(o["found"] for o in some), sum(o["first"] for o in some)]
            for kind, some in sorted(kinds.items())
        },
        "did_not_run": [
            [row["name"], (row["bare"]["error"].strip().splitlines() or [str(row["bare"]["exit"])])[-1][:160]]
            for row in rows
            if "watched" not in row
        ],
    }


def share(half: dict[str, Any]) -> float:
    return 100 * half["first"] / max(1, half["planted"])


def page(result: dict[str, Any]) -> str:
    opened, closed = result["open"], result["closed"]
    gap = result["own"] - share(closed)
    lines = ["# The exam of strangers", ""]
    if abs(gap) > 5:
        lines += [
            (
                f"**Our own twins say {result['own']:.0f} % named first; the closed half of this exam says {share(closed):.0f} %. "
                "The closed half is the number to believe.**"
            ),
            "",
        ]
    lines += [
        (
            "Public training scripts, fetched at one commit and run unmodified but for what shrinks and seeds them (`bench/wild/scripts.toml`), bare "
            "and under `premortem run`; then with mistakes planted at random places of their source (`bench/wild/mistakes.py`). "
            "Half of the repositories, by a hash of their names, are closed: nothing is tuned to them."
        ),
        "",
        (
            f"Last opened {result['opened']}, by commit `{result['commit']}`. The list has {result['listed']} scripts of "
            f"{result['repositories']} repositories; {opened['scripts'] + closed['scripts']} of them were tried so far, with "
            f"{opened['planted'] + closed['planted']} planted mistakes: too few for a rate. The goal is 60 scripts of 35 repositories."
        ),
        "",
        "| | open half | closed half |",
        "|---|---|---|",
    ]
    for label, key in (
        ("scripts on the list that were tried", "scripts"),
        ("... that ran to their end bare", "ran"),
        ("repositories of these", "repositories"),
        ("same exit code watched", "same_exit"),
        ("same output watched", "same_output"),
        ("CPU time, watched / bare, median", "cpu_ratio"),
        ("planted mistakes", "planted"),
        ("... found", "found"),
        ("... named first", "first"),
        ("step at which it was told, median", "median_step"),
    ):
        lines.append(f"| {label} | {opened[key]} | {closed[key]} |")
    lines += ["", "## Alarms on unmodified scripts", ""]
    for half in (opened, closed):
        for name, code, severity, *verdict in half["alarms"]:
            lines.append(f"- {name}: {code} ({severity}). {': '.join(verdict)}")
    lines += ["", "## Planted mistakes", "", "| mistake | planted | found | first |", "|---|---|---|---|"]
    kinds: dict[str, list[int]] = {}
    for half in (opened, closed):
        for kind, numbers in half["kinds"].items():
            kinds[kind] = [a + b for a, b in zip(kinds.get(kind, [0, 0, 0]), numbers, strict=True)]
    lines += [f"| {kind} | {n} | {found} | {first} |" for kind, (n, found, first) in sorted(kinds.items())]
    lines += ["", "## Scripts that did not run here", ""]
    lines += [f"- {name}: `{why}`" for half in (opened, closed) for name, why in half["did_not_run"]]
    return "\n".join(lines) + "\n"


def main() -> None:
    verdicts = loads((HERE / "verdicts.toml").read_text())
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    listed = loads((HERE / "scripts.toml").read_text())["script"]
    halves = [summed(json.loads(Path(name).read_text()), verdicts) for name in sys.argv[1:3]]
    result = {
        "opened": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "commit": commit.stdout.strip(),
        "listed": len(listed),
        "repositories": len({script["repo"] for script in listed}),
        "own": HELD,
        "open": halves[0],
        "closed": halves[1],
    }
    (ROOT / "bench/results/wild.json").write_text(json.dumps(result, indent=1) + "\n")
    (ROOT / "docs/wild.md").write_text(page(result))


if __name__ == "__main__":
    main()
