"""A checkpoint folder, written and read.

    write    each file from the snapshot: header, bytes; sha256 of the file, fingerprint of each tensor, in one pass
             everything read back, then the manifest, then the folder gets its name
    load     each file in one pass into memory: the fingerprints are compared while the bytes are still in the cache

Neither uses the training thread. A load costs little more than reading: the fingerprint is XXH3, which is an order of
magnitude quicker than a disk; sha256 is for `premortem ckpt verify`, for mirrors, and for adversaries.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.errors import MissingExtra, VaultError
from premortem.files import untrusted
from premortem.vault.atomic import draft_beside, in_one_sentence, publish_folder, sha256_of, sync
from premortem.vault.manifest import NAME, FileRecord, Manifest, TensorEntry
from premortem.vault.snapshot import Part, Snapshot
from premortem.vault.tree import together

if TYPE_CHECKING:
    import torch

STATE = "state.json"
MOST_STATE = 256 << 20  # bytes; a larger one is not ours
_BLOCK = 4 << 20
_LONGEST_HEADER = 100 << 20  # as in safetensors
_SHARE = 32 << 20  # bytes that a reader takes at a time
_READERS = 2  # threads; more do not help a page cache, and the machine may be training


@dataclass
class Loaded:
    """A checkpoint in memory, every byte of it verified."""

    manifest: Manifest
    tensors: dict[str, torch.Tensor]  # by full name: `model.fc.weight`
    trees: dict[str, Any] = field(default_factory=dict)

    def state(self, piece: str) -> Any:
        """What `state_dict` of this piece returned when it was saved."""
        return together(self.trees[piece], lambda key: self.tensors[f"{piece}.{key}"])


def write(
    final: Path,
    snapshot: Snapshot,
    trees: dict[str, Any],
    manifest: Manifest,
    adopt: Callable[[Path, dict[str, Any], Manifest], None] | None = None,
) -> Manifest:
    """Write a checkpoint, whole or not at all, and read it back. Raises VaultError.

    `adopt` adds files of others to the draft, and to what describes it, before the manifest is written."""
    snapshot.ready()
    draft = draft_beside(final)
    with in_one_sentence(final):
        try:
            draft.mkdir(parents=True)
            fill(draft, snapshot, trees, manifest, adopt)
            seal(draft, final, manifest)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    return manifest


def fill(
    draft: Path,
    snapshot: Snapshot,
    trees: dict[str, Any],
    manifest: Manifest,
    adopt: Callable[[Path, dict[str, Any], Manifest], None] | None = None,
) -> None:
    """Write the files of a checkpoint, and read them back. Raises VaultError, OSError."""
    for piece, part in snapshot.parts.items():
        if part.slots:
            _write_part(draft, piece, part, manifest)
    if adopt is not None:
        adopt(draft, trees, manifest)
    _write_state(draft, trees, manifest)
    _read_back(draft, manifest)


def seal(draft: Path, final: Path, manifest: Manifest) -> None:
    """The manifest, and then the folder's name. Raises OSError."""
    (draft / NAME).write_bytes(manifest.render())
    replaced = publish_folder(draft, final)
    if replaced is not None:
        shutil.rmtree(replaced, ignore_errors=True)


def load(
    folder: Path,
    manifest: Manifest,
    pieces: Iterable[str] | None = None,
    share: tuple[int, int] = (0, 1),
) -> Loaded:
    """Read a checkpoint, or some pieces of it. Raises VaultError that names the damaged tensor.

    Sharded pieces are only checked, and each rank checks its share of the files: (this rank, number of ranks)."""
    wanted = None if pieces is None else {f"{piece}.safetensors" for piece in pieces}
    ours = [name for name in manifest.files if name.endswith(".safetensors")]
    files = [name for name in ours if wanted is None or name in wanted]
    rank, ranks = share
    for name in sorted(set(manifest.files) - {STATE, *ours})[rank::ranks]:
        _check(folder / name, manifest.files[name])
    held: dict[tuple[str, str], torch.Tensor] = {}
    with ExitStack() as opened, ThreadPoolExecutor(_READERS, thread_name_prefix="premortem-load") as readers:
        jobs = [job for name in files for job in _jobs(folder, name, manifest, opened)]
        for part in readers.map(_read, _shares(jobs)):
            held.update(part)
    tensors = {
        name: held[entry.file, entry.key]
        for name, entry in manifest.tensors.items()
        if (entry.file, entry.key) in held
    }
    return Loaded(manifest, tensors, _load_state(folder, manifest))


def _check(path: Path, record: FileRecord) -> None:
    try:
        same = path.stat().st_size == record.bytes and sha256_of(path) == record.sha256
    except OSError as error:
        raise VaultError(f"{path} cannot be read ({error.strerror})", record=path.name) from error
    if not same:
        raise VaultError(f"{path} is not the file that was written; it is damaged", record=path.name)


def fingerprint(data: Any) -> str:
    return f"xxh3:{_xxhash().xxh3_128_hexdigest(data)}"


def _write_part(draft: Path, piece: str, part: Part, manifest: Manifest) -> None:
    name = f"{piece}.safetensors"
    header = json.dumps({slot.key: slot.header() for slot in part.slots}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    head = len(header).to_bytes(8, "little") + header
    data = part.view()
    digest = hashlib.sha256(head)
    with (draft / name).open("wb", buffering=0) as file:
        _write_all(file, memoryview(head))
        prints = {}
        for slot in part.slots:
            prints[slot.key] = fingerprint(data[slot.begin : slot.end])
        for begin in range(0, len(data), _BLOCK):
            block = data[begin : begin + _BLOCK]
            digest.update(block)
            _write_all(file, block)
    manifest.files[name] = FileRecord(
        digest.hexdigest(), len(head) + len(data), hashlib.sha256(head).hexdigest()
    )
    for key, slot in part.names.items():
        manifest.tensors[f"{piece}.{key}"] = TensorEntry(
            slot.shape, slot.dtype, name, slot.key, prints[slot.key], slot.raw
        )


def _write_all(file: Any, data: memoryview) -> None:
    while data:
        data = data[file.write(data) :]


def _write_state(draft: Path, trees: Mapping[str, Any], manifest: Manifest) -> None:
    content = json.dumps(trees, allow_nan=False).encode()
    (draft / STATE).write_bytes(content)
    manifest.files[STATE] = FileRecord(hashlib.sha256(content).hexdigest(), len(content))


def _read_back(draft: Path, manifest: Manifest) -> None:
    for name, record in manifest.files.items():
        sync(draft / name)
        if sha256_of(draft / name) != record.sha256:
            raise VaultError(
                f"{draft / name} does not read back as it was written; the disk cannot be trusted"
            )


@dataclass(frozen=True)
class _Job:
    """One tensor to read."""

    path: Path
    descriptor: int
    key: str
    begin: int  # in the file
    bytes: int
    entry: TensorEntry


def _jobs(folder: Path, name: str, manifest: Manifest, opened: ExitStack) -> list[_Job]:
    path, record = folder / name, manifest.files[name]
    try:
        file = opened.enter_context(path.open("rb", buffering=0))
        size = os.fstat(file.fileno()).st_size
        if size != record.bytes:
            raise VaultError(f"{path} has {size:,} bytes and was written with {record.bytes:,}", record=name)
        first, header = _header(file, path, record)
    except OSError as error:
        raise VaultError(f"{path} cannot be read ({error.strerror})", record=name) from error
    entries = {entry.key: entry for entry in manifest.tensors.values() if entry.file == name}
    return [
        _Job(path, file.fileno(), key, first + begin, end - begin, entries[key])
        for key, (begin, end) in sorted(
            ((key, place["data_offsets"]) for key, place in header.items()), key=lambda each: each[1]
        )
    ]


def _header(file: FileIO, path: Path, record: FileRecord) -> tuple[int, dict[str, Any]]:
    """Where the tensors begin, and the header."""
    first = file.read(8) or b""
    length = int.from_bytes(first, "little")
    head = first + (file.read(length) or b"") if length <= min(_LONGEST_HEADER, record.bytes) else b""
    if hashlib.sha256(head).hexdigest() != record.header:
        raise VaultError(f"the header of {path} is damaged", record=path.name)
    header = json.loads(head[8:])
    assert isinstance(header, dict)  # noqa: S101 - it is what was written
    return len(head), header


def _shares(jobs: list[_Job]) -> list[list[_Job]]:
    """Jobs in portions that are worth a turn of a thread."""
    shares: list[list[_Job]] = [[]]
    filled = 0
    for job in jobs:
        if filled > _SHARE:
            shares.append([])
            filled = 0
        shares[-1].append(job)
        filled += job.bytes
    return shares


def _read(jobs: list[_Job]) -> dict[tuple[str, str], torch.Tensor]:
    """Each tensor in memory of its own; its fingerprint is taken while its bytes are still in the cache."""
    import torch

    read = {}
    for job in jobs:
        memory = torch.empty(job.bytes, dtype=torch.uint8)
        seen = _xxhash().xxh3_128()
        view = memoryview(b"")
        if job.bytes:
            view = memoryview((ctypes.c_char * job.bytes).from_address(memory.data_ptr())).cast("B")
        filled = 0
        while filled < job.bytes:
            try:
                count = os.preadv(job.descriptor, [view[filled : filled + _BLOCK]], job.begin + filled)
            except OSError as error:
                raise VaultError(f"{job.path} cannot be read ({error.strerror})", record=job.key) from error
            if not count:
                raise VaultError(f"{job.path} ends within `{job.key}`", record=job.key)
            seen.update(view[filled : filled + count])
            filled += count
        if f"xxh3:{seen.hexdigest()}" != job.entry.fingerprint:
            raise VaultError(
                f"`{job.key}` in {job.path} is not what was written; the file is damaged", record=job.key
            )
        read[job.path.name, job.key] = memory.view(getattr(torch, job.entry.dtype)).view(job.entry.shape)
    return read


def _load_state(folder: Path, manifest: Manifest) -> dict[str, Any]:
    path = folder / STATE
    try:
        content = untrusted.read(path, MOST_STATE)
    except OSError as error:
        raise VaultError(f"{path} cannot be read ({error.strerror})", record=STATE) from error
    if STATE not in manifest.files or hashlib.sha256(content).hexdigest() != manifest.files[STATE].sha256:
        raise VaultError(f"{path} is not what was written; it is damaged", record=STATE)
    trees = json.loads(content)
    assert isinstance(trees, dict)  # noqa: S101 - it is what was written
    return trees


def check_installed() -> None:
    """Raises MissingExtra now, and not at the first save."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("The vault", "torch") from None
    _xxhash()


def _xxhash() -> Any:
    try:
        import xxhash
    except ImportError:
        raise MissingExtra("The vault", "torch") from None
    return xxhash
