"""Write what comes from elsewhere: docs/units/ and the tables of findings from the units, numbers from bench/.

`python tools/pages.py` rewrites what is stale; with `--check` it only says what is, and exits with 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import halves
import rooms
import strangers
import why_table

from premortem import catalog
from premortem.lint import problems, rules

import stories
import tables

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Written by `make docs` from the unit's docstring: change it there. -->"
FOUND_BY = {"why": "why", "detectors": "run", "preflight": "check", "lint": "lint"}
# What the README says of each kind of trouble: its families, and two findings that everybody has met.
KINDS = {
    "the update": (
        "optimizer-ownership grad-flow update-order accumulation clipping weight-decay gan",
        "parameter-without-optimizer accumulation-divided-sometimes",
    ),
    "learning rate and schedule": ("lr scheduler", "scheduler-stepped-per-batch plateau-wrong-mode"),
    "numbers": (
        "numerics-nan numerics-overflow numerics-masked exploding vanishing init-saturation",
        "non-finite-training masked-non-finite",
    ),
    "loss and shapes": ("loss-definition shape", "softmax-before-cross-entropy broadcast-in-loss"),
    "evaluation": ("eval-mode eval-stale", "evaluated-in-train-mode evaluated-copy-never-changes"),
    "data": (
        "data-empty data-labels data-order data-augment data-scale",
        "splits-overlap train-and-eval-inputs-differ",
    ),
    "checkpoints": ("checkpoint persistence", "checkpoint-did-not-match poisoned-checkpoint"),
    "memory and speed": ("memory-leak memory-fit throughput compile", "graphs-kept-alive waits-for-data"),
    "many ranks": ("distributed", "ranks-apart same-data-on-every-rank"),
    "configuration, environment, versions": (
        "config environment api-drift",
        "switch-is-text unknown-keyword",
    ),
}


class Slot(NamedTuple):
    """A place between two marks of a page, and the results of bench/ that it is written from."""

    page: str
    marks: str
    results: tuple[str, ...]
    write: Callable[..., str]


def unit_page(entry: catalog.Entry) -> str:
    """The same words that `premortem explain` prints; the title alone is shorter, it stands in the navigation."""
    title, _blank, text = entry.page.partition("\n\n")
    name, _bracket, about = title.removesuffix(")").partition(" (")
    return f"{NOTE}\n# {name}\n\n*{about}; found by `premortem {found_by(entry)}`*\n\n{text}"


def found_by(entry: catalog.Entry) -> str:
    return FOUND_BY.get(entry.unit.__module__.split(".")[1], "run")


def table(entries: tuple[catalog.Entry, ...]) -> str:
    """For docs/findings.md: everything that can be said."""
    rows = [
        f"| {_link(e, 'units')} | {_cell(e.summary)} | {e.card.severity.value} | {found_by(e)} | {e.card.family} |"
        for e in entries
    ]
    head = ["| finding | what it means | severity | found by | family |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows])


def kinds(entries: tuple[catalog.Entry, ...]) -> str:
    """For the README: how many findings of each kind, and two of them."""
    by_name = {entry.card.name: entry for entry in entries}
    rows = ["| what goes wrong with | findings | for example |", "|---|---|---|"]
    for kind, (families, names) in KINDS.items():
        count = sum(entry.card.family in families.split() for entry in entries)
        examples = ", ".join(_link(by_name[name], "docs/units") for name in names.split() if name in by_name)
        rows.append(f"| {kind} | {count} | {examples} |")
    return "\n".join([*rows, f"| **all** | **{len(entries)}** | [the whole list](docs/findings.md) |"])


def lint_rules(entries: tuple[catalog.Entry, ...]) -> str:
    """For docs/lint.md: what is on by default, then what `--preview` adds."""
    parts = []
    for preview, title in ((False, "On by default"), (True, "With `--preview`")):
        rows = [
            f"| {_link(e, 'units')} | {e.card.family} | {e.card.severity.value} | {_cell(e.summary)} |"
            for e in entries
            if e.card.preview is preview
        ]
        head = ["| rule | family | severity | what it finds |", "|---|---|---|---|"]
        parts.append("\n".join([f"### {title}", "", *(head + rows if rows else ["None at the moment."])]))
    return "\n\n".join(parts)


def is_of_lint(entry: catalog.Entry) -> bool:
    return entry.unit in {*rules.ALL, *problems.ALL}


def _link(entry: catalog.Entry, folder: str) -> str:
    return f"[{entry.card.code} {entry.card.name}]({folder}/{entry.card.name}.md)"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


SLOTS = (
    Slot("README.md", "cost table", ("cost-h200",), tables.cost),
    Slot("README.md", "strangers in short", ("strangers",), strangers.in_short),
    Slot("docs/measured.md", "strangers table", ("strangers",), strangers.table),
    Slot("README.md", "numerics", ("numerics",), tables.numerics),
    Slot("README.md", "check", ("check",), tables.checked),
    Slot("README.md", "casebook in short", ("casebook",), stories.in_short),
    Slot("README.md", "kills", ("checkpoints",), tables.kills),
    Slot("docs/measured.md", "cpu cost table", ("cost-cpu",), tables.cost),
    Slot("docs/measured.md", "calls table", ("cost-calls",), tables.calls),
    Slot("docs/measured.md", "overhead table", ("overhead-h200", "overhead-cpu"), tables.overheads),
    Slot("docs/measured.md", "numerics", ("numerics",), tables.numerics),
    Slot("docs/measured.md", "check", ("check",), tables.checked),
    Slot("docs/measured.md", "casebook table", ("casebook",), stories.table),
    Slot("docs/why.md", "why table", ("why",), why_table.table),
    Slot("README.md", "why in short", ("why",), why_table.in_short),
    Slot("docs/report.md", "report table", ("report", "ui"), tables.report_and_ui),
    Slot("docs/versions.md", "matrix table", ("matrix",), tables.matrix),
    Slot("docs/run.md", "numerics", ("numerics",), tables.numerics),
    Slot("docs/run.md", "unseen", ("numerics-unseen",), tables.unseen),
    Slot(
        "docs/measured.md",
        "halves table",
        ("wild", "worlds", "numerics-unseen", "numerics", "check"),
        halves.table,
    ),
    Slot("docs/worlds.md", "worlds table", ("worlds",), tables.worlds),
    Slot("docs/measured.md", "trust table", ("trust",), tables.trust),
    Slot("docs/check.md", "check", ("check",), tables.checked),
    Slot("docs/checkpoints.md", "checkpoints table", ("checkpoints",), tables.checkpoints),
    Slot("docs/ranks.md", "ranks table", ("ranks",), tables.ranks),
    Slot("docs/ranks.md", "scale table", ("ranks_scale",), tables.ranks_measured),
    Slot("docs/ranks.md", "model table", ("ranks_scale",), tables.ranks_modelled),
    Slot("docs/ranks.md", "counts table", ("ranks_counts",), tables.ranks_counted),
    Slot("docs/ranks.md", "played table", ("ranks_counts",), tables.ranks_played),
    Slot("docs/sweep.md", "sweep table", ("sweep",), tables.swept),
    Slot("docs/report.md", "shelf table", ("shelf",), tables.shelved),
    Slot("docs/parts.md", "ram cache table", ("ram_cache",), tables.ram_cache),
    Slot("docs/lint.md", "lint table", ("lint",), tables.lint_costs),
    Slot("docs/fit.md", "fit", ("fit-predicted", "fit-measured"), tables.fit_summary),
    Slot("docs/fit-accuracy.md", "fit table", ("fit-predicted", "fit-measured"), tables.fit_table),
    Slot("docs/fit-accuracy.md", "fit verdicts", ("fit-verdicts-measured",), tables.fit_verdicts),
    Slot("casebook/README.md", "casebook table", ("casebook",), stories.table),
    Slot("casebook/README.md", "gpu table", ("casebook-gpu",), stories.on_a_card),
    Slot("casebook/README.md", "drill table", ("drill",), tables.drilled),
)


def between(text: str, name: str, inner: str, file: str) -> str:
    """The text with `inner` between its two marks of that name."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, found, rest = text.partition(begin)
    _old, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{file} needs the lines `{begin}` and `{end}`, in this order")
    return f"{before}{begin}\n{inner}\n{end}{after}"


def slots(root: Path, entries: tuple[catalog.Entry, ...]) -> Iterator[tuple[str, str, str]]:
    """Page, marks, and what belongs between them: from the units, then from what was measured."""
    of_lint = tuple(entry for entry in entries if is_of_lint(entry))
    yield "docs/findings.md", "catalog table", table(entries)
    yield "docs/lint.md", "rules table", lint_rules(of_lint)
    yield "README.md", "kinds table", kinds(entries)
    yield "ARCHITECTURE.md", "rooms table", rooms.table().rstrip()
    verdicts = root / "docs" / "lint" / "verdicts.json"
    if verdicts.exists():
        names = {entry.card.code: entry.card.name for entry in of_lint}
        yield "docs/lint/precision.md", "precision table", tables.precision(_json(verdicts), names)
    read = root / "docs" / "lint" / "exam.json"
    if read.exists():
        names = {entry.card.code: entry.card.name for entry in of_lint}
        yield "docs/lint/precision.md", "exam table", tables.exam(_json(read))
        yield "docs/lint/precision.md", "exam rules table", tables.exam_by_rule(_json(read), names)
    cases = root / "bench" / "results" / "casebook.json"
    if cases.exists():
        yield "casebook/README.md", "stories", stories.paragraphs(_json(cases), root / "casebook")
    for slot in SLOTS:
        results = [root / "bench" / "results" / f"{name}.json" for name in slot.results]
        if all(path.exists() for path in results):
            yield slot.page, slot.marks, slot.write(*map(_json, results))


def wanted(root: Path = ROOT) -> dict[Path, str | None]:
    """Every generated file and what must be in it; None for one that must not be there."""
    entries = catalog.entries()
    units = root / "docs" / "units"
    pages: dict[Path, str | None] = dict.fromkeys(units.glob("*.md"))
    pages.update({units / f"{entry.card.name}.md": unit_page(entry) for entry in entries})
    for name, marks, inner in slots(root, entries):
        page = root / name
        text = pages.get(page) or _read(page)
        if text is not None:
            pages[page] = between(text, marks, inner, name)
    return pages


def stale(root: Path = ROOT) -> dict[Path, str | None]:
    return {path: text for path, text in wanted(root).items() if _read(path) != text}


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def write(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    old = stale()
    check = arguments == ["--check"]
    for path, text in old.items():
        print(f"{'stale' if check else 'wrote' if text else 'removed'} {path.relative_to(ROOT)}")
        if not check:
            write(path, text)
    return int(check and bool(old))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
