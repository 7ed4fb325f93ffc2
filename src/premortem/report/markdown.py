"""The same for a pull request or an issue: Markdown, with curves as lines of text."""

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from premortem import __version__
from premortem.amounts import count
from premortem.findings import Certainty
from premortem.report import words
from premortem.report.comparison import Comparison
from premortem.report.curves import sparkline
from premortem.report.finding_view import FindingView
from premortem.report.story import Story, all_curves

LAYERS = 24


def page(story: Story) -> str:
    parts = [
        f"# {text(story.verdict.sentence)}",
        f"{text(story.verdict.ending)} {words.capital(story.verdict.found)}.",
        *(_answer(story, story.answer) if story.answer is not None else ()),
        table(*_facts(story)),
        *_timeline(story),
        "## Findings",
        *(part for view in story.findings for part in _finding(view, answered=view is story.answer)),
        *([] if story.findings else ["Nothing to report."]),
        *_layers(story),
        *_ledger(story),
        *_inflow(story),
        *_custody(story),
        *_resources(story),
        "## Checkpoints",
        text(story.safest),
        *_checkpoints(story),
        "## Setup",
        fence(story.command, "console"),
        table(("", ""), [(fact.name, fact.text) for fact in story.setup]),
        "## Environment",
        table(("", ""), [(fact.name, fact.text) for fact in story.environment]),
        f"Made by premortem {__version__} from `{story.name}`.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def comparison_page(comparison: Comparison) -> str:
    left, right = comparison.left, comparison.right
    rows = [
        ("run", left.name, right.name),
        ("verdict", left.verdict.sentence, right.verdict.sentence),
        ("end", left.verdict.ending, right.verdict.ending),
        ("steps", f"{left.steps:,}", f"{right.steps:,}"),
        ("command", left.command, right.command),
    ]
    parts = [f"# {text(comparison.sentence)}", "## Code and settings"]
    for name, patch in comparison.patches.items():
        parts += [f"### {text(name)}, from A to B", fence(patch, "diff")]
    environment = comparison.differences["Environment"]
    for group, found in comparison.differences.items():
        if found and found is not environment:
            parts += [f"### {group}", table(("", "A", "B"), found)]
    parts += [
        "" if comparison.unlike else "No difference.",
        "## The runs",
        table(("", "A", "B"), rows),
        "## Curves",
    ]
    for name, story in (("A", left), ("B", right)):
        lines = [f"{name} {label:<24} {sparkline(curve)}" for label, curve in all_curves(story)]
        parts.append(fence("\n".join(lines)))
    if environment:
        parts += ["## Environment", table(("", "A", "B"), environment)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _facts(story: Story) -> tuple[list[str], list[list[str]]]:
    facts = {
        "script": story.script,
        "steps": f"{story.steps:,}",
        "time": words.duration(story.meta.get("seconds")),
        "rate": f"{words.number(story.rate)} steps/s" if story.rate else "–",
        "started": words.when(story.meta.get("started")),
        "policy": str(story.meta.get("policy", "–")),
    }
    if story.constant_rate is not None:
        facts["learning rate"] = f"{words.number(story.constant_rate)}, constant"
    return list(facts), [list(facts.values())]


def _answer(story: Story, view: FindingView) -> Iterator[str]:
    yield from _explained(view)
    yield f"**Saved.** {text(story.safest)}"


def _timeline(story: Story) -> Iterator[str]:
    shown = all_curves(story)
    if not shown:
        return
    yield "## Timeline"
    yield fence("\n".join(f"{name[:24]:<24} {sparkline(curve)}" for name, curve in shown))
    rows = []
    for name, curve in shown:
        gaps = "; ".join(_gap(gap.first, gap.last, gap.what) for gap in curve.gaps[:3])
        more = f"; and {len(curve.gaps) - 3:,} more" if len(curve.gaps) > 3 else ""
        numbers = map(words.number, (curve.first, curve.low, curve.high, curve.last))
        rows.append((name, *numbers, gaps + more or "–"))
    yield table(("series", "first", "lowest", "highest", "last", "not finite"), rows)
    if story.refused:
        yield f"{count(story.refused, 'step')} refused: the update would not have been finite."


def _gap(first: int, last: int, what: str) -> str:
    steps = f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"
    return f"{what.replace('nan', 'NaN')} at {steps}"


def _finding(view: FindingView, *, answered: bool) -> Iterator[str]:
    finding = view.finding
    yield f"### {finding.severity.value} {text(finding.code)} {text(finding.name)}"
    yield f"*step {finding.step:,}, {finding.certainty.value}*"
    yield text(words.capital(words.sentence(finding.message)))
    if not answered:
        yield from _explained(view)
    if view.window:
        yield "**Evidence.** Around this step:"
        yield fence("\n".join(f"{name:<16} {sparkline(curve)}" for name, curve in view.window.items()))
    if view.evidence:
        yield table(("evidence", ""), view.evidence)
    if view.others > 0:
        yield f"{view.others:,} more of {text(finding.code)} are in the journal."


def _explained(view: FindingView) -> Iterator[str]:
    """The line, the cause, the proof and the fix."""
    finding = view.finding
    if view.place:
        yield f"**Where.** {code(view.place)}"
    if view.code:
        digits = len(str(view.code[-1].number))
        lines: list[str] = []
        for line in view.code:
            lines.append(f"{'>' if line.blamed else ' '} {line.number:>{digits}} | {line.text}".rstrip())
            if line.marked:
                start, end = line.marked
                lines.append(f"  {' ' * digits} | {' ' * start}{'^' * (end - start)}")
        yield fence("\n".join(lines), "python")
    if finding.cause:
        yield f"**Cause.** {text(words.capital(words.sentence(finding.cause)))}"
    if view.proof:
        yield f"**{'Proof' if finding.certainty is Certainty.PROVED else 'How sure'}.** {text(view.proof)}"
    if finding.remedy:
        yield f"**Fix.** {text(words.capital(words.sentence(finding.remedy)))}"
    if view.patch:
        yield fence(view.patch, "diff")


def _layers(story: Story) -> Iterator[str]:
    if not story.heats:
        return
    yield "## Layers"
    yield "Median over the run, and the newest value."
    columns = {heat.what: {name: pair for name, *pair in heat.extremes} for heat in story.heats}
    for heat in story.heats:
        rows = [
            (name, words.number(middle), words.number(newest))
            for name, (middle, newest) in list(columns[heat.what].items())[:LAYERS]
        ]
        yield table((heat.title.lower(), "median", "newest"), rows)


def _ledger(story: Story) -> Iterator[str]:
    for ledger in story.ledgers:
        yield "## Loss ledger"
        rows = [
            (
                term["name"],
                *(words.number(float(term[key])) for key in ("value", "share", "low", "high")),
                f"{term['failures']:,} of {term['calls']:,}",
            )
            for term in ledger["terms"]
        ]
        yield table(("term", "value", "share", "lowest", "highest", "failed"), rows)
        yield "\n".join(
            f"- {text(term['name'])}: {text(term['cause'])}" for term in ledger["terms"] if term["cause"]
        )


def _inflow(story: Story) -> Iterator[str]:
    for place, flow in enumerate(story.flows):
        if not place:
            yield "## What flowed in"
        yield f"`{flow.name}`, {text(flow.about)}"
        yield table(("column", "mean ± spread", "range", "histogram"), flow.rows)


def _custody(story: Story) -> Iterator[str]:
    for chain in story.chains:
        yield "## Chain of custody"
        yield "\n".join(f"- {holds:,} of {all_:,} {link}" for link, holds, all_ in chain.links)
        if chain.broken:
            yield table(("parameter", "first broken link"), chain.broken)


def _resources(story: Story) -> Iterator[str]:
    if not story.times and not story.memory:
        return
    yield "## Time and memory"
    looks = sum(share.samples for share in story.times)
    yield table(
        ("where the main thread was", "share", "samples"),
        [(s.what, words.percent(s.share), f"{s.samples:,} of {looks:,}") for s in story.times],
    )
    rows = [(name, words.size(curve.last), words.size(curve.high)) for name, curve in story.memory.items()]
    yield table(("memory", "at the end", "highest"), rows)


def _checkpoints(story: Story) -> Iterator[str]:
    rows = [
        (each.path, f"{each.step:,}" if each.step is not None else "–", words.size(each.bytes), each.state)
        for each in story.saved
    ]
    yield table(("file", "step", "size", "state"), rows)


def text(words_: object) -> str:
    """Only text, and `code`: nothing of it is markup."""
    parts = str(words_).replace("\r", " ").replace("\n", " ").split("`")
    if len(parts) % 2 == 0:
        return _escaped(" ".join(parts))
    return "".join(code(part) if place % 2 else _escaped(part) for place, part in enumerate(parts))


def _escaped(plain: str) -> str:
    return re.sub(r"([\\*_\[\]#|~])", r"\\\1", html.escape(plain, quote=False))


def code(content: str) -> str:
    return f"`{content}`" if content.strip() and "`" not in content else _escaped(content)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    listed = [[_cell(cell) for cell in row] for row in rows]
    if not listed:
        return ""
    lines = [list(map(_cell, head)), ["---"] * len(head), *listed]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(content: object) -> str:
    """In a table a bar ends a cell, in code too."""
    return text(content).replace("\\|", "|").replace("|", "\\|")


def fence(content: str, language: str = "") -> str:
    longest = max((len(run) for run in re.findall("`+", content)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{content.rstrip()}\n{ticks}" if content.strip() else ""
