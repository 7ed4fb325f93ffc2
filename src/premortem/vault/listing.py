"""The checkpoints of a place, as the names of its files and their manifests show them."""

import json
import posixpath
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from premortem.errors import VaultError
from premortem.files.untrusted import loads, why
from premortem.vault import formats
from premortem.vault.blocks import Advance
from premortem.vault.manifest import NAME, Manifest
from premortem.vault.mirror import SUFFIX
from premortem.vault.places import Place
from premortem.vault.store import STATE

SUFFIXES = (".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".tar", ".pt2")
_SURE = (".pt", ".pth", ".ckpt", ".safetensors", ".pth.tar", ".pt.tar")
_QUARANTINE = "quarantine/"
_STEP = re.compile(r"step-\d+")
_NUMBERED = re.compile(r"\d{6}-(step-\d+|earlier)")


@dataclass(frozen=True, slots=True)
class Found:
    """One checkpoint. `name` is its path within the place."""

    name: str
    kind: str  # checkpoint, kept, quarantined, adopted or file
    files: tuple[str, ...]  # names within the place
    bytes: int
    manifest: Manifest | None = None
    time: float | None = None
    problem: str = ""  # why it does not count
    remark: str = ""  # what a person should know of it all the same

    @property
    def step(self) -> int | None:
        return self.manifest.step if self.manifest is not None else None

    @property
    def source(self) -> str:
        """What it was saved as, by the script or by a person."""
        return self.manifest.source if self.manifest is not None else ""

    @property
    def is_folder(self) -> bool:
        return self.files != (self.name,)


def checkpoints(place: Place, only: str = "") -> list[Found]:
    """All of them, or the one that was named; oldest first where that is known."""
    sizes = place.some((only, only + SUFFIX)) if only else place.names()
    capsules = _capsules(sizes)
    taken = {name for name in sizes if posixpath.dirname(name) in capsules}
    found: list[Found] = []
    for each in _described(place, sizes):
        found.append(each)
        taken.update(each.files)
        taken.add(each.name + SUFFIX)
    found += _folders(place, sizes, taken)
    for name, size in sizes.items():
        if name not in taken and _is_checkpoint(place, name, sure=bool(only)):
            remark = ""
            if not place.local(name):
                remark = "no manifest: not sent by premortem, or not sent to its end"
            elif _is_kept(str(place.local(name))):
                remark = "its manifest is missing: it may not be the file that was kept here"
            found.append(Found(name, "file", (name,), size, time=place.written(name), remark=remark))
    return sorted(found, key=lambda each: (each.time or 0.0, each.step or 0, each.name))


def _described(place: Place, sizes: dict[str, int]) -> Iterator[Found]:
    """Those with a manifest."""
    for name in sizes:
        folder, base = posixpath.split(name)
        if base == NAME:
            target, files = folder or ".", _below(folder, sizes)
        elif name.endswith(SUFFIX):
            target = name[: -len(SUFFIX)]
            files = (target,) if target in sizes else _below(target, sizes)
        else:
            continue
        raw = b""
        beside = base != NAME and place.local(name) is not None and bool(files)
        size = sum(sizes[each] for each in files)
        try:
            raw = _small(place, name)
            if b'"vault"' not in raw and not (beside and _is_kept(target)):
                continue  # many things are called a manifest
            manifest = Manifest.parse(raw, name)
        except FileNotFoundError:
            continue
        except VaultError as error:
            # One that was cut off was never finished: the file beside it can speak for itself.
            unfinished = beside and _cut_off(raw)
            remark = f"the manifest beside it is of no use: {error}" if unfinished else ""
            problem = "" if unfinished else str(error)
            yield Found(target, "file", files, size, time=place.written(name), problem=problem, remark=remark)
            continue
        other = next((each for each in manifest.files if beside and each != posixpath.basename(target)), "")
        if other:
            remark = f"the manifest beside it is of another file, `{other}`: it says nothing about this one"
            yield Found(target, "file", files, size, time=place.written(name), remark=remark)
            continue
        kind = "quarantined" if _QUARANTINE in target else manifest.kind
        problem = "" if files else "the file that its manifest describes is not there"
        yield Found(target, kind, files, size, manifest, manifest.time or place.written(name), problem)


def _folders(place: Place, sizes: dict[str, int], taken: set[str]) -> Iterator[Found]:
    """Several files that are one checkpoint: distributed ones, shards, and what is left of one of a vault."""
    for name in list(sizes):
        folder, base = posixpath.split(name)
        problem = ""
        if name in taken:
            continue
        if base == STATE and _STEP.fullmatch(posixpath.basename(folder or place.title)):
            files = _below(folder, sizes)
            problem = f"there is no {NAME}: without one it does not count as a checkpoint"
        elif base == ".metadata":
            files = _below(folder, sizes)
        elif base.endswith(".index.json"):
            try:
                shards = {posixpath.join(folder, each) for each in _shards(_small(place, name))}
            except (VaultError, FileNotFoundError) as error:
                shards, problem = set(), str(error)
            files = (name, *(each for each in sizes if each in shards))
        else:
            continue
        taken.update(files)
        size = sum(sizes[each] for each in files)
        yield Found(folder or ".", "file", files, size, time=place.written(name), problem=problem)


def _small(place: Place, name: str) -> bytes:
    """A manifest or an index. Raises VaultError."""
    try:
        return place.read(name)
    except FileNotFoundError:
        raise  # a run that is still going on has removed it meanwhile
    except OSError as error:
        raise VaultError(f"{name} cannot be read ({why(error)})") from None


def _cut_off(raw: bytes) -> bool:
    """Whether a file of JSON ends too early, and is right as far as it goes."""
    text = raw.decode("utf-8", "replace").rstrip()
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(text) or error.msg.startswith("Unterminated string")
    except (ValueError, RecursionError):
        return False
    return False


def _is_kept(name: str) -> bool:
    """Whether it lies where a run puts versions aside, each with a manifest."""
    return any(f"/{room}/" in f"/{name}" for room in ("kept", "quarantine")) and bool(
        _NUMBERED.match(posixpath.basename(name))
    )


def _capsules(sizes: dict[str, int]) -> set[str]:
    """Folders of a failed step: they hold what was broken, and are not checkpoints."""
    return {posixpath.dirname(name) for name in sizes if posixpath.basename(name) == "capsule.json"}


def _below(folder: str, sizes: dict[str, int]) -> tuple[str, ...]:
    return tuple(each for each in sizes if not folder or each.startswith(f"{folder}/"))


def _shards(index: bytes) -> set[str]:
    try:
        return {str(name) for name in loads(index)["weight_map"].values()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return set()


def _is_checkpoint(place: Place, name: str, *, sure: bool) -> bool:
    lower = name.lower()
    if sure and not lower.endswith(SUFFIX):
        return True
    if not lower.endswith(SUFFIXES):
        return False
    path = place.local(name)
    if path is None or lower.endswith(_SURE):
        return True
    # `.bin` and `.tar` are many things; the first bytes decide.
    return any(each.recognises(path) for each in formats.ALL)


def recorded(found: Found) -> Manifest | None:
    """What it must be compared with. A checkpoint of a vault compares itself, tensor by tensor."""
    return Manifest() if found.kind == "checkpoint" else found.manifest


@contextmanager
def at_hand(place: Place, found: Found, advance: Advance) -> Iterator[Path]:
    """The checkpoint as a path of this machine: fetched to a scratch folder when it is away. Raises VaultError."""
    path = place.local("" if found.name == "." else found.name)
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="premortem-") as scratch:
        yield copied(place, found, Path(scratch), advance)


def copied(place: Place, found: Found, folder: Path, advance: Advance) -> Path:
    """Copy its files into `folder`, under their own names. Raises VaultError or OSError."""
    if shutil.disk_usage(folder).free < found.bytes:
        raise VaultError(f"there is no room for {found.bytes:,} bytes in {folder}")
    target = folder / (posixpath.basename(found.name.rstrip("/.")) or "checkpoint")
    for name in found.files:
        inside = posixpath.relpath(name, found.name) if found.is_folder else ""
        if inside.startswith(".."):
            raise VaultError(f"`{name}` does not lie in `{found.name}`")
        path = target / inside if inside else target
        path.parent.mkdir(parents=True, exist_ok=True)
        place.bring(name, path, advance)
    return target
