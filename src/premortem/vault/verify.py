"""Is this checkpoint complete, and are its numbers finite?

    whole     what its format shows (checksums of a zip, the arithmetic of safetensors), and what a record
              of its sha256 shows, where there is one
    finite    every weight is looked at, where torch is there to look

The verdict names what could not be checked: without checksums a flipped bit is not found, unless the file was adopted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from premortem.errors import MissingExtra, Refused, VaultError
from premortem.vault import records
from premortem.vault.blocks import Advance, hashed, unwatched
from premortem.vault.contents import Contents, open_contents
from premortem.vault.health import Health, examine
from premortem.vault.manifest import FileRecord, Manifest
from premortem.vault.report import some
from premortem.vault.tensor_bytes import needs_torch

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Damage:
    """One record that is not what was written."""

    record: str
    problem: str

    def __str__(self) -> str:
        return f"`{self.record}`: {self.problem}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What verifying found. `reason` is one sentence for a person."""

    path: Path
    ok: bool
    reason: str
    format: str = ""
    bytes: int = 0
    tensors: int = 0
    damaged: list[Damage] = field(default_factory=list)
    refused: bool = False  # it was not opened: it asks to run code, or to fill the memory
    health: Health | None = None  # None: the numbers were not checked
    checksum: str = ""  # what stands behind "whole": "sha256", "crc32" or nothing
    notes: list[str] = field(default_factory=list)


def verify(
    path: str | Path,
    *,
    recorded: Manifest | None = None,
    advance: Advance = unwatched,
    numbers: bool = True,
) -> Verdict:
    """Look at every byte of a checkpoint. Raises nothing about the file itself: that is the verdict.

    `recorded` is what it is compared with; by default the record that `ckpt adopt` made of it."""
    path = Path(path)
    try:
        adopted = recorded is None
        recorded = records.recall(path) if recorded is None else recorded
        sums = {name: record for name, record in recorded.files.items() if record.sha256} if recorded else {}
        changed = list(_changed(path, sums, advance))
        if changed and not adopted:
            return Verdict(path, False, _because(changed), damaged=changed, checksum="sha256")
        with open_contents(path) as contents:
            verdict = _verdict(contents, advance, compared=bool(sums) and not changed, numbers=numbers)
            return _since_adopted(verdict, changed, by_itself=contents.checksums) if changed else verdict
    except Refused as refused:
        return Verdict(path, False, f"refused: {refused}", refused=True, damaged=_named(refused))
    except VaultError as error:
        return Verdict(path, False, str(error), damaged=_named(error))
    except OSError as error:
        return Verdict(path, False, f"it cannot be read ({error.strerror or error})")


def _verdict(contents: Contents, advance: Advance, *, compared: bool, numbers: bool) -> Verdict:
    damaged = [Damage(name, problem) for name, problem in contents.damaged(advance)]
    health: Health | None = None
    notes = []
    if not damaged and numbers:
        try:
            needs_torch()
            health = examine(_elements(contents, advance))
        except MissingExtra:
            notes.append("torch is not installed here, so the numbers were not looked at")
    checksum = "sha256" if compared or contents.format.startswith("vault") else ""
    checksum = checksum or ("crc32" if contents.checksums else "")
    if not checksum:
        why = "was saved without checksums" if contents.format == "torch zip" else "has no checksums"
        notes.append(
            f"this file {why}: a flipped bit would not be found. `ckpt adopt` records a checksum for it"
        )
    if contents.foreign:
        names = ", ".join(contents.foreign[:3]) + (" and others" if len(contents.foreign) > 3 else "")
        notes.append(
            f"it also holds objects of {names}; they were not created here, and a full load would run their code"
        )
    if health is not None and not health.looked_at:
        notes.append("there is no floating point tensor in it to look at")
    if health is not None and health.all_zero:
        notes.append(f"nothing but zeros in {some(health.all_zero, 3)}")
    ok = not damaged and (health is None or health.ok)
    return Verdict(
        contents.path,
        ok,
        _because(damaged) if damaged else _about(health),
        contents.format,
        contents.size,
        len(contents.tensors),
        damaged,
        health=health,
        checksum=checksum,
        notes=notes,
    )


def _since_adopted(verdict: Verdict, changed: list[Damage], *, by_itself: bool) -> Verdict:
    """Saved again, or damaged? The format's own checksums decide; without them it counts as damage."""
    again = "if it was saved again since it was adopted, adopt it again"
    if by_itself or not verdict.ok:
        return replace(verdict, notes=[*verdict.notes, f"it is not the file that was adopted; {again}"])
    return replace(
        verdict, ok=False, reason=f"{_because(changed)}; {again}", damaged=changed, checksum="sha256"
    )


def _elements(contents: Contents, advance: Advance) -> Iterator[tuple[str, torch.Tensor]]:
    for name, record in contents.tensors.items():
        if not record.dtype.startswith(("float", "bfloat", "complex")):
            continue
        try:
            values = contents.elements(name)
        except (
            RuntimeError,
            ValueError,
            TypeError,
            OverflowError,
        ) as error:  # torch's words for sizes that cannot be
            raise VaultError(f"`{name}` cannot be read ({error})", record=name) from error
        advance(record.bytes)
        if values is not None:
            yield name, values


def _changed(path: Path, sums: Mapping[str, FileRecord], advance: Advance) -> Iterator[Damage]:
    """What is not as it was when it was known to be good."""
    for name, record in sums.items():
        file = path / name if path.is_dir() else path
        try:
            found = checksum(file, advance)
        except FileNotFoundError:
            yield Damage(name, "it is missing")
            continue
        except OSError as error:
            raise VaultError(f"`{file}` cannot be read ({error.strerror or error})", record=name) from error
        if found.bytes != record.bytes:
            yield Damage(name, f"it is {found.bytes:,} bytes long, but {record.bytes:,} were recorded")
        elif found.sha256 != record.sha256:
            yield Damage(name, "it is not the file that was recorded: its checksum is another")


def checksum(path: Path, advance: Advance = unwatched) -> FileRecord:
    """Raises OSError."""
    with path.open("rb") as file:
        return FileRecord(*hashed(file, advance))


def _because(damaged: list[Damage]) -> str:
    more = f" (and {len(damaged) - 1} more)" if len(damaged) > 1 else ""
    return f"damaged record {damaged[0]}{more}"


def _about(health: Health | None) -> str:
    if health is None or not health.looked_at:
        return "whole"
    if health.ok:
        return "whole and finite"
    first = health.counts[health.non_finite[0]]
    others = len(health.non_finite) - 1
    more = f" (and {others} more tensor{'s' if others > 1 else ''})" if others else ""
    return f"whole, but `{first.name}` is not finite: {first}{more}"


def _named(error: VaultError) -> list[Damage]:
    return [Damage(error.record, str(error))] if error.record else []
