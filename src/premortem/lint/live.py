"""A file as it stands in an editor, saved or not, checked with what the rest of its project says."""

from pathlib import Path

from premortem.lint import cache, engine, files, fixes, problems, project, settings
from premortem.lint.diagnostics import Diagnostic, Edit, edited
from premortem.lint.listing import Listing
from premortem.lint.project import Plan
from premortem.lint.project_facts import Facts
from premortem.lint.summaries import Summary
from premortem.lint.workers import Workers
from premortem.terminal.progress import Progress

# A notebook is several documents to an editor; its file is JSON, which is not edited by hand.
SUFFIXES = tuple(suffix for suffix in files.SUFFIXES if suffix != ".ipynb")
WITHOUT_COMMENTS = (".json",)


class Live:
    """One project. Settings and facts are read once, and again after `forget`."""

    def __init__(self, root: Path, asked: settings.Settings | None = None) -> None:
        """Raises `UsageError` when the project's settings are wrong."""
        self.plan: Plan = project.plan(root, settings.read(root) if asked is None else asked, whole=False)
        self._rules = [rule for rule in engine.all_rules() if rule.card.code in self.plan.codes]
        self._others: dict[str, list[Summary]] = {}

    def forget(self) -> None:
        """A file of the project has changed on disk."""
        self._others.clear()
        if self.plan.targets:
            self.plan.targets.forget()

    def check(self, path: str, data: bytes) -> list[Diagnostic]:
        """What there is to say about this text of the file."""
        if not path.endswith(SUFFIXES) or project.is_excluded(path, self.plan):
            return []
        plan = self.plan
        target = plan.targets.of(path) if plan.targets else None
        first = engine.check_file(path, data, self._rules, Facts(plan.root, target, path=path))
        found = first.diagnostics
        if first.waiting:
            known = [*self._around(path), *([first.summary] if first.summary else [])]
            again = [rule for rule in self._rules if rule.card.code in first.waiting]
            second = engine.check_file(path, data, again, Facts(plan.root, target, known, path))
            found = [*found, *second.diagnostics]
        return engine.in_order(project.wanted(found, plan))

    def _around(self, path: str) -> list[Summary]:
        if path not in self._others:
            workers = Workers((), self.plan.root, None, Progress(), many=False)
            folder = cache.folder_for(self.plan.root)
            self._others[path] = project.around([path], self.plan, folder, workers)
        return self._others[path]

    def fixed(self, path: str, data: bytes) -> bytes:
        """The text after every safe fix, and every fix that these uncover."""
        for _turn in range(fixes.TURNS):
            after = fixes.fixed(path, data, self.check(path, data)).data
            if after == data:
                break
            data = after
        return data

    def ignoring(self, path: str, data: bytes, report: Diagnostic) -> Edit | None:
        """The comment that silences this report; None where there is no place for one.

        At the end of its first line, of its last line, or above it: whichever the parser and the rules agree with.
        """
        if path.endswith(WITHOUT_COMMENTS) or report.card is problems.UnreadableFile.card:
            return None
        listing = Listing(data)
        before = self.check(path, data)
        for edit in _comments(listing, report):
            after = self.check(path, edited(data, [edit]))
            broken = any(one.card is problems.UnreadableFile.card for one in after)
            if len(after) < len(before) and not broken:
                return edit
        return None


def _comments(listing: Listing, report: Diagnostic) -> list[Edit]:
    code = report.card.code
    found = []
    for line in dict.fromkeys((report.line, report.end_line)):
        text = listing.line_text(line)
        end = listing.offset(line, len(text.rstrip().encode()))
        begin, mark, rest = text.rpartition("# premortem: ignore[")
        if mark and "]" in rest:
            place = listing.offset(line, len((begin + mark + rest[: rest.index("]")]).encode()))
            found.append(Edit(place, place, f", {code}"))
        elif text.strip():
            found.append(Edit(end, end, f"  # premortem: ignore[{code}]"))
    text = listing.line_text(report.line)
    indent = text[: len(text) - len(text.lstrip())]
    start = listing.offset(report.line, 0)
    newline = "\r\n" if b"\r\n" in listing.data else "\n"
    return [*found, Edit(start, start, f"{indent}# premortem: ignore[{code}]{newline}")]
