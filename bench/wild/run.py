"""The exam of strangers: public scripts run bare and watched, as they are and with mistakes planted in them.

    python bench/wild/run.py --half open --mirror FOLDER --out FILE.json      # or without --mirror: clones
    python bench/wild/run.py --export build/wild --mirror FOLDER              # the sources alone, for a machine without network
    python bench/wild/run.py --half both --from build/wild --jobs 14 --minutes 9 --out FILE.json

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
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from checkout import checked_out  # noqa: E402 - from this folder and the one above
from made_data import MAKERS  # noqa: E402
from mistakes import MISTAKES, Mistake, planted  # noqa: E402
from one_run import run, scripts, seeded  # noqa: E402
from split import half_of  # noqa: E402

Task = tuple[int, int, str, str]  # turn, place on the list, script, what: "bare", "watched" or a mistake


def edited(script: dict[str, Any], folder: Path) -> None:
    """What shrinks it: an edit is of the script's own file, or names another one first."""
    for edit in script.get("edits", ()):
        file = folder / (edit[0] if len(edit) == 3 else script["file"])
        old, new = edit[-2:]
        text = file.read_text()
        assert old in text, (script["name"], file.name, old)
        file.write_text(text.replace(old, new))


def plantable(script: dict[str, Any], folder: Path, mistake: Mistake, seed: int) -> tuple[Path, str] | None:
    """One of the places where it applies, in the script or in the file its loop stands in, and that file with the mistake."""
    choose = random.Random(f"{script['name']} {mistake.name} {seed}").randrange
    for name in (*script.get("plant", ()), script["file"]):
        text = planted((folder / name).read_text(), mistake, choose)
        if text:
            return folder / name, text
    return None


def examined(script: dict[str, Any], whole: Path, what: str, seed: int) -> dict[str, Any] | None:
    """One run; None where the mistake does not apply."""
    with tempfile.TemporaryDirectory(prefix="wild-") as scratch:
        folder = Path(scratch, "a")
        shutil.copytree(whole, folder)
        for maker, place in script.get("data", ()):
            MAKERS[maker](folder / place)
        edited(script, folder)
        mistake = next((one for one in MISTAKES if one.name == what), None)
        if mistake is not None:
            found = plantable(script, folder, mistake, seed)
            if found is None:
                return None
            found[0].write_text(found[1])
        file = folder / script["file"]
        file.write_text(seeded(file.read_text()))
        result = run(script, folder, watched=what != "bare")
    return result if mistake is None else {"mistake": what, **judged(mistake, result), **result}


def judged(mistake: Mistake, result: dict[str, Any]) -> dict[str, Any]:
    loud = sorted(result["findings"], key=lambda one: one[2] != "error")
    right = [finding for finding in loud if finding[1] in mistake.families]
    first = bool(loud) and loud[0][1] in mistake.families
    return {"found": bool(right), "first": first, "step": right[0][3] if right else None}


class Exam:
    """What is to be run, in which order, and what came out."""

    def __init__(
        self, chosen: list[dict[str, Any]], rows: list[dict[str, Any]], mistakes: int, seed: int
    ) -> None:
        self.scripts = {script["name"]: script for script in chosen}
        self.rows = {row["name"]: row for row in rows}
        self.mistakes, self.seed = mistakes, seed
        self.queue: list[Task] = []
        met: dict[str, int] = {}
        for place, script in enumerate(chosen):
            # One of each repository first, so that an exam that is cut short has seen as many as it could.
            met[script["repo"]] = met.get(script["repo"], 0) + 1
            row = self.rows.setdefault(
                script["name"], {"name": script["name"], "repo": script["repo"], "planted": []}
            )
            if "bare" not in row:
                heapq.heappush(self.queue, (met[script["repo"]] - 100, place, script["name"], "bare"))
            else:
                self._then(row, place)

    def _then(self, row: dict[str, Any], place: int) -> None:
        if row["bare"]["exit"] != 0 or self.mistakes < 0:
            return
        if "watched" not in row:
            heapq.heappush(self.queue, (0, place, row["name"], "watched"))
        order = random.Random(f"{row['name']} {self.seed}").sample(MISTAKES, len(MISTAKES))
        done = {one["mistake"] for one in row["planted"]} | set(row.get("no_place", ()))
        for turn, mistake in enumerate(order[: self.mistakes], 1):
            if mistake.name not in done:
                heapq.heappush(self.queue, (turn, place, row["name"], mistake.name))

    def took(self, task: Task, result: dict[str, Any] | None) -> None:
        _turn, place, name, what = task
        row = self.rows[name]
        if what == "bare":
            row["bare"] = result
            self._then(row, place)
        elif what == "watched":
            row["watched"] = result
        elif result is None:
            row.setdefault("no_place", []).append(what)
        else:
            row["planted"].append(result)
        if result is not None:
            said = [finding[0] for finding in result["findings"]]
            print(f"{name}: {what}: exit {result['exit']}, {result['seconds']} s, {said}", flush=True)


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
    exam = Exam(chosen, before, options.mistakes, options.seed)
    under_way: dict[Future[dict[str, Any] | None], Task] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        while under_way or (exam.queue and time.monotonic() < ended):
            while exam.queue and len(under_way) < options.jobs and time.monotonic() < ended:
                task = heapq.heappop(exam.queue)
                script = exam.scripts[task[2]]
                whole = checked_out(script, options.cache, options.mirror)
                under_way[pool.submit(examined, script, whole, task[3], options.seed)] = task
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                exam.took(under_way.pop(future), future.result())
            options.out.write_text(json.dumps(list(exam.rows.values()), indent=1) + "\n")


if __name__ == "__main__":
    main()
