"""Public scripts as cases of `bench/why.py`: those of `wild/scripts.toml` that were exported, as they are and with mistakes planted.

    python bench/wild/run.py --export FOLDER && python bench/why.py --sets wild --wild FOLDER

A repository is in one half, the one that it has in `wild/`. Scripts in which a maintainer would call an alarm right are no healthy ones.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent / "wild"))
from checkout import folder_of
from mistakes import MISTAKES, Mistake
from one_run import SEEDED, loads, scripts
from run import plantable, prepared
from split import half_of
from why_harms import HARMS, OTHER_LOSS

WILD = Path(__file__).resolve().parent / "wild"
# A loss that is another one, or none: it does not say what was lost.
_OTHER = OTHER_LOSS | frozenset(
    "sign-of-the-loss softmax-before-the-loss labels-shuffled labels-all-the-same logarithm-of-nothing".split()
)
_TURN = "0 0"


def exported(folder: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    for script in scripts():
        there = folder / folder_of(script["repo"], script["commit"])
        if (there / ".exported").exists():
            yield script, there


def drawn(script: dict[str, Any], whole: Path, families: frozenset[str]) -> list[Mistake]:
    """One that breaks a rule of training and one that breaks none, by a draw that depends on the script's name alone."""
    draw = random.Random(script["name"])
    found = []
    for kind in (MISTAKES, HARMS):
        able = [each for each in draw.sample(kind, len(kind)) if each.families & families]
        found += [each for each in able if _has_a_place(script, whole, each)][:1]
    return found


def _has_a_place(script: dict[str, Any], whole: Path, mistake: Mistake) -> bool:
    try:
        return plantable(script, whole, mistake, _TURN) is not None
    except (OSError, SyntaxError, ValueError):
        return False


def half(script: dict[str, Any]) -> str:
    return half_of(script["repo"])


def same_loss(mistake: str) -> bool:
    return mistake not in _OTHER


def has_faults() -> set[str]:
    said = loads((WILD / "verdicts.toml").read_text())
    return {name.rpartition(" ")[0] for name, each in said.items() if each["verdict"] == "right"}


def staged(script: dict[str, Any], whole: Path, mistake: str, folder: Path) -> tuple[str, ...]:
    """The words of a copy that has its data, and finds by itself what `wild/` gives a script to import."""
    kind = next((each for each in (*MISTAKES, *HARMS) if each.name == mistake), None)
    if not prepared(script, whole, folder, kind, _TURN):
        raise ValueError(f"{script['name']} has no place for {mistake}")
    file = folder / script["file"]
    places = [str(folder), str(WILD / "stand_ins")]
    settings = {
        "WILD_STANDS_IN": " ".join(script.get("stands_in", ())),
        "MPLBACKEND": "Agg",
        "WILD_TRACE": "",
    }
    first = f"import os, sys; sys.path[1:1] = {places!r}; os.environ.update({settings!r})\n"
    file.write_text(file.read_text().replace(SEEDED, first + SEEDED, 1))
    return (str(file), *script.get("args", ()))
