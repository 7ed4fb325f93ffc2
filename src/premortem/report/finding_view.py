"""A finding with all that belongs to it: the line in its place, the evidence, the remedy, the page of its diagnosis."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from premortem import catalog
from premortem.derived.expression import Marked, marked
from premortem.derived.folding import fold, without_surpassed
from premortem.derived.proved import with_proofs
from premortem.errors import PremortemError
from premortem.findings import Finding, Severity
from premortem.journal import Run
from premortem.report import curves, words
from premortem.report.curves import Curve
from premortem.settings import shown

PER_CODE = 12  # findings of one diagnosis that are shown
CONTEXT = 4  # lines of code on either side
RADIUS = 150  # steps on either side of a finding
WINDOWS = 6  # findings that get a plot of their own
_NUMBERS = tuple("numerics exploding vanishing clipping accumulation init-saturation loss-definition".split())
_RATES = ("lr", "scheduler")


class Line(NamedTuple):
    number: int
    text: str
    blamed: bool
    marked: Marked | None = None  # columns of the expression to blame


@dataclass(slots=True)
class FindingView:
    finding: Finding
    evidence: list[tuple[str, str]]
    code: list[Line] = field(default_factory=list)
    patch: str = ""  # the remedy as a diff, where it can be made by itself
    proof: str = ""  # how it is known
    page: str = ""  # of its diagnosis
    others: int = 0  # of the same diagnosis, which are not shown
    window: dict[str, Curve] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return self.finding.where.spot(shortened)


def roots(run: Run) -> list[Finding]:
    """Root causes, errors first."""
    found: list[Finding] = []
    for finding in run.first_findings(PER_CODE):
        found = [*without_surpassed(found, finding), finding]
    if not found:
        return []
    cards = {entry.card.code: entry.card for entry in catalog.entries()}
    return shown(fold(with_proofs(found, run.proofs(), cards), cards))


def views(run: Run) -> list[FindingView]:
    """Each root cause with all that belongs to it."""
    known, sources, kept = run.codes(), run.sources(), roots(run)
    left: Counter[str] = Counter(finding.code for finding in kept)
    listed: list[FindingView] = []
    for finding in kept:
        view = FindingView(finding, evidence(finding))
        view.code = excerpt(finding, sources)
        view.patch = patch(finding, sources)
        view.page = page(finding.code)
        left[finding.code] -= 1
        if not left[finding.code]:  # the last of its kind counts the others
            view.others = max(0, known.get(finding.code, 0) - PER_CODE)
        if len([each for each in listed if each.window]) < WINDOWS:
            view.window = window(run, finding)
        listed.append(view)
    return listed


def evidence(finding: Finding) -> list[tuple[str, str]]:
    where = finding.where
    rows = [("module", where.module), ("parameter", where.parameter)]
    shown = [(name, text) for name, text in rows if text]
    return shown + [(key.replace("_", " "), words.value(value)) for key, value in finding.seen.items()]


def page(code: str) -> str:
    """Why it matters and what to do, as `premortem explain` prints it."""
    try:
        _head, _blank, text = catalog.lookup(code).page.partition("\n\n")
    except PremortemError:  # a diagnosis of another version
        return ""
    return text


def excerpt(finding: Finding, sources: Mapping[str, str]) -> list[Line]:
    """From the text that the journal holds: the file may be another one by now."""
    file, line = finding.where.file, finding.where.line
    text = source(file, sources)
    if not line or text is None:
        return []
    lines = text.split("\n")
    if line > len(lines):
        return []
    numbers = range(max(1, line - CONTEXT), min(len(lines), line + CONTEXT) + 1)
    shown = [lines[number - 1].expandtabs(4).rstrip() for number in numbers]
    margin = min((len(each) - len(each.lstrip()) for each in shown if each), default=0)
    found = marked(finding, text)
    if found is not None:
        before = [len(lines[line - 1][:column].expandtabs(4)) - margin for column in found]
        found = Marked(*before)
    return [
        Line(number, each[margin:], number == line, found if number == line else None)
        for number, each in zip(numbers, shown, strict=True)
    ]


def source(file: str | None, sources: Mapping[str, str]) -> str | None:
    if not file:
        return None
    if file in sources:
        return sources[file]
    same = [text for path, text in sources.items() if Path(path).name == Path(file).name]
    return same[0] if len(same) == 1 else None


def patch(finding: Finding, sources: Mapping[str, str]) -> str:
    """The finding's own; else what `premortem lint --fix` would change in the line that is to blame."""
    if finding.patch is not None:
        return finding.patch.diff
    text, line = source(finding.where.file, sources), finding.where.line
    if text is None or not line or not (finding.where.file or "").endswith(".py"):
        return ""
    from premortem.changes import patches

    known = patches.of(finding, text)
    if known is not None:
        return known.diff
    from premortem.lint import engine, fixes
    from premortem.lint.project_facts import Facts

    name, data = Path(finding.where.file or "").name, text.encode()
    checked = engine.check_file(
        name, data, engine.all_rules(), Facts(Path(finding.where.file or "").parent, None)
    )
    reports = [report for report in checked.diagnostics if report.line == line and report.fix]
    fixed = fixes.apply(data, reports, unsafe=True).data.decode()
    return fixes.diff(name, text, fixed)


def window(run: Run, finding: Finding) -> dict[str, Curve]:
    """The numbers around the step it was found at, where the diagnosis is about numbers."""
    rates = finding.family in _RATES
    if not rates and not finding.family.startswith(_NUMBERS):
        return {}
    steps = run.around(finding.step, RADIUS)
    if len(steps) < 8 or not steps[0].step <= finding.step <= steps[-1].step + RADIUS:
        return {}
    numbers = [step.step for step in steps]
    named: list[tuple[str, Sequence[float | None]]] = [("loss", [step.loss for step in steps])]
    if rates:
        named.append(("learning rate", [step.lr for step in steps]))
    else:
        named.append(("gradient norm", [step.grad_norm for step in steps]))
    drawn = {name: curves.of_values(numbers, values) for name, values in named}
    return {name: curve for name, curve in drawn.items() if curve.count}


def shortened(path: str) -> str:
    return "/".join(Path(path).parts[-2:]) if len(Path(path).parts) > 3 else path


def worst(views: Sequence[FindingView]) -> Severity | None:
    order = list(Severity)
    return min((each.finding.severity for each in views), key=order.index, default=None)
