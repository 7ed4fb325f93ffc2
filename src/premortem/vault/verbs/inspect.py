"""`premortem ckpt inspect`: what is in a checkpoint, without running anything that is in it."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from premortem.amounts import size
from premortem.command_line import Parser
from premortem.errors import UsageError
from premortem.terminal.pages import terminal
from premortem.vault.contents import Contents
from premortem.vault.leaves import shown
from premortem.vault.listing import Found, at_hand
from premortem.vault.verbs import base
from premortem.vault.verbs.choosing import candidates

_TENSORS = 40  # shown without --all
_PLAIN = 30
_LONG = 100  # characters of a value


def inspect_parser() -> Parser:
    made = base.parser(
        "inspect",
        "[options] PATH|URL",
        "What is in a checkpoint: its parts, its tensors, its plain values. Nothing in it is run, and listing needs no torch.",
    )
    made.add_argument(
        "path", nargs="?", metavar="PATH", help="a checkpoint; of a vault or a mirror, the newest"
    )
    made.add_argument(
        "--step", type=int, metavar="N", help="of a vault, a run or a mirror: the one of this step"
    )
    made.add_argument("--all", action="store_true", help="every tensor and every value")
    return made


def call(tokens: Sequence[str]) -> int:
    options = inspect_parser().parse(tokens)
    if options.path is None:
        raise UsageError("which checkpoint? premortem ckpt inspect PATH")
    place, found = candidates(options.path, step=options.step)
    with (
        base.progress(f"fetching {found[0].name}", found[0].bytes) as advance,
        at_hand(place, found[0], advance) as path,
        base.opened(path) as contents,
    ):
        if options.json:
            base.print_json(_record(contents, found[0]))
        else:
            _show(contents, found[0], everything=options.all)
    return 0


def _show(contents: Contents, found: Found, *, everything: bool) -> None:
    screen = terminal()
    count = sum(math.prod(each.shape) for each in contents.tensors.values())
    about = f"{contents.format}, {size(contents.size)}, {len(contents.tensors):,} tensors, {count:,} numbers"
    screen.print(Text.assemble(base.words(contents.path, "bold"), "  ", (about, "dim")))
    for label, value in _facts(found):
        screen.print(Text(f"  {label:<9}", "dim") + base.words(value), soft_wrap=True)
    if contents.foreign:
        names = ", ".join(contents.foreign[:6]) + (" …" if len(contents.foreign) > 6 else "")
        sentence = f"holds objects of {names}; only a full, unsafe load would make them"
        screen.print(Text("  note     ", "dim") + base.words(sentence, "yellow"), soft_wrap=True)
    parts = base.table("part", "looks like", ">tensors", ">numbers", "types")
    for part in contents.state_dicts():
        records = [contents.tensors[name] for name in part.keys.values() if name in contents.tensors]
        kinds = Counter(each.dtype for each in records)
        numbers = sum(math.prod(each.shape) for each in records)
        parts.add_row(
            base.words(part.path or "(the whole file)"),
            part.kind,
            f"{len(records):,}",
            f"{numbers:,}",
            ", ".join(kinds),
        )
    if parts.row_count:
        screen.print(Text(), parts, sep="\n")
    _tensors(contents, screen, everything=everything)
    _plain(contents, screen, everything=everything)


def _facts(found: Found) -> list[tuple[str, str]]:
    manifest = found.manifest
    if manifest is None:
        return []
    metrics = ", ".join(f"{name} {value:.6g}" for name, value in manifest.metrics.items())
    versions = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    step = "" if manifest.step is None else f"{manifest.step:,}"
    facts = [("step", step), ("written", base.when(manifest.time)), ("of", manifest.source)]
    facts += [("metrics", metrics), ("versions", versions), ("health", manifest.health.problem)]
    return [(label, value) for label, value in facts if value]


def _tensors(contents: Contents, screen: Any, *, everything: bool) -> None:
    records = list(contents.tensors.values())
    some = records if everything else records[:_TENSORS]
    if not some:
        return
    listed = base.table("tensor", "shape", "type", ">size")
    for each in some:
        listed.add_row(base.words(each.name), base.shape(each.shape), each.dtype, size(each.bytes))
    screen.print(Text(), listed, sep="\n")
    _more(len(records) - len(some), "tensors", screen)


def _plain(contents: Contents, screen: Any, *, everything: bool) -> None:
    values = list(contents.plain.items())
    some = values if everything else values[:_PLAIN]
    if not some:
        return
    listed = base.table("value", "")
    for name, value in some:
        text = repr(shown(value))
        listed.add_row(
            base.words(name), base.words(text if everything or len(text) <= _LONG else f"{text[:_LONG]}…")
        )
    screen.print(Text(), listed, sep="\n")
    _more(len(values) - len(some), "values", screen)


def _more(left: int, what: str, screen: Any) -> None:
    if left > 0:
        screen.print(Text(f"… and {left:,} more {what}; --all shows them", "dim"))


def _record(contents: Contents, found: Found) -> dict[str, Any]:
    return {
        "path": str(contents.path),
        "format": contents.format,
        "bytes": contents.size,
        "checksums": contents.checksums,
        "foreign": list(contents.foreign),
        "step": found.step,
        "source": found.source,
        "parts": [{"path": p.path, "kind": p.kind, "tensors": len(p.keys)} for p in contents.state_dicts()],
        "tensors": {
            name: {"shape": list(each.shape), "dtype": each.dtype, "bytes": each.bytes}
            for name, each in contents.tensors.items()
        },
        "plain": {name: shown(value) for name, value in contents.plain.items()},
    }


INSPECT = base.Verb("what is in it: parts, tensors, values", inspect_parser, call)
