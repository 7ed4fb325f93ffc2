"""The casebook in tables, and its stories: what each team saw and believed, what is true, and what premortem made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DID = {
    "recovered": "The run was saved",
    "rescued": "Begun again without the samples that premortem had named, the run came to its end",
    "stopped": "premortem stopped the run",
    "worse": "The run went on",
    "lost": "The run was lost",
    "broken off": "The script broke off",
    "not begun": "The run was not begun",
}


def paragraphs(result: dict[str, Any], casebook: Path) -> str:
    """One paragraph for each fault that was measured."""
    parts: list[str] = []
    healthy: dict[str, dict[str, Any]] = {}
    for row in result["rows"]:
        if row["id"] == "healthy":
            healthy[row["case"]] = row
            parts.append(f"### {row['case']}")
            continue
        story = json.loads(
            (casebook / row["case"] / "faults" / row["id"] / "story.json").read_text(encoding="utf-8")
        )
        did = _did(row, healthy[row["case"]], quick=result["quick"])
        parts.append(
            f"**{row['id']}** They saw: {_sentence(story['saw'])} They believed: {_sentence(story['believed'])} "
            f"True: {_sentence(story['true'])} {_asked(row['verb'])}: {_said(row)}. {did}."
            + (f" {story['stays']}" if "stays" in story and not row["recovered"] else "")
        )
    return "\n\n".join(parts)


def _asked(verb: str) -> str:
    return "`premortem.watch` in a notebook" if verb == "notebook" else f"`premortem {verb}`"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else text + "."


def _said(row: dict[str, Any]) -> str:
    first = row["said"][0] if row["said"] else "nothing"
    when = f" at step {row['step']}" if row["step"] and row["verb"] != "lint" else ""
    seconds = row.get("seconds")
    after = f", after {seconds:.0f} s" if seconds else f", {_within(row['cpu_seconds'])}"
    return first + when + after + (f"; {row['proof']}" if row.get("proof") else "")


def _within(seconds: float) -> str:
    return f"in {seconds:.0f} CPU s" if seconds >= 1 else "in less than a CPU second"


def _did(row: dict[str, Any], healthy: dict[str, Any], *, quick: bool) -> str:
    did = DID[row["ending"]]
    if quick or "quality" not in row:
        return did
    return f"{did} and reached {float(row['quality']):.3g} ({healthy['metric']}; healthy {float(healthy['quality']):.3g})"


def table(result: dict[str, Any]) -> str:
    """What casebook/run.py has seen."""
    quick = result["quick"]
    rows = [
        "| case | fault | asked with | first report | detected | right cause | moment | recovered | final quality |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    healthy: dict[str, dict[str, Any]] = {}
    for row in result["rows"]:
        first = row["said"][0] if row["said"] else "nothing"
        if row["id"] == "healthy":
            healthy[row["case"]] = row
            alarm = "**false alarm**" if row["said"] else "no alarm"
            reached = f"{_figure(row['quality'])} (baseline {_figure(row['baseline'])}) {row['metric']}"
            rows.append(f"| **{row['case']}** | none | run, lint | {first} | {alarm} | | | | {reached} |")
            continue
        marks = [("yes" if row[key] else "**no**") for key in ("detected", "right")]
        when = ("before" if row["step"] is None else f"step {row['step']}") + (
            "" if row["in_time"] else " (**late**)"
        )
        ended = row.get("ending") or ("recovered" if row["recovered"] else "no")
        reached = _reached(row, healthy[row["case"]], quick=quick)
        rows.append(
            f"| {row['case']} | {row['id']} | {row['verb']} | {first} | {marks[0]} | {marks[1]} | {when} | {ENDINGS.get(ended, ended)} "
            f"| {reached} |"
        )
    faulty = [row for row in result["rows"] if row["id"] != "healthy"]
    green = sum(row["green"] for row in faulty)
    alarms = sum(bool(row["said"]) for row in healthy.values())
    scale = "`python casebook/run.py --quick`: less data, fewer epochs" if quick else "`premortem casebook`"
    notes = (
        f"{green} of {len(faulty)} faults green, {alarms} false alarms on {len(healthy)} healthy runs ({scale}). "
        + (
            "At this scale the final quality says nothing, so that it is left out."
            if quick
            else "All runs are at the default scale, those of `python train.py`."
        )
    )
    return "\n".join([*rows, "", notes])


SYSTEMS = {
    "cmfd": "copy-move forgery detection, a ViT",
    "deblur": "image deblurring, a UNet",
    "radiodiff": "radio maps, latent diffusion",
    "ris": "angles from a reconfigurable surface, a transformer",
    "spike_deblur": "video deblurring with a spike camera, a transformer",
}


def in_short(result: dict[str, Any]) -> str:
    """A row for each case."""
    rows = [
        "| system | faults | found before training | in training | healthy run | reaches |",
        "|---|---|---|---|---|---|",
    ]
    for name, system in SYSTEMS.items():
        mine = [row for row in result["rows"] if row["case"] == name]
        if not mine:
            continue
        healthy, *faults = mine
        before = sum(row["green"] and not row["step"] for row in faults)
        during = sum(row["green"] for row in faults) - before
        alarm = "**an alarm**" if healthy["said"] else "silent"
        reached = (
            f"{_figure(healthy['quality'])} {healthy['metric']} (baseline {_figure(healthy['baseline'])})"
        )
        rows.append(f"| {system} | {len(faults)} | {before} | {during} | {alarm} | {reached} |")
    return "\n".join(rows)


def on_a_card(result: dict[str, Any]) -> str:
    """The healthy cases at their larger scale, on a card."""
    rows = ["| case | reached | baseline | metric | steps | said |", "|---|---|---|---|---|---|"]
    rows += [
        f"| {row['case']} | {_figure(row['quality'])} | {_figure(row['baseline'])} | {row['metric']} | {row['steps']} | "
        f"{', '.join(row['said']) or 'nothing'} |"
        for row in result["rows"]
    ]
    return "\n".join(rows)


ENDINGS = {
    "recovered": "yes",
    "rescued": "yes, without samples",
    "stopped": "stopped by premortem",
    "worse": "no",
    "not begun": "was not begun",
}


def _figure(value: float | str) -> str:
    return f"{float(value):.3g}"


def _reached(row: dict[str, Any], healthy: dict[str, Any], *, quick: bool) -> str:
    if "quality" not in row:
        return "none: found before" if row.get("ending") == "not begun" else "none"
    return "" if quick else f"{_figure(row['quality'])}, healthy {_figure(healthy['quality'])}"
