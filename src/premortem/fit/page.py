"""What people see of a prediction: a page for the terminal, and JSON."""

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console as Terminal
from rich.table import Table
from rich.text import Text

from premortem import __version__
from premortem.files.plain import dumps
from premortem.fit.answer import FITS, NO, Answer
from premortem.fit.gpus import GIB, MIB, Gpu
from premortem.fit.levers import Lever
from premortem.fit.sides import Side

_WORTH = 1024  # bytes of a line in the table: a loss is one number
_SHOWN = 8
_ASSUMED = 5
_COLOURS = {FITS: "bold green", "tight": "bold yellow", NO: "bold red"}


def size(count: float) -> str:
    if abs(count) >= 0.95 * GIB:
        return f"{count / GIB:.2f} GiB"
    return f"{count / MIB:.1f} MiB" if abs(count) >= MIB else f"{count / 1024:.1f} KiB"


def record(found: Answer, gpu: Gpu) -> str:
    """As JSON, for other tools."""
    base = found.base
    keys = ("op", "module", "file", "line", "bytes", "kind", "count", "shape", "dtype")
    whole = {
        "premortem": __version__,
        "device": gpu.name,
        "device_bytes": gpu.memory,
        "context_bytes": gpu.context,
        "peak_allocated_bytes": base["allocated"],
        "peak_reserved_bytes": base["reserved"],
        "peak_reserved_unlimited_bytes": base["reserved_unlimited"],
        "by_kind": base["kinds"],
        "by_module": base["modules"],
        "top": [{key: group[key] for key in keys} for group in base["groups"]],
        "verdict": found.verdict,
        "batch": found.batch,
        "largest_batch": found.largest,
        "largest_batch_note": found.largest_why,
        "side": found.side.side if found.side else None,
        "largest_side": found.side.largest if found.side else None,
        "largest_side_step": found.side.step if found.side else None,
        "largest_side_note": found.side.why if found.side else "",
        "peak_phase": base["phase"],
        "does_not_fit": base["failed"],
        "advice": [asdict(advice) for advice in found.advice],
        "assumptions": base["assumptions"],
        "notes": found.notes,
        "untried": found.untried,
        "steps": base["steps"],
        "seconds": base["seconds"],
        "measured": base.get("measured"),
        "sandbox": base.get("sandbox"),
    }
    return dumps(whole, indent=2) + "\n"


def show_prediction(found: Answer, gpu: Gpu, terminal: Terminal, *, default: bool = False) -> None:
    """What is known after the first rehearsal. `default`: no card was named."""
    base = found.base
    terminal.print(_headline(found, gpu))
    if default:
        terminal.print(Text("That is the default card: --device NAME is another one.", "dim"))
    terminal.print()
    terminal.print(_kinds(base))
    terminal.print()
    terminal.print(_alive(base))
    for sentence in base["assumptions"][:_ASSUMED]:
        terminal.print(Text(f"assumed: {sentence}.", "dim"))
    terminal.print()
    terminal.file.flush()


def show_rest(found: Answer, terminal: Terminal) -> None:
    """What other rehearsals have shown."""
    base = found.base
    if base.get("measured"):
        terminal.print(_truth(base))
    terminal.print(_batch(found), style="dim" if found.largest is None else "")
    if found.side is not None:
        terminal.print(_side(found.side), style="dim" if found.side.largest is None else "")
    if found.advice:
        terminal.print()
        terminal.print(_advice(found))
    for sentence in found.notes:
        terminal.print(Text(f"{sentence}.", "dim"))
    if note := base.get("sandbox", {}).get("note"):
        terminal.print(Text(f"{note}.", "dim"))


def _headline(found: Answer, gpu: Gpu) -> Text:
    base = found.base
    room = gpu.memory - gpu.context
    words = {FITS: "It fits", "tight": "It is tight", NO: "It does not fit"}[found.verdict]
    text = Text(f"{words} on {gpu.title}. ", _COLOURS[found.verdict])
    text.append(
        f"Peak {size(base['allocated'])} allocated, {size(base['reserved'])} reserved, of {size(room)} usable"
    )
    text.append(f" ({size(gpu.memory)} less {size(gpu.context)} for CUDA itself).")
    if found.verdict != NO and base["reserved_unlimited"] > room:
        text.append(
            f" On a larger card the allocator would reserve {size(base['reserved_unlimited'])}; "
            "here it gives back what is not in use."
        )
    if base["failed"]:
        failed = base["failed"]
        text.append(
            f" The first allocation without room: {size(failed['bytes'])} by `{failed['op']}`{_at(failed)}."
        )
    return text


def _truth(base: dict[str, Any]) -> Text:
    measured = base["measured"]
    problem = f"{measured['problem']}\n{measured.get('output', '')}".strip()
    if "allocated" not in measured:
        return Text(f"Nothing was measured: {problem}", "red")
    text = Text(f"Measured on {measured['card']}: ")
    for key in ("allocated", "reserved"):
        error = base[key] / max(measured[key], 1) - 1
        text.append(f"{size(measured[key])} {key} (predicted {error:+.1%}) ")
    if measured["problem"]:
        text.append(f"but it ended before its third step: {problem}", "red")
    return text


def _batch(found: Answer) -> Text:
    if found.largest is None:
        return Text(f"The largest batch is not known: {found.largest_why}.")
    if not found.largest:
        return Text("Not even a batch of one fits.")
    more = f" ({found.largest_why})" if found.largest_why else ""
    lever = f", set with {_lever(found)}" if found.lever else ""
    return Text(f"Largest batch that fits: {found.largest}{more}; this run has {found.batch}{lever}.")


def _side(side: Side) -> Text:
    if side.largest is None:
        return Text(f"The largest side is not known: {side.why}.")
    if not side.largest:
        return Text("No side that was tried fits with this batch.")
    more = f" ({side.why})" if side.why else ""
    lever = f", set with {_spelled(side.lever)}" if side.lever else ""
    return Text(
        f"Largest side that fits with this batch: {side.largest}{more}, in steps of {side.step}; "
        f"this run has {side.side}{lever}."
    )


def _lever(found: Answer) -> str:
    lever = found.lever
    assert lever is not None  # noqa: S101 - asked by the caller
    if lever.value != found.batch:
        lever = replace(
            lever,
            spelled=f"{lever.spelled} {found.largest_value}",
            name=f"{lever.name} = {found.largest_value}",
        )
    return _spelled(lever)


def _spelled(lever: Lever) -> str:
    words = {
        "argument": lever.spelled,
        "constant": f"`{lever.name}` in the script",
        "literal": f"the number {lever.name} in the script",
    }
    return words.get(lever.kind, lever.name)


def _kinds(base: dict[str, Any]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(f"alive at the peak ({base['phase']})")
    table.add_column("", justify="right")
    table.add_column("")
    for kind, count in base["kinds"].items():
        share = count / max(base["allocated"], 1)
        table.add_row(kind, size(count), Text("█" * round(30 * share), "blue"))
    return table


def _alive(base: dict[str, Any]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title, side in (("operation", "left"), ("bytes", "right"), ("tensors", "right"), ("where", "left"), ("module", "left")):  # fmt: skip
        table.add_column(title, justify=side, overflow="fold")  # type: ignore[arg-type]
    for group in base["groups"][:_SHOWN]:
        if group["bytes"] < _WORTH:
            continue
        shape = "×".join(map(str, group["shape"]))
        what = f"{group['op']} {shape} {group['dtype']}".strip()
        where = f"{_short(group['file'])}:{group['line']}" if group["file"] else ""
        table.add_row(
            Text(what), size(group["bytes"]), str(group["count"]), Text(where), Text(group["module"])
        )
    return table


def _advice(found: Answer) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("what would help", "saves", "peak", "", "what it costs"):
        table.add_column(title, overflow="fold")
    for advice in found.advice:
        how = "" if advice.how == "rehearsed" else " (calculated, not rehearsed)"
        verdict = Text(advice.verdict, _COLOURS[advice.verdict])
        table.add_row(
            Text(advice.title + how), size(advice.saves), size(advice.peak), verdict, Text(advice.cost)
        )
    return table


def _at(group: dict[str, Any]) -> str:
    return f" at {_short(group['file'])}:{group['line']}" if group["file"] else ""


def _short(file: str) -> str:
    """From here, if it is below here."""
    try:
        near = os.path.relpath(file)
    except ValueError:
        return file
    return near if not near.startswith("..") else str(Path(*Path(file).parts[-3:]))
