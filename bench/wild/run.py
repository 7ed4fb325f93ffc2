"""The exam of strangers: public scripts run bare and watched, as they are and with mistakes planted in them.

    python bench/wild/run.py --half open --mirror FOLDER --out FILE.json      # or without --mirror: clones
    python bench/wild/run.py --export build/wild --mirror FOLDER              # the sources alone, for a machine without network
    python bench/wild/run.py --half both --from build/wild --jobs 14 --minutes 9 --mistakes 27 --places 3 --out FILE.json

Every script is run bare twice and watched once; each mistake that is planted bare, and watched where it made a difference.
`--half closed` is for the end: numbers for a page come from there, and nothing is tuned to it. A FILE.json that is there is gone on
with. Each run has a scratch folder of its own, which is removed.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import shutil
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import product
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from checkout import checked_out  # noqa: E402 - from this folder and the one above
from made_data import MAKERS  # noqa: E402
from mistakes import MISTAKES, Mistake, planted  # noqa: E402
from one_run import effect, run, scripts, seeded  # noqa: E402
from split import half_of  # noqa: E402

# When, place on the list, script, what ("bare", "again", "watched" or a mistake), and which of the places where it applies.
Task = tuple[int, int, str, str, int]


def edited(script: dict[str, Any], folder: Path) -> None:
    """What shrinks it: an edit is of the script's own file, or names another one first."""
    for edit in script.get("edits", ()):
        file = folder / (edit[0] if len(edit) == 3 else script["file"])
        old, new = edit[-2:]
        text = file.read_text()
        assert old in text, (script["name"], file.name, old)
        file.write_text(text.replace(old, new))


def plantable(script: dict[str, Any], folder: Path, mistake: Mistake, seed: str) -> tuple[Path, str] | None:
    """One of the places where it applies, in the script or in the file its loop stands in, and that file with the mistake."""
    turn, _, rest = seed.partition(" ")
    for name in (*script.get("plant", ()), script["file"]):
        text = planted((folder / name).read_text(), mistake, f"{script['name']} {rest}", int(turn))
        if text:
            return folder / name, text
    return None


def prepared(script: dict[str, Any], whole: Path, folder: Path, mistake: Mistake | None, seed: str) -> bool:
    """The script with its data, its edits, its mistake and its seed; False where the mistake has no such place."""
    shutil.copytree(whole, folder)
    for maker, place in script.get("data", ()):
        MAKERS[maker](folder / place)
    edited(script, folder)
    if mistake is not None:
        found = plantable(script, folder, mistake, seed)
        if found is None:
            return False
        found[0].write_text(found[1])
    file = folder / script["file"]
    file.write_text(seeded(file.read_text()))
    return True


def examined(
    script: dict[str, Any], whole: Path, what: str, seed: str, healthy: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """One run; with a mistake a bare one, and a watched one if that differs from the `healthy` ones. None where the mistake has
    no such place."""
    mistake = next((one for one in MISTAKES if one.name == what), None)
    with tempfile.TemporaryDirectory(prefix="wild-") as scratch:
        if not prepared(script, whole, Path(scratch, "a"), mistake, seed):
            return None
        result = run(script, Path(scratch, "a"), watched=what == "watched")
        if mistake is None:
            return result
        made = {"mistake": what, "turn": int(seed.split(maxsplit=1)[0]), "effect": effect(result, *healthy)}
        if not made["effect"]:
            return {**made, **result}
        prepared(script, whole, Path(scratch, "b"), mistake, seed)
        result = run(script, Path(scratch, "b"), watched=True)
        return {**made, **judged(mistake, result), **result}


def judged(mistake: Mistake, result: dict[str, Any]) -> dict[str, Any]:
    loud = sorted(result["findings"], key=lambda one: one[2] != "error")
    right = [finding for finding in loud if finding[1] in mistake.families]
    first = bool(loud) and loud[0][1] in mistake.families
    return {"found": bool(right), "first": first, "step": right[0][3] if right else None}


class Exam:
    """What is to be run, in which order, and what came out."""

    def __init__(self, chosen: list[dict[str, Any]], rows: list[dict[str, Any]], options: Any) -> None:
        self.scripts = {script["name"]: script for script in chosen}
        self.rows = {row["name"]: row for row in rows}
        self.options = options
        self.queue: list[Task] = []
        met: dict[str, int] = {}
        for place, script in enumerate(chosen):
            # One of each repository first, so that an exam that is cut short has seen as many as it could.
            met[script["repo"]] = met.get(script["repo"], 0) + 1
            row = self.rows.setdefault(
                script["name"], {"name": script["name"], "repo": script["repo"], "planted": []}
            )
            if "bare" not in row:
                heapq.heappush(self.queue, (met[script["repo"]] - 100, place, script["name"], "bare", 0))
            else:
                self._then(row, place)

    def _then(self, row: dict[str, Any], place: int) -> None:
        """What follows once it has run bare: again; and then, with both at hand, watched and with mistakes."""
        if row["bare"]["exit"] != 0 or self.options.mistakes < 0:
            return
        if "again" not in row:
            heapq.heappush(self.queue, (0, place, row["name"], "again", 0))
            return
        if "watched" not in row:
            heapq.heappush(self.queue, (0, place, row["name"], "watched", 0))
        draw = random.Random(f"{row['name']} {self.options.seed}")
        kinds = draw.sample(MISTAKES, len(MISTAKES))[: self.options.mistakes]
        done = {(one["mistake"], one["turn"]) for one in row["planted"]}
        over = dict(row.get("no_place", ()))  # mistake -> the turn for which there was no place any more
        for number, (turn, kind) in enumerate(product(range(self.options.places), kinds), 1):
            if (kind.name, turn) not in done and turn < over.get(kind.name, self.options.places):
                heapq.heappush(self.queue, (number, place, row["name"], kind.name, turn))

    def healthy(self, name: str) -> list[dict[str, Any]]:
        return [self.rows[name][key] for key in ("bare", "again") if key in self.rows[name]]

    def took(self, task: Task, result: dict[str, Any] | None) -> None:
        _when, place, name, what, turn = task
        row = self.rows[name]
        if what in ("bare", "again", "watched"):
            row[what] = result
            if what != "watched":
                self._then(row, place)
        elif result is None:
            row.setdefault("no_place", []).append([what, turn])
        else:
            row["planted"].append(result)
        if result is not None:
            said = (
                [finding[0] for finding in result["findings"]] if result.get("effect", True) else "no effect"
            )
            print(f"{name}: {what} {turn}: exit {result['exit']}, {result['seconds']} s, {said}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=("open", "closed", "both"), default="open")
    parser.add_argument("--mirror", type=Path, help="bare repositories, owner+name/repo")
    parser.add_argument(
        "--from", dest="cache", type=Path, default=Path(tempfile.gettempdir(), "premortem-wild")
    )
    parser.add_argument("--export", type=Path, help="write what all scripts need there, and end")
    parser.add_argument(
        "--mistakes", type=int, default=2, help="kinds tried in each script; -1: bare runs alone"
    )
    parser.add_argument("--places", type=int, default=1, help="places at which each of them is tried")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.export:
        for script in scripts():
            there = checked_out(script, options.export, options.mirror)
            (there / ".exported").touch()
        return
    ended = time.monotonic() + 60 * options.minutes
    chosen = [
        script
        for script in scripts()
        if options.half in ("both", half_of(script["repo"])) and options.only in script["name"]
    ]
    before = json.loads(options.out.read_text()) if options.out.exists() else []
    exam = Exam(chosen, before, options)
    under_way: dict[Future[dict[str, Any] | None], Task] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        while under_way or (exam.queue and time.monotonic() < ended):
            while exam.queue and len(under_way) < options.jobs and time.monotonic() < ended:
                task = heapq.heappop(exam.queue)
                _when, _place, name, what, turn = task
                whole = checked_out(exam.scripts[name], options.cache, options.mirror)
                seed, healthy = f"{turn} {options.seed}", exam.healthy(name)
                under_way[pool.submit(examined, exam.scripts[name], whole, what, seed, healthy)] = task
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                exam.took(under_way.pop(future), future.result())
            options.out.write_text(json.dumps(list(exam.rows.values()), indent=1) + "\n")


if __name__ == "__main__":
    main()
