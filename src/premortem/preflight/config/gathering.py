"""Gathers the settings and what the code does with them."""

import os
import re
from collections.abc import Mapping
from typing import Any

from premortem.amounts import short
from premortem.files import untrusted
from premortem.findings import Where
from premortem.lint.configs import Config
from premortem.lint.parsing import Unreadable
from premortem.lint.summaries import summarise
from premortem.preflight.config import found, keys
from premortem.preflight.config.found import LARGE, Named
from premortem.preflight.config.settings_facts import Facts, File, Setting
from premortem.preflight.project import Project, Tell
from premortem.preflight.reading import Reading

_FETCHES = re.compile(
    rb"download|urlretrieve|wget|kagglehub|gdown|load_dataset|from_pretrained|requests\.get|makedirs|mkdir|make_dataset"
)
_ASKS = re.compile(rb"\.exists\(|\.isfile\(|\.is_file\(|\.isdir\(|\.is_dir\(|FileNotFoundError")


def gather(project: Project, tell: Tell, environ: Mapping[str, str] = os.environ) -> tuple[Facts, Reading]:
    tell("reading the configuration")
    read = project.reading
    known, values = project.options, project.values
    marks = {mark for source in read.sources for mark in summarise(source).marks}
    world = environ.get("WORLD_SIZE", "")
    facts = Facts(
        folders=tuple(dict.fromkeys((read.folder, read.start, read.root))),
        files=[_file(one) for one in found.named(project, read, known, values)],
        options=known,
        reads=keys.reads(read.sources),
        loaders=frozenset(mark[5:] for mark in marks if mark.startswith("yaml:")),
        asks_first=any(_ASKS.search(source.data) for source in read.sources),
        fetches=any(_FETCHES.search(source.data) for source in read.sources),
        world=int(world) if world.isdigit() else None,
    )
    return facts, read


def _file(one: Named) -> File:
    if one.missing:
        return File(path=one.path, named=one.where, given=one.given, missing=True)
    try:
        data = untrusted.read(one.path)
        if len(data) > LARGE:
            return File(path=one.path, named=one.where, given=one.given)
        config = Config(str(one.path), data)
        settings = tuple(
            Setting(key=entry.key, text=entry.text, plain=entry.plain, where=Where(str(one.path), entry.line))
            for entry in config.entries
        )
    except Unreadable as problem:
        place = Where(str(one.path), problem.line)
        return File(
            path=one.path, problem=_sentence(problem, data), where=place, named=one.where, given=one.given
        )
    except OSError as error:
        problem_ = f"it cannot be opened ({error.strerror})"
        return File(
            path=one.path, problem=problem_, where=Where(str(one.path)), named=one.where, given=one.given
        )
    return File(path=one.path, settings=settings, named=one.where, given=one.given)


def _sentence(problem: Unreadable, data: bytes) -> str:
    lines = data.splitlines()
    line = lines[problem.line - 1] if 0 < problem.line <= len(lines) else b""
    if re.match(rb" *\t", line):
        return "the line is indented with a tab, which YAML does not allow"
    return str(problem)


def lines(facts: Facts, read: Reading) -> list[tuple[str, str]]:
    shown = [short(file.path) + (" (missing)" if file.missing else "") for file in facts.files]
    how = f", read with {' and '.join(sorted(facts.loaders))}" if facts.loaders else ""
    more = f" and {len(shown) - 4} more" if len(shown) > 4 else ""
    found_ = [("configs", f"{', '.join(shown[:4])}{more}{how}" if shown else "none is named")]
    if facts.options:
        given = sum(option.given is not None for option in facts.options.values())
        found_.append(("options", f"{len(facts.options)} of argparse, {given} given"))
    return found_


def record(facts: Facts) -> dict[str, Any]:
    return {
        "configs": [
            {"path": str(file.path), "settings": len(file.settings), "missing": file.missing}
            for file in facts.files
        ],
        "loaders": sorted(facts.loaders),
        "options": {name: option.value for name, option in facts.options.items()},
    }
