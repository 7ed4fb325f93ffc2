"""One project, as the tools of an agent see it: verbs of premortem as JSON, cut to what fits a context window.

Every tool is a verb in a process of its own, as a person would call it: one mechanism, and nothing of a script's can
reach the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from premortem.errors import PremortemError, UsageError
from premortem.files import run_requests
from premortem.journal.folders import HOME
from premortem.report.find import journal_of
from premortem.ui.runs import Runs

MOST = 10  # findings, runs or lines in one answer
OUTPUT = 4000  # characters of what a verb printed
Progress = Callable[[float, str], Awaitable[None]]
_PERIOD = 2.0  # seconds between two words about how far a verb is
_SHORT = ("code", "name", "severity", "certainty", "step", "where", "message", "cause", "remedy")


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root

    def inside(self, path: str) -> Path:
        """A path of the project. Raises UsageError for one that leads out of it."""
        found = (self.root / path).resolve()
        if not found.is_relative_to(self.root):
            raise UsageError(f"`{path}` is outside of {self.root}; the server reads nothing there")
        return found

    # --- what only reads ----------------------------------------------------------------------

    async def lint(self, paths: Sequence[str], limit: int) -> dict[str, Any]:
        named = [str(self.inside(path)) for path in paths or ["."]]
        done = await self._verb(["lint", "--format", "json", *named], seconds=300)
        return _listed(json.loads(done.out or "[]"), limit, _of_lint)

    async def explain(self, words: Sequence[str]) -> list[dict[str, Any]]:
        done = await self._verb(["explain", "--format", "json", *words], seconds=60)
        pages: list[dict[str, Any]] = json.loads(done.out)
        return pages

    def runs(self, limit: int) -> dict[str, Any]:
        folder = self.root / HOME / "runs"
        listed = Runs(folder).listing() if folder.is_dir() else None
        entries = listed.entries if listed is not None else ()
        rows = [
            {
                "run": entry.name,
                "script": entry.script,
                "started": entry.started,
                "state": entry.state,
                "steps": entry.steps,
                "loss": entry.loss,
                "verdict": entry.tone,
                "found": entry.found,
            }
            for entry in entries[:limit]
        ]
        return {"runs": rows, "more": (listed.total if listed is not None else 0) - len(rows)}

    async def findings(self, run: str | None, code: str | None, limit: int) -> dict[str, Any]:
        report = await self._report(run)
        found = [each for each in report["findings"] if code in {None, each["code"], each["name"]}]
        shape = _short if code is None else dict
        for each in report["findings"]:
            each.get("evidence", {}).pop("patch", None)  # `patches` has it
        return {
            "run": {
                key: report["run"].get(key) for key in ("argv", "reason", "steps", "exit_code", "folder")
            },
            "verdict": report["verdict"]["sentence"],
            **_listed(found, limit, shape),
            "patches": {
                each["code"]: report["patches"][each["code"]]
                for each in found[:limit]
                if report["patches"].get(each["code"])
            },
        }

    async def numbers(self, run: str | None) -> dict[str, Any]:
        report = await self._report(run)
        return {key: report[key] for key in ("verdict", "curves", "metrics", "checkpoints", "command")}

    async def checkpoints(self, path: str) -> Any:
        done = await self._verb(["ckpt", "list", "--json", str(self.inside(path))], seconds=120)
        return json.loads(done.out)

    async def _report(self, run: str | None) -> dict[str, Any]:
        done = await self._verb(
            ["report", "--format", "json", "-o", "-", str(self._journal(run))], seconds=120
        )
        report: dict[str, Any] = json.loads(done.out)
        return report

    def _journal(self, run: str | None) -> Path:
        """By its name, or the newest one."""
        runs = self.root / HOME / "runs"
        return journal_of(str(runs if run is None else self.inside(str(HOME / "runs" / run))))

    # --- what starts a script -----------------------------------------------------------------

    async def check(
        self, script: str, arguments: Sequence[str], seconds: float, tell: Progress
    ) -> dict[str, Any]:
        answer, done = await self._with_file(
            "--json", ["check"], [str(self.inside(script)), *arguments], seconds, tell
        )
        found = [finding for part in answer.get("parts", ()) for finding in part["findings"]]
        facts = {part["title"]: part["facts"] or part["skipped"] for part in answer.get("parts", ())}
        return {
            "verdict": answer.get("verdict"),
            **_listed(found, MOST, _short),
            "facts": facts,
            **done.ending,
        }

    async def fit(
        self, script: str, arguments: Sequence[str], device: str, seconds: float, tell: Progress
    ) -> dict[str, Any]:
        verb = ["fit", "--device", device, "--seconds", str(seconds)]
        answer, done = await self._with_file(
            "--json", verb, [str(self.inside(script)), *arguments], seconds, tell
        )
        return {**answer, **done.ending}

    async def replay(self, run: str | None, seconds: float, tell: Progress) -> dict[str, Any]:
        capsules = sorted(self._journal(run).parent.glob("capsules/step-*"))
        if not capsules:
            raise UsageError("no step of this run failed, so there is nothing to replay")
        answer, done = await self._with_file("--json", ["replay"], [str(capsules[0])], seconds, tell)
        return {**answer, **done.ending}

    async def why(
        self,
        script: str,
        arguments: Sequence[str],
        minutes: float,
        diffs: Sequence[str],
        settings: Sequence[str],
        tell: Progress,
    ) -> dict[str, Any]:
        """With proposals, only what became of them and of the script as it is."""
        with tempfile.TemporaryDirectory(prefix="premortem-mcp-") as folder:
            verb = ["why", "--minutes", f"{minutes:g}"]
            names = {
                str(file): f"diff {number}" for number, file in enumerate(_written(folder, diffs), start=1)
            }
            for file in names:
                verb += ["--try", file]
            for setting in settings:
                verb += ["--set", setting]
            words = [str(self.inside(script)), *arguments]
            answer, done = await self._with_file("--json", verb, words, 90 * minutes + 120, tell)
        proposed = bool(diffs or settings)
        trials = [_trial(each, names) for each in answer.get("trials", ()) if _worth(each, proposed=proposed)]
        answer.update(trials=trials, as_is=(answer.get("as_is") or {}).get("sentence"))
        answer.pop("questions", None)  # how many trials each question had: no help for a decision
        tried = {each["change"]: each["verdict"] for each in trials if each["question"] == "proposals"}
        ending = {"exit_code": done.code} if "verdict" in answer else done.ending
        return {**({"proposals": tried} if proposed else {}), **answer, **ending}

    async def run(
        self, script: str, arguments: Sequence[str], seconds: float, tell: Progress
    ) -> dict[str, Any]:
        verb = ["run", "--deadline", f"{max(int(seconds) - 10, 20)}s"]
        answer, done = await self._with_file(
            "--findings", verb, [str(self.inside(script)), *arguments], seconds, tell
        )
        return {"run": answer.get("run"), **_listed(answer.get("findings", []), MOST, _short), **done.ending}

    def stop(self, run: str) -> dict[str, Any]:
        folder = self._journal(run).parent
        run_requests.ask(folder, run_requests.STOP)
        return {"asked": run, "note": "the run saves its state and ends after its current step"}

    # --- one verb -----------------------------------------------------------------------------

    async def _with_file(
        self, option: str, verb: Sequence[str], rest: Sequence[str], seconds: float, tell: Progress
    ) -> tuple[dict[str, Any], _Done]:
        with tempfile.TemporaryDirectory(prefix="premortem-mcp-") as folder:
            file = Path(folder, "out.json")
            done = await self._verb([*verb, option, str(file), *rest], seconds=seconds, tell=tell, fails=True)
            answer = _json(file)
        return answer, done

    async def _verb(
        self, words: Sequence[str], *, seconds: float, tell: Progress | None = None, fails: bool = False
    ) -> _Done:
        """Runs it to its end, or ends it with all that it has started when its time is over or the agent leaves."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "premortem", *words),
            cwd=self.root,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        spoken = _Spoken()
        reading = asyncio.ensure_future(spoken.to_the_end(process))
        waited = 0.0
        try:
            while not (await asyncio.wait({reading}, timeout=_PERIOD))[0]:
                waited += _PERIOD
                if waited > seconds:
                    os.killpg(process.pid, signal.SIGINT)  # what it has found so far is worth having
                    await asyncio.wait({reading}, timeout=10.0)
                    break
                if tell is not None:
                    doing = spoken.doing or f"premortem {words[0]}"
                    await tell(waited, f"{doing} ({waited:.0f} s)")
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        out, err = await reading
        done = _Done(out.decode(errors="replace"), err.decode(errors="replace"), process.returncode or 0)
        if done.code == 2 or (done.code and not done.out.strip() and not fails):
            raise PremortemError(done.err.strip().removeprefix("premortem: ") or f"exit code {done.code}")
        return done


class _Spoken:
    """What a verb prints, read while it runs: its last line about how far it is."""

    def __init__(self) -> None:
        self.doing = ""

    async def to_the_end(self, process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
        if process.stdout is None or process.stderr is None:
            return b"", b""  # it was started without pipes
        out, err = await asyncio.gather(process.stdout.read(), self._errors(process.stderr))
        await process.wait()
        return out, err

    async def _errors(self, stream: asyncio.StreamReader) -> bytes:
        whole = b""
        while part := await stream.read(1 << 16):
            whole += part
            lines = [
                line for line in part.decode(errors="replace").splitlines() if line.startswith("premortem ")
            ]
            self.doing = lines[-1] if lines else self.doing
        return whole


class _Done:
    """A verb that has ended."""

    def __init__(self, out: str, err: str, code: int) -> None:
        self.out, self.err, self.code = out, err, code

    @property
    def ending(self) -> dict[str, Any]:
        """The end of what it printed: that is where the verdict stands."""
        return {"exit_code": self.code, "printed": (self.out + self.err)[-OUTPUT:]}


def _written(folder: str, diffs: Sequence[str]) -> list[Path]:
    files = [Path(folder, f"fix-{number}.diff") for number in range(1, len(diffs) + 1)]
    for file, text in zip(files, diffs, strict=True):
        file.write_text(text, encoding="utf-8")
    return files


def _worth(trial: Mapping[str, Any], *, proposed: bool) -> bool:
    """An answer about a fix has its trials, and those of other changes that help."""
    if proposed and trial["question"] != "proposals":
        return bool(trial["verdict"] == "helps")
    return bool(trial["verdict"] != "skipped" or trial["question"] == "proposals")


def _trial(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Without its curve; a proposed diff by its number, and not by the file it was written to."""
    kept = {key: value for key, value in row.items() if key != "curve" and value not in (None, "", [])}
    return {**kept, **{key: names[kept[key]] for key in ("change", "title") if kept.get(key) in names}}


def _json(file: Path) -> dict[str, Any]:
    """What a verb has written; nothing where it ended before."""
    answer: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return answer


def _listed(found: Sequence[Mapping[str, Any]], limit: int, shape: Callable[[Any], Any]) -> dict[str, Any]:
    shown = [shape(each) for each in found[:limit]]
    return {"findings": shown, "more": len(found) - len(shown)}


def _short(finding: Mapping[str, Any]) -> dict[str, Any]:
    patch = (finding.get("evidence") or {}).get("patch")
    kept = {key: finding[key] for key in _SHORT if finding.get(key)}
    return {**kept, "patch": patch["diff"]} if patch else kept


def _of_lint(report: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("path", "line", "column", "code", "name", "severity", "message", "remedy", "fixable")
    return {key: report[key] for key in keys if key in report}
