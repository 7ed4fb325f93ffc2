"""Both halves of the exam as one result and one page: `python bench/wild/summary.py FILE.json …`, the files of bench/wild/run.py.

What is right in a healthy script is a person's verdict: `verdicts.toml` has it for each alarm, with the reason.
A planted mistake counts where it took effect, which the bare runs say: not where the script ends with an error of its own, which
its author sees, and not where it prints the same numbers and ends with the same weights as without the mistake.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from one_run import loads, scripts  # noqa: E402 - from this folder and the one above
from split import GAP, half_of, opened_by  # noqa: E402

# Of our own twins, in per cent: `tests/test_twins.py` fails where one is not named first, so there is nothing to measure.
HELD = 100.0


def summed(rows: list[dict[str, Any]], verdicts: dict[str, dict[str, str]]) -> dict[str, Any]:
    ran = [row for row in rows if "watched" in row]
    planted = [{**one, "script": row["name"]} for row in ran for one in row["planted"]]
    effective = [one for one in planted if one["effect"]]
    steady = [row for row in ran if row["bare"]["output"] == row["again"]["output"]]
    kinds: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in effective:
        kinds[one["mistake"]].append(one)
    steps = [one["step"] for one in effective if one["step"] is not None]
    ratios = [row["watched"]["cpu"] / row["bare"]["cpu"] for row in ran if row["bare"]["cpu"]]
    none = {"verdict": "open", "reason": "not judged yet"}
    return {
        "scripts": sum("bare" in row for row in rows),
        "ran": len(ran),
        "repositories": len({row["repo"] for row in ran}),
        "same_exit": sum(row["watched"]["exit"] == row["bare"]["exit"] for row in ran),
        "steady": len(steady),
        "same_output": sum(row["watched"]["output"] == row["bare"]["output"] for row in steady),
        "blind": [
            [row["name"], *row["watched"].get("blind", ())] for row in ran if row["watched"].get("blind")
        ],
        "other_output": [row["name"] for row in steady if row["watched"]["output"] != row["bare"]["output"]],
        "cpu_ratio": round(statistics.median(ratios), 2) if ratios else None,
        "alarms": [
            [row["name"], finding[0], finding[2], *verdicts.get(f"{row['name']} {finding[0]}", none).values()]
            for row in ran
            for finding in row["watched"]["findings"]
        ],
        "tried": len(planted),
        "own_error": sum(one["exit"] != 0 and not one["effect"] for one in planted),
        "not_known": sum(one["effect"] is None for one in planted),
        "planted": len(effective),
        "found": sum(one["found"] for one in effective),
        "first": sum(one["first"] for one in effective),
        "median_step": statistics.median(steps) if steps else None,
        "kinds": {
            kind: [len(some), sum(o["found"] for o in some), sum(o["first"] for o in some)]
            for kind, some in sorted(kinds.items())
        },
        "missed": [[one["script"], one["mistake"], one["turn"]] for one in effective if not one["first"]],
        "did_not_run": [
            [row["name"], (row["bare"]["error"].strip().splitlines() or [str(row["bare"]["exit"])])[-1][:160]]
            for row in rows
            if "bare" in row and row["bare"]["exit"] != 0
        ],
    }


def share(half: dict[str, Any]) -> float:
    return 100 * half["first"] / max(1, half["planted"])


def page(result: dict[str, Any]) -> str:
    opened, closed = result["open"], result["closed"]
    lines = ["# The exam of strangers", ""]
    if closed["planted"] and abs(result["own"] - share(closed)) > GAP:
        lines += [
            (
                f"**Our own twins say {result['own']:.0f} % named first; the closed half of this exam says {share(closed):.0f} %, "
                f"the open half {share(opened):.0f} %. The closed half is the number to believe.**"
            ),
            "",
        ]
    lines += [
        (
            "Public training scripts, fetched at one commit and run as they are but for edits that shrink them, seed them, or let old code run with today's libraries (`bench/wild/scripts.toml`), bare "
            "and under `premortem run`; then with mistakes planted at random places of their source (`bench/wild/mistakes.py`), as many kinds "
            "and places as there was time for. Their data are made by a program (`bench/wild/made_data.py`). "
            "Half of the repositories, by a hash of their names, are closed: nothing is tuned to them."
        ),
        "",
        (
            f"Last opened {result['opened']}, by commit `{result['commit']}`. The list has {result['listed']} scripts of "
            f"{result['repositories']} repositories. `python bench/wild/run.py --half both`, then `python bench/wild/summary.py`."
        ),
        "",
        "| | open half | closed half |",
        "|---|---|---|",
    ]
    for label, key in (
        ("scripts that were tried", "scripts"),
        ("... that ran to their end bare", "ran"),
        ("repositories of these", "repositories"),
        ("same exit code watched", "same_exit"),
        ("that print the same in two bare runs", "steady"),
        ("... and watched too", "same_output"),
        ("CPU time of the whole process, watched / bare, median", "cpu_ratio"),
        ("mistakes planted", "tried"),
        ("... whose script ended with an error of its own", "own_error"),
        ("... in scripts that never do the same twice", "not_known"),
        ("... that took effect", "planted"),
        ("... ... found", "found"),
        ("... ... named first", "first"),
        ("step at which it was reported, median", "median_step"),
    ):
        lines.append(f"| {label} | {opened[key]} | {closed[key]} |")
    both = (opened, closed)
    lines += [
        "",
        (
            "A mistake took effect where the bare script does not end with an error of its own, and prints other numbers or ends with "
            "other weights than without it. The scripts are tiny here, so most of the process's time is importing torch and ours."
        ),
        "",
        "## Alarms on unmodified scripts",
        "",
        *(
            f"- {name}: {code} ({level}). {': '.join(why)}"
            for h in both
            for name, code, level, *why in h["alarms"]
        ),
        "",
        "## Planted mistakes",
        "",
        "| mistake | open: took effect, found, first | closed: took effect, found, first |",
        "|---|---|---|",
    ]
    for kind in sorted({kind for half in both for kind in half["kinds"]}):
        cells = [", ".join(map(str, half["kinds"].get(kind, ()))) for half in both]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    blind = [f"- {name}: {'; '.join(what)}" for half in both for name, *what in half["blind"]]
    if blind:
        lines += ["", "## What our own errors kept us from seeing", "", *blind]
    others = [name for half in both for name in half["other_output"]]
    if others:
        lines += ["", "## Scripts that printed something else when watched", "", ", ".join(others) + "."]
    failed = [f"- {name}: `{why}`" for half in both for name, why in half["did_not_run"]]
    if failed:
        lines += ["", "## Scripts that did not run here", "", *failed]
    return "\n".join(lines) + "\n"


def main() -> None:
    verdicts = loads((HERE / "verdicts.toml").read_text())
    listed = scripts()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--opened", help="when it was run, if not now")
    parser.add_argument("--commit", help="what was run, if not this commit")
    options = parser.parse_args()
    rows = [row for file in options.files for row in json.loads(file.read_text())]
    given = {key: value for key in ("opened", "commit") if (value := getattr(options, key))}
    halves = {
        half: summed([row for row in rows if half_of(row["repo"]) == half], verdicts)
        for half in ("open", "closed")
    }
    result = {
        **opened_by(),
        **given,
        "listed": len(listed),
        "repositories": len({script["repo"] for script in listed}),
        "own": HELD,
        **halves,
    }
    (ROOT / "bench/results/wild.json").write_text(json.dumps(result, indent=1) + "\n")
    (ROOT / "docs/wild.md").write_text(page(result))


if __name__ == "__main__":
    main()
