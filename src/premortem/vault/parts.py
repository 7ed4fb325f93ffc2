"""A checkpoint to which every rank adds what is its own: `Vault(folder, each_rank=True)`.

    rank 1    rng, loader, own.*  ─► .rank-1.partial-…/   written, read back, sealed by a manifest ─► announced in the store
    rank 0    model, optimizer, … ─► .step-….partial-…/
              waits for all parts, takes their files in, reads all of it back, manifest, and only then the name step-…

A rank that is killed leaves a draft without a name, which is never read; the next run removes it. A part of another attempt is
not announced in this attempt's store, so it cannot be mixed in.

What rank 3 has of its own are pieces like all others, called `rank-3.rng`, `rank-3.own.bank`; rank 0's have their plain names.
"""

import hashlib
import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from premortem.errors import VaultError
from premortem.ranks.rendezvous import connect_anyhow
from premortem.vault import store, training_objects
from premortem.vault.atomic import draft_beside
from premortem.vault.manifest import NAME, Manifest
from premortem.vault.snapshot import Snapshot

OWN = "own"  # save(own=…), resume(own=…): state that differs from rank to rank
_FRONT = re.compile(r"rank-(\d+)\.")
_LOOK = 0.02  # seconds between two looks at the store
_PATIENCE = 600.0  # seconds for the parts of one save
_vaults = count()


def is_own(name: str, piece: Any) -> bool:
    """Whether every rank has another state of this piece."""
    return name.partition(".")[0] == OWN or (
        training_objects.is_loader(piece) and not training_objects.shared_out(piece)
    )


def called(rank: int, piece: str) -> str:
    return f"rank-{rank}.{piece}" if rank else piece


def plain(piece: str) -> str:
    """`own.bank` of `rank-3.own.bank`."""
    return _FRONT.sub("", piece, count=1)


def for_rank(manifest: Manifest, rank: int) -> list[str]:
    """The pieces in files of their own that a rank has to read: not those of other ranks."""
    names = [name.removesuffix(".safetensors") for name in manifest.files if name.endswith(".safetensors")]
    return [name for name in names if (found := _FRONT.match(name)) is None or int(found[1]) == rank]


def named(
    rank: int, trees: Mapping[str, Any], tensors: Mapping[str, Any], manifest: Manifest
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a rank has of its own, under names that are its own."""
    manifest.pieces = _called(manifest.pieces, rank)
    manifest.optimizers = _called(manifest.optimizers, rank)
    return _called(trees, rank), _called(tensors, rank)


class Delivered(NamedTuple):
    """The part of one rank, whole."""

    folder: Path
    manifest: Manifest
    trees: dict[str, Any]


class Parts:
    """The parts of this run's saves. All its methods but the first are called on the writer's thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rank, self.world = training_objects.rank(), training_objects.processes()
        self._store = connect_anyhow(f"parts/{next(_vaults)}")
        self._saves = count()

    def number(self) -> str:
        """Of a save: the same on all ranks, whatever steps they are at."""
        return str(next(self._saves))

    def deliver(self, number: str, snapshot: Snapshot, trees: dict[str, Any], manifest: Manifest) -> None:
        """What this rank has of its own. Raises VaultError; then the first rank knows of it."""
        mine = draft_beside(self.folder / f"rank-{self.rank}")
        try:
            store.write(mine, snapshot, trees, manifest)
        except BaseException as error:
            self._announce(number, {"error": str(error)})
            raise
        seal = hashlib.sha256((mine / NAME).read_bytes()).hexdigest()
        self._announce(number, {"folder": mine.name, "seal": seal, "step": manifest.step})

    def gather(self, number: str, manifest: Manifest) -> list[Delivered]:
        """All other ranks' parts, once they are whole. Raises VaultError when one of them cannot be had."""
        others = range(1, self.world)
        until = time.monotonic() + _PATIENCE
        missing = list(others)
        while missing:
            missing = [rank for rank in missing if not self._store.check([f"{number}/{rank}"])]
            if missing and time.monotonic() > until:
                raise VaultError(
                    f"rank {missing[0]} has not delivered its part within {_PATIENCE:.0f} s; call save on every rank"
                )
            if missing:
                time.sleep(_LOOK)
        found = [
            self._open(rank, json.loads(self._store.get(f"{number}/{rank}")), manifest) for rank in others
        ]
        for rank in others:
            self._store.delete_key(f"{number}/{rank}")
        return found

    def _announce(self, number: str, record: dict[str, Any]) -> None:
        with suppress(RuntimeError):  # the store went away, and the run with it
            self._store.set(f"{number}/{self.rank}", json.dumps(record))

    def _open(self, rank: int, record: dict[str, Any], manifest: Manifest) -> Delivered:
        if "error" in record:
            raise VaultError(f"rank {rank} could not write its part: {record['error']}")
        if record["step"] != manifest.step:
            raise VaultError(
                f"rank {rank} saved step {record['step']} where rank 0 saved step {manifest.step}; the parts do not belong together"
            )
        folder = self.folder / record["folder"]
        if not folder.is_dir():
            raise VaultError(
                f"rank {rank} has written its part where rank 0 does not see it; all ranks need the same folder {self.folder}"
            )
        raw = (folder / NAME).read_bytes()
        if hashlib.sha256(raw).hexdigest() != record["seal"]:
            raise VaultError(f"the part of rank {rank} in {folder} is not what it has written")
        trees = json.loads((folder / store.STATE).read_bytes())
        return Delivered(folder, Manifest.parse(raw, str(folder / NAME)), trees)


def _called(named: Mapping[str, Any], rank: int) -> dict[str, Any]:
    return {called(rank, name): value for name, value in named.items()}
