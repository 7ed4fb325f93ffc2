"""Record what others may rely on: public names, verbs with their options, codes.

    python tools/surface.py    writes tests/surface.txt

A test compares the two, so growing the surface is a line in a review.
"""

from __future__ import annotations

from pathlib import Path

import premortem
from premortem import catalog, cli, parts

RECORD = Path(__file__).resolve().parent.parent / "tests" / "surface.txt"


def surface() -> str:
    lines = ["# public names", *sorted(premortem.__all__)]
    lines += ["", "# premortem.parts", *sorted(parts.__all__)]
    lines += ["", "# verbs and their options"]
    lines += [
        " ".join(["premortem", name, *sorted(verb.parser().options)]) for name, verb in cli.VERBS.items()
    ]
    lines += [
        " ".join(["premortem", name, word, *sorted(each.parser().options)])
        for name, verb in cli.VERBS.items()
        for word, each in verb.below().items()
    ]
    lines += ["", "# codes"]
    lines += [
        f"{e.card.code} {e.card.name} {e.card.family} {e.card.severity.value}" for e in catalog.entries()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    RECORD.write_text(surface(), encoding="utf-8")
