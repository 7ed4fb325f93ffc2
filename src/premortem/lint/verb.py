"""`premortem lint`: from options to exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from premortem import __version__
from premortem.errors import PremortemError, UsageError
from premortem.files import private, untrusted
from premortem.files.plain import dumps
from premortem.findings import Certainty, Finding, Patch, Severity, Where
from premortem.lint import (
    cache,
    engine,
    files,
    fixes,
    output,
    project,
    settings,
    strict_reading,
    watch,
)
from premortem.lint.configs import SUFFIXES as CONFIGS
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.problems import UnreadableFile
from premortem.lint.project import Outcome, Plan
from premortem.terminal.progress import progress
from premortem.terminal.readers import printed


@dataclass(frozen=True, slots=True)
class Lint:
    """One call of the verb, ready to run as often as needed."""

    paths: tuple[str, ...]
    plan: Plan
    folder: Path | None  # of the cache
    force_exclude: bool = False
    strict_files: bool = False

    @classmethod
    def of(cls, options: argparse.Namespace) -> Lint:
        paths = tuple(options.paths or ["."])
        for path in paths:
            if not os.path.lexists(path):
                raise UsageError(f"there is no file or folder `{path}`")
        start = Path(os.path.commonpath([os.path.abspath(path) for path in paths]))  # noqa: PTH100 - no links followed
        asked = settings.read(start).changed(
            select=_words(options.select),
            ignore=_words(options.ignore),
            preview=options.preview or None,
            torch=options.torch,
            exclude=_words(options.exclude),
            per_file_ignores=_per_file(options.per_file_ignores),
        )
        top = settings.project_root(start)
        root = top or (start if start.is_dir() else start.parent)
        # A whole project is read anyway; without a project, it is not known what belongs to it.
        whole = top is None or any(Path(path).absolute() == root for path in paths)
        plan = project.plan(root, asked, whole=whole)
        # A cache may have come with the project, so it is not used where files are changed.
        changes = options.fix or options.unsafe_fixes or options.diff
        folder = None if options.no_cache or changes else cache.folder_for(root)
        return cls(paths, plan, folder, options.force_exclude, options.strict_files)

    def files(self) -> list[str]:
        def excluded(path: str) -> bool:
            return project.is_excluded(path, self.plan)

        found = files.find(self.paths, excluded)
        return [path for path in found if not excluded(path)] if self.force_exclude else found

    def watched(self) -> list[str]:
        """What the result depends on: the files, and the settings above them."""
        found = self.files()
        known = {os.path.abspath(path) for path in found}  # noqa: PTH100 - once for every file
        above = [str(folder / "pyproject.toml") for folder in (self.plan.root, *self.plan.root.parents)]
        return [*found, *(path for path in above if path not in known)]

    def run(self) -> Outcome:
        found = self.files()
        if not found:
            odd = [path for path in self.paths if _is_no_file(path)]
            message = f"there is no Python file, notebook or config under {', '.join(self.paths)}"
            if odd:
                message = f"`{odd[0]}` is a pipe or a device, not a file"
            if not any(map(os.path.isdir, self.paths)):
                raise UsageError(message)
            sys.stderr.write(f"premortem: {message}\n")
        with progress("lint", plain=False) as shown:
            outcome = project.check(found, self.plan, self.folder, shown)
        _report_named(outcome, self.paths)
        if self.strict_files:
            more = list(project.wanted(strict_reading.unread(found), self.plan))
            known = {one.path for one in more}
            rest = [o for o in outcome.diagnostics if not (strict_reading.is_unread(o) and o.path in known)]
            outcome.diagnostics = engine.in_order([*rest, *more])
        return outcome


def run(options: argparse.Namespace) -> int:
    """0: clean or only remarks; 1: an error or a warning was found."""
    if options.format not in output.FORMATS:
        raise UsageError(f"`--format {options.format}`: the formats are {', '.join(output.FORMATS)}")
    if options.watch:
        Lint.of(options)  # a wrong call ends here, and not in the loop
        return watch.watch(lambda: once(options), lambda: Lint.of(options).watched())
    return once(options)


def once(options: argparse.Namespace) -> int:
    lint = Lint.of(options)
    outcome = lint.run()
    if options.diff:
        patch = fixes.patch(outcome.diagnostics, outcome.contents, unsafe=options.unsafe_fixes)
        printed(patch)
        return int(bool(patch))
    if options.fix or options.unsafe_fixes:
        outcome = _fix(lint, outcome, unsafe=options.unsafe_fixes)
    _show(options, outcome)
    if options.findings:
        _write_findings(options.findings, outcome)
    if options.strict_files and any(strict_reading.is_unread(one) for one in outcome.diagnostics):
        return 1
    return int(any(one.severity is not Severity.INFO for one in outcome.diagnostics))


def _is_no_file(path: str) -> bool:
    """A pipe, a device: it is there, and there is nothing to read in it."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)  # noqa: PTH110, PTH112, PTH113


def _report_named(outcome: Outcome, paths: Sequence[str]) -> None:
    """A config that cannot be read is a remark when it was found in a folder, and a warning when it was named."""
    named = {os.path.normpath(path) for path in paths if path.endswith(CONFIGS)}
    for place, one in enumerate(outcome.diagnostics):
        if one.card is UnreadableFile.card and os.path.normpath(one.path) in named:
            outcome.diagnostics[place] = replace(one, severity=Severity.WARNING)
    known = {os.path.normpath(one.path) for one in outcome.diagnostics}
    for path in sorted(named - known):
        size = Path(path).stat().st_size if untrusted.is_regular(path) else 0
        if size > engine.SMALL_CONFIG:
            outcome.diagnostics += _not_checked(path, size)


def _not_checked(path: str, size: int) -> list[Diagnostic]:
    """Why a large config was not checked: it is data, or it cannot be read."""
    if size <= engine.LARGE_CONFIG:
        return [replace(one, severity=Severity.WARNING) for one in strict_reading.unread([path])]
    checked = engine.Checked()
    message = f"this file was not checked: with {size:,} bytes it holds data, not settings"
    checked.report(path, UnreadableFile.card, message)
    return checked.diagnostics


def _fix(lint: Lint, outcome: Outcome, *, unsafe: bool) -> Outcome:
    """Fix and check again until there is nothing left to fix: one fix can uncover another."""
    fixed = 0
    for _turn in range(fixes.TURNS):
        count = fixes.write(outcome.diagnostics, outcome.contents, unsafe=unsafe)
        if not count:
            break
        fixed += count
        outcome = lint.run()
    if fixed:
        sys.stderr.write(f"premortem: {fixed} fixed\n")
    return outcome


def _show(options: argparse.Namespace, outcome: Outcome) -> None:
    if options.statistics:
        if options.format not in output.STATISTICS:
            raise UsageError(f"`--statistics` has no `--format {options.format}`")
        render = output.statistics_renderer(options.format)
    else:
        render = output.renderer(options.format)
    text = render(outcome.diagnostics, outcome.files)
    if outcome.silenced and options.format == "text":
        text = f"{text.rstrip()} ({outcome.silenced} silenced)\n"
    printed(text)


def _words(given: Sequence[str] | None) -> tuple[str, ...] | None:
    """`--select A,B --select C` is three words."""
    if given is None:
        return None
    return tuple(word.strip() for one in given for word in one.split(",") if word.strip())


def _per_file(given: Sequence[str] | None) -> dict[str, tuple[str, ...]] | None:
    """`--per-file-ignores "tests/*:PM501,PM530,*_old.py:PM543"`, as ruff takes it; a bare rule belongs to the pattern before it."""
    if given is None:
        return None
    found: dict[str, tuple[str, ...]] = {}
    for one in _words(given) or ():
        before = next(reversed(found), "")
        pattern, _, word = one.rpartition(":") if ":" in one else (before, ":", one)
        if not pattern or not word:
            raise UsageError(f"`--per-file-ignores {one}`: write PATTERN:RULE, such as `tests/*:PM501`")
        found[pattern] = (*found.get(pattern, ()), word)
    return found


def _write_findings(file: Path, outcome: Outcome) -> None:
    record = {
        "premortem": __version__,
        "run": {"verb": "lint", "files": outcome.files, "silenced": outcome.silenced},
        "findings": [
            finding(one, patch).to_json()
            for one, patch in zip(
                outcome.diagnostics, fixes.each_alone(outcome.diagnostics, outcome.contents), strict=True
            )
        ],
    }
    try:
        private.write_text(file, dumps(record, indent=2) + "\n")
    except OSError as error:
        raise PremortemError(f"the findings cannot be written to {file} ({error.strerror})") from None


def finding(diagnostic: Diagnostic, patch: Patch | None = None) -> Finding:
    """A diagnostic in the words that all of premortem shares. Nothing has run, so nothing is measured."""
    evidence: dict[str, object] = {"column": diagnostic.column, "fixable": diagnostic.fix is not None}
    if diagnostic.cell is not None:
        evidence["cell"] = diagnostic.cell
    return Finding(
        code=diagnostic.card.code,
        name=diagnostic.card.name,
        family=diagnostic.card.family,
        severity=diagnostic.severity,
        certainty=Certainty.SUSPECTED,
        step=0,
        message=diagnostic.message,
        remedy=diagnostic.remedy,
        where=Where(file=diagnostic.path, line=diagnostic.line),
        evidence=evidence,
    ).with_patch(patch)
