"""The stories of the casebook: what each team saw and believed, what is true, and what premortem made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DID = {
    "recovered": "The run was saved",
    "stopped": "premortem stopped the run",
    "worse": "The run went on",
    "lost": "The run was lost",
    "broken off": "The script broke off",
    "not begun": "The run was not begun",
}


def told(result: dict[str, Any], casebook: Path) -> str:
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
