"""The report for people."""

from typing import Any

from rich.console import Console as Terminal
from rich.table import Table

from premortem.fit.speed.report import Report, Row


def show(report: Report, terminal: Terminal) -> None:
    if report.baseline_ms is not None:
        turns = f"{report.turns} steps timed, in alternation"
        terminal.print(
            f"The step takes {report.baseline_ms:.4g} ms on {report.device}, torch {report.torch} ({turns})."
        )
        terminal.print()
        terminal.print(_table(report))
    for title, found in (("Graph breaks", report.graph_breaks), ("Compiled again", report.recompiles)):
        if found:
            terminal.print(f"\n{title}")
            for each in found[:8]:
                terminal.print(f"  {_place(each)}  {each['reason']}", soft_wrap=True)
    if report.compile_error:
        terminal.print(f"\ntorch.compile cannot read the model: {report.compile_error}", soft_wrap=True)
    if report.skipped:
        terminal.print("\nNot tried")
        for name, why in report.skipped.items():
            terminal.print(f"  {name}: {why}", soft_wrap=True)
    if report.advice:
        terminal.print()
        for sentence in report.advice:
            terminal.print(sentence, soft_wrap=True)
    if report.problem:
        terminal.print(f"\n{report.problem}", soft_wrap=True)
    if note := report.sandbox.get("note"):
        terminal.print(f"\n{note}.", soft_wrap=True)


def _table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for title in ("ms", "speed", "first steps", "pays back", "gradients"):
        table.add_column(title, justify="right")
    table.add_column("")
    table.add_row("as it is", f"{report.baseline_ms:.4g}", "1.00", "", "", "", "")
    for row in sorted(report.rows, key=lambda row: -(row.speed_up or 0.0)):
        table.add_row(*_cells(row))
    return table


def _cells(row: Row) -> tuple[str, ...]:
    if row.error or row.milliseconds is None:
        return (row.name, "", "", "", "", "", f"fails: {row.error}" if row.error else "not timed")
    gradients = "" if row.gradient_error is None else f"{row.gradient_error:.1e}"
    return (
        row.name,
        f"{row.milliseconds:.4g}",
        f"{row.speed_up:.2f}",
        f"+{row.warm_up_seconds:.1f} s" if row.warm_up_seconds >= 0.1 else "",
        f"{row.pays_back_after} steps" if row.pays_back_after and row.warm_up_seconds >= 0.1 else "",
        gradients,
        ("does not agree; " if row.agrees is False else "") + row.note,
    )


def _place(each: dict[str, Any]) -> str:
    times = f" ({each['times']} times)" if each["times"] > 1 else ""
    return f"{each['file']}:{each['line']}{times}"
