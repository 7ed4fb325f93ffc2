"""A run as JSON, for other programs: what was found, in the form of FILE.json, and what the pages show besides."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from premortem import __version__
from premortem.files.plain import dumps
from premortem.report.comparison import Comparison
from premortem.report.curves import Curve
from premortem.report.story import Story

SCHEMA = 1  # goes up when a key changes its meaning or is removed


def page(story: Story) -> str:
    return _written(
        {
            "run": {**story.meta, "steps": story.steps, "refused": story.refused},
            "verdict": story.verdict._asdict(),
            "findings": [view.finding.to_json() for view in story.findings],
            "patches": {view.finding.code: view.patch for view in story.findings if view.patch},
            "curves": {name: _curves(lines) for name, lines in story.curves.items()},
            "metrics": _curves(story.metrics),
            "checkpoints": [asdict(saved) for saved in story.saved],
            "setup": [fact._asdict() for fact in (*story.setup, *story.environment)],
            "command": story.command,
        }
    )


def comparison_page(compared: Comparison) -> str:
    return _written(
        {
            "runs": [str(compared.left.path.parent), str(compared.right.path.parent)],
            "sentence": compared.sentence,
            "common_steps": compared.common,
            "parting": compared.parting and compared.parting._asdict(),
            "differences": {
                kind: [each._asdict() for each in found] for kind, found in compared.differences.items()
            },
            "patches": compared.patches,
        }
    )


def _written(whole: dict[str, Any]) -> str:
    return dumps({"premortem": __version__, "schema": SCHEMA, **whole}, indent=2) + "\n"


def _curves(lines: Mapping[str, Curve]) -> dict[str, Any]:
    """What a program asks of a curve; the points themselves are in the journal."""
    return {
        name: {
            "first": curve.y[0] if curve.y else None,
            "last": curve.last,
            "lowest": min((y for y in curve.y if not math.isnan(y)), default=None),
            "values": curve.count,
            "gaps": [gap._asdict() for gap in curve.gaps],
        }
        for name, curve in lines.items()
    }
