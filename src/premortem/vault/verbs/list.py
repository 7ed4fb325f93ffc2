"""`premortem ckpt list`: the checkpoints of a folder, a run, a vault or a mirror."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from premortem.amounts import size
from premortem.command_line import Parser
from premortem.terminal.pages import terminal
from premortem.vault.listing import Found, checkpoints
from premortem.vault.places import place_of
from premortem.vault.verbs.base import Verb, parser, print_json, table, when, words

_COLOURS = {"quarantined": "red", "checkpoint": "bold", "kept": "cyan"}


def list_parser() -> Parser:
    made = parser(
        "list",
        "[options] [PATH|URL]",
        "The checkpoints of a folder, a run, a vault or a mirror, oldest first. Looks at names and manifests only; "
        "`ckpt verify` looks at the bytes.",
    )
    made.add_argument("path", nargs="?", default=".", metavar="PATH", help="default: this folder")
    return made


def call(tokens: Sequence[str]) -> int:
    options = list_parser().parse(tokens)
    place, only = place_of(options.path)
    found = checkpoints(place, only)
    if options.json:
        print_json([_record(each) for each in found])
        return 0
    screen = terminal()
    if not found:
        screen.print(words(f"There is no checkpoint in {place.shown}."))
        return 0
    shown = table("checkpoint", "kind", ">step", "written", ">size", "about", "where")
    for each in sorted(found, key=lambda one: (_thing(one), one.time or 0.0)):
        step = "" if each.step is None else f"{each.step:,}"
        where = each.name if _thing(each) != each.name else ""
        shown.add_row(
            words(_thing(each)),
            Text(each.kind, _COLOURS.get(each.kind, "")),
            step,
            when(each.time),
            size(each.bytes),
            words(_about(each)),
            words(where),
        )
    screen.print(shown)
    total = sum(each.bytes for each in found)
    screen.print(Text(f"{len(found)} in {place.shown}, {size(total)} together", "dim"))
    return 0


def _thing(found: Found) -> str:
    """What it is a version of, in the shortest form."""
    if not found.source:
        return found.name
    source = Path(found.source)
    try:
        return str(source.relative_to(Path.cwd()))
    except ValueError:
        return found.source


def _about(found: Found) -> str:
    if found.problem or found.remark:
        return found.problem or found.remark
    if found.manifest is None:
        return ""
    parts = [f"{name} {value:.6g}" for name, value in found.manifest.metrics.items()]
    if not found.manifest.health.ok:
        parts.append(found.manifest.health.problem)
    return ", ".join(parts)


def _record(found: Found) -> dict[str, Any]:
    manifest = found.manifest
    return {
        "name": found.name,
        "kind": found.kind,
        "step": found.step,
        "time": found.time,
        "bytes": found.bytes,
        "source": found.source,
        "metrics": dict(manifest.metrics) if manifest else {},
        "healthy": manifest.health.ok if manifest else None,
        "problem": found.problem,
        "remark": found.remark,
    }


LIST = Verb("the checkpoints of a folder, a run, a vault or a mirror", list_parser, call)
