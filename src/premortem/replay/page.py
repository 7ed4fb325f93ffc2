"""The one page that a replay ends with, for a person and as JSON."""

import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console as Terminal
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from premortem import __version__, redaction
from premortem.files.plain import dumps
from premortem.replay.director import Replayed
from premortem.replay.rank_results import named
from premortem.terminal.frame import indented

_COMPARED = ("torch", "python", "cuda", "device", "numpy", "threads")
_MOST_LOSSES = 8
_MADE = {"nan": "NaN", "inf": "infinity", "-inf": "minus infinity"}


def show(done: Replayed, terminal: Terminal) -> None:
    terminal.print(Group(*_page(done)), soft_wrap=False)


def record(done: Replayed, capsule: Path) -> str:
    """The same as strict JSON."""
    report = done.report
    found = {
        "premortem": __version__,
        "capsule": str(capsule),
        "step": done.manifest["number"],
        "ranks": _ranks(done),
        "device": str(done.manifest.get("device", "")),
        "reproduced": report.reproduced,
        "bitwise": report.bitwise,
        "gradients_bitwise": report.gradients,
        "certainty": "proved" if report.reproduced else "suspected",
        "failure": report.failure if report.reproduced else "",
        "cause": cause(done),
        "certificate": report.certificate,
        "smallest": asdict(report.smallest) if report.smallest is not None else None,
        "samples": _left_out(done),
        "interventions": [asdict(outcome) for outcome in report.outcomes],
        "differences": differences(done),
        "warnings": [*done.manifest["notes"], *report.warnings],
        "problem": report.problem,
        "launches": done.launches,
        "sandbox": done.sandbox,
        "trials": len(report.results),
    }
    return dumps(found, indent=2) + "\n"


def _left_out(done: Replayed) -> dict[str, Any] | None:
    """The samples without which the step is finite, by their numbers in the dataset."""
    known = (o.evidence.get("source") for o in done.report.outcomes if o.gone)
    return next((source for source in known if source), None)


# --- sentences -------------------------------------------------------------------------------


def cause(done: Replayed) -> str:
    """One or two sentences: where it is born, and the least that removes it."""
    report = done.report
    if not report.reproduced:
        return ""
    parts = [_birth(report.certificate, _folder(done))] if report.certificate else []
    if report.smallest is not None:
        parts.append(f"The smallest change that removes it: {report.smallest.title}. {report.smallest.tells}")
    elif report.outcomes:
        parts.append("None of the changes that were tried removes it.")
    return " ".join(parts)


def _birth(found: dict[str, Any], folder: str) -> str:
    made = _MADE.get(found["made"], "a value that is not finite")
    place = f" at {_place(found, folder)}" if found["file"] else ""
    rank = f" on {named(found['ranks'])}" if "ranks" in found else ""
    if found["stage"] == "data":
        return f"{made} came in with the data{rank} (`{found['what']}`){place}."
    if found["stage"] == "weights":
        return f"The weight `{found['parameter']}` held {made} before the step{rank}."
    op = f"`{found['op']}`" if found["op"] else "an operation"
    where = {"backward": "the gradient of ", "update": "the optimizer's "}.get(found["stage"], "")
    module = f" in `{found['module']}`" if found["module"] else ""
    detail = f": {found['detail']}" if found["detail"] else ""
    whole = f"{made} was born{rank} in {where}{op}{place}{module}{detail}."
    return whole[0].upper() + whole[1:]


def _folder(done: Replayed) -> str:
    """Where the script was started."""
    return str(done.manifest["started"].get("cwd", ""))


def _place(found: dict[str, Any], folder: str) -> str:
    """File and line, as seen from that folder."""
    file = Path(found["file"])
    near = file.relative_to(folder) if folder and file.is_relative_to(folder) else file
    return f"{near}:{found['line']}"


def differences(done: Replayed) -> list[str]:
    """What is not the same here as in the recorded run."""
    then, now = done.manifest["versions"], done.here
    found = [
        f"{name} {then.get(name)} then, {now.get(name)} here"
        for name in _COMPARED
        if now and then.get(name) != now.get(name)
    ]
    if str(done.manifest.get("device", "")).startswith("cuda") and now.get("device") == "cpu":
        found.append(
            "it ran on a GPU and is replayed on the CPU: sums are rounded differently, and dropout draws other numbers"
        )
    for option, name in redaction.missing(done.manifest["started"]["argv"], os.environ).items():
        found.append(
            f"the capsule does not hold what was given for {option}, which is secret; the variable {name} can hold it"
        )
    return found


# --- the page --------------------------------------------------------------------------------


def _page(done: Replayed) -> list[Any]:
    report, manifest = done.report, done.manifest
    together = f" on {_ranks(done)} ranks" if _ranks(done) > 1 else ""
    lines: list[Any] = [Text(f"Replay of step {manifest['number']}{together}", "bold")]
    started = " ".join(redaction.argv(manifest["started"]["argv"]))
    lines.append(Text(f"  {started}  in {_folder(done)}", "dim"))
    lines.append(_verdict(done))
    notes = [*differences(done), *manifest["notes"], *report.warnings]
    notes += [str(done.sandbox["note"])] if done.sandbox.get("note") else []
    lines += [Text(f"  note   {sentence}", "dim") for sentence in notes]
    if not report.reproduced:
        if done.tail:
            lines += [Text("  the last lines of the script:", "dim"), Text(indented(done.tail), "dim")]
        return lines
    lines += [Text(), Text("Cause (proved)", "bold red"), Padding(Text(cause(done)), (0, 0, 0, 2))]
    if report.certificate:
        lines += _certificate(report.certificate, _folder(done))
    if report.outcomes:
        lines += [Text(), _table(done)]
    kept = "What the script wrote went to a folder that is thrown away; its own files are as they were."
    lines += [Text(), Text(f"{kept} Trials: {len(report.results)}, launches: {done.launches}.", "dim")]
    if report.problem:
        lines.append(Text(f"The plan was cut short: {report.problem}.", "yellow"))
    return lines


def _verdict(done: Replayed) -> Text:
    report, manifest = done.report, done.manifest
    then = _losses(manifest["losses"])
    if not report.reproduced:
        what = report.problem or "the same step is finite here"
        return Text(f"  Not reproduced: {what}.", "bold yellow")
    if report.bitwise:
        how = f"loss {then}, the same to the last bit"
        pieces = " of every rank" if _ranks(done) > 1 else ""
        same = f", and so are all gradients{pieces}"
        how += same if report.gradients else "; the gradients differ in some bits"
        if not manifest["losses"]:
            how = "all gradients are the same to the last bit"
    else:
        now = _losses(report.results[0].losses)
        how = f"it fails here too, but not bit for bit (loss {then} then, {now} here)"
    place = " The script was taken to its place in the loop first." if report.at_its_place else ""
    return Text(f"  Reproduced: {how}.{place}", "bold green" if report.bitwise else "bold yellow")


def _losses(losses: list[dict[str, Any]]) -> str:
    """Each of them; of several ranks, whose it is."""
    shown = [
        f"{float(loss['value']):.6g}" + (f" on rank {loss['rank']}" if "rank" in loss else "")
        for loss in losses
    ]
    finite = sum(math.isfinite(float(loss["value"])) for loss in losses)
    if len(shown) > _MOST_LOSSES and 0 < finite < len(shown):
        broken = [
            each for each, loss in zip(shown, losses, strict=True) if not math.isfinite(float(loss["value"]))
        ]
        return f"{', '.join(broken[:_MOST_LOSSES])} of {len(shown)}, the others finite"
    return ", ".join(shown) or "unknown"


def _ranks(done: Replayed) -> int:
    """How many processes made the step."""
    return int((done.manifest.get("ranks") or {}).get("ranks", 1))


def _certificate(found: dict[str, Any], folder: str) -> list[Text]:
    facts = [
        ("rank", ", ".join(map(str, found.get("ranks", ())))),
        ("op", found["op"]),
        ("where", _place(found, folder) if found["file"] else ""),
        ("module", found["module"]),
        ("weight", found["parameter"]),
        ("samples", ", ".join(map(str, found["rows"]))),
        ("type", found["dtype"]),
    ]
    lines = [Text(f"  {label:<8}{value}") for label, value in facts if value]
    for operand in found["operands"]:
        size = "x".join(map(str, operand["shape"])) or "a number"
        lines.append(
            Text(f"  {'operand':<8}{operand['name']}: {_range(operand)} ({operand['dtype']}, {size})")
        )
    return lines


def _range(operand: dict[str, Any]) -> str:
    low, high = float(operand["low"]), float(operand["high"])
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"


def _table(done: Replayed) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    loss = "mean loss" if _ranks(done) > 1 else "loss"
    for title in ("tried", "failure", loss, "what it tells"):
        table.add_column(title)
    for outcome in done.report.outcomes:
        state = {True: Text("gone", "green"), False: Text("stays", "red"), None: Text("not tried", "yellow")}
        smallest = outcome is done.report.smallest
        table.add_row(
            Text(outcome.title, "bold" if smallest else ""),
            state[outcome.gone],
            "" if outcome.loss is None else f"{outcome.loss:.6g}",
            Text(outcome.tells),
        )
    return table
