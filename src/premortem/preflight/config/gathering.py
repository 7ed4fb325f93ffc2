"""Gathers the settings and what the code does with them."""

import os
import re
from collections.abc import Mapping
from typing import Any

from premortem.amounts import few, short
from premortem.lint.summaries import summarise
from premortem.preflight.config import keys
from premortem.preflight.config.settings_facts import Facts
from premortem.preflight.project import Project, Tell
from premortem.preflight.reading import Reading

_FETCHES = re.compile(
    rb"download|urlretrieve|wget|kagglehub|gdown|load_dataset|from_pretrained|requests\.get|makedirs|mkdir|make_dataset"
)
_ASKS = re.compile(rb"\.exists\(|\.isfile\(|\.is_file\(|\.isdir\(|\.is_dir\(|FileNotFoundError")


def gather(project: Project, tell: Tell, environ: Mapping[str, str] = os.environ) -> tuple[Facts, Reading]:
    tell("reading the configuration")
    read = project.reading
    marks = {mark for source in read.sources for mark in summarise(source).marks}
    world = environ.get("WORLD_SIZE", "")
    facts = Facts(
        folders=tuple(dict.fromkeys((read.folder, read.start, read.root))),
        files=project.configs,
        options=project.options,
        reads=keys.reads(read.sources),
        loaders=frozenset(mark[5:] for mark in marks if mark.startswith("yaml:")),
        asks_first=any(_ASKS.search(source.data) for source in read.sources),
        fetches=any(_FETCHES.search(source.data) for source in read.sources),
        world=int(world) if world.isdigit() else None,
    )
    return facts, read


def lines(facts: Facts, read: Reading) -> list[tuple[str, str]]:
    shown = [short(file.path) + (" (missing)" if file.missing else "") for file in facts.files]
    how = f", read with {' and '.join(sorted(facts.loaders))}" if facts.loaders else ""
    found = [("configs", f"{few(shown, 4)}{how}" if shown else "none is named")]
    if facts.options:
        given = sum(option.given is not None for option in facts.options.values())
        found.append(("options", f"{len(facts.options)} of argparse, {given} given"))
    return found


def record(facts: Facts) -> dict[str, Any]:
    return {
        "configs": [
            {"path": str(file.path), "settings": len(file.settings), "missing": file.missing}
            for file in facts.files
        ],
        "loaders": sorted(facts.loaders),
        "options": {name: option.value for name, option in facts.options.items()},
    }
