"""`premortem ckpt verify`: is it whole, and are its numbers finite?"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.text import Text

from premortem.amounts import size
from premortem.command_line import Parser
from premortem.errors import UsageError, VaultError
from premortem.terminal.pages import terminal
from premortem.vault.listing import Found, at_hand, checkpoints, recorded
from premortem.vault.places import Place, place_of
from premortem.vault.verbs.base import FAILED, Verb, parser, print_json, progress, words
from premortem.vault.verify import Verdict, verify

_SHOWN = 10  # damaged records of one file


def verify_parser() -> Parser:
    made = parser(
        "verify",
        "[options] PATH|URL...",
        "Look at every byte of checkpoints: files, folders, vaults, mirrors. Exit code 0 when all are whole and finite, "
        "1 when one is not, 2 when this was called wrongly. Nothing in them is run.",
    )
    made.add_argument("paths", nargs="*", metavar="PATH", help="a file, a folder, or the address of a mirror")
    return made


def call(tokens: Sequence[str]) -> int:
    options = verify_parser().parse(tokens)
    if not options.paths:
        raise UsageError("which checkpoint? premortem ckpt verify PATH")
    targets = [target for where in options.paths for target in _targets(where)]
    verdicts = []
    screen = terminal()
    for place, found in targets:
        verdict = judged(place, found)
        verdicts.append(verdict)
        if not options.json:
            _show(verdict, screen, named(place, found))
    if options.json:
        print_json([_record(v, named(*target)) for v, target in zip(verdicts, targets, strict=True)])
    elif len(verdicts) > 1:
        bad = sum(not verdict.ok for verdict in verdicts)
        screen.print(
            Text(f"{len(verdicts)} checkpoints, {bad} damaged" if bad else f"all {len(verdicts)} are whole")
        )
    return 0 if all(verdict.ok for verdict in verdicts) else FAILED


def judged(place: Place, found: Found) -> Verdict:
    """The verdict on one checkpoint, here or away, against its manifest where it has one."""
    if found.problem:
        return Verdict(Path(found.name), False, found.problem)
    # One pass for the checks of the format and one for the numbers; before that fetching, and comparing checksums.
    known = found.manifest is not None and found.kind != "checkpoint"
    passes = 2 + known + (place.local(found.name) is None)
    try:
        with (
            progress(f"verifying {found.name}", passes * found.bytes) as advance,
            at_hand(place, found, advance) as path,
        ):
            verdict = verify(path, recorded=recorded(found), advance=advance)
            notes = [*verdict.notes, *([found.remark] if found.remark else [])]
            return replace(verdict, notes=notes)
    except VaultError as error:
        return Verdict(Path(found.name), False, str(error))


def named(place: Place, found: Found) -> str:
    path = place.local("" if found.name == "." else found.name)
    return str(path) if path is not None else f"{place.shown.rstrip('/')}/{found.name}"


def _targets(where: str) -> Iterator[tuple[Place, Found]]:
    place, only = place_of(where)
    found = checkpoints(place, only)
    # What a run has put into quarantine is known to be bad; it is judged when it is named itself.
    chosen = found if only else [each for each in found if each.kind != "quarantined"] or found
    if not chosen:
        raise UsageError(f"there is no checkpoint in `{place.shown}`")
    yield from ((place, each) for each in chosen)


def _show(verdict: Verdict, screen: Any, name: str) -> None:
    mark, style = (
        ("ok", "bold green") if verdict.ok else ("refused" if verdict.refused else "damaged", "bold red")
    )
    if not verdict.ok and not verdict.damaged and not verdict.refused and verdict.health is not None:
        mark = "not finite"
    about = [size(verdict.bytes), f"{verdict.tensors:,} tensors", verdict.format, verdict.checksum]
    known = ", ".join(each for each in about if each) if verdict.format else ""
    screen.print(
        Text.assemble((mark, style), "  ", words(name, "bold"), ("  " + known if known else "", "dim"))
    )
    screen.print(Text("  ") + words(verdict.reason), soft_wrap=True)
    for damage in verdict.damaged[1:_SHOWN]:
        screen.print(Text("  ") + words(damage), soft_wrap=True)
    if verdict.health is not None:
        for tensor in verdict.health.non_finite[1:_SHOWN]:
            screen.print(Text("  ") + words(f"`{tensor}`: {verdict.health.counts[tensor]}"), soft_wrap=True)
    for note in verdict.notes:
        screen.print(Text("  note  ", "dim") + words(note, "dim"), soft_wrap=True)


def _record(verdict: Verdict, name: str) -> dict[str, Any]:
    health = verdict.health
    return {
        "path": name,
        "ok": verdict.ok,
        "reason": verdict.reason,
        "refused": verdict.refused,
        "format": verdict.format,
        "bytes": verdict.bytes,
        "tensors": verdict.tensors,
        "checksum": verdict.checksum,
        "damaged": [asdict(each) for each in verdict.damaged],
        "non_finite": [asdict(health.counts[each]) for each in health.non_finite] if health else [],
        "all_zero": health.all_zero if health else [],
        "numbers_looked_at": bool(health and health.looked_at),
        "notes": verdict.notes,
    }


VERIFY = Verb("is it whole, and are its numbers finite?", verify_parser, call)
