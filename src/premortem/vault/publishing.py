"""A checkpoint gets its name: with the parts of all ranks, or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from premortem.vault import store
from premortem.vault.archive import Archive
from premortem.vault.links import link_or_copy
from premortem.vault.manifest import HealthRecord, Manifest
from premortem.vault.parts import Delivered
from premortem.vault.snapshot import Snapshot


def publish(
    archive: Archive, snapshot: Snapshot, trees: dict[str, Any], manifest: Manifest, parts: list[Delivered]
) -> Path:
    """Returns where it is. Raises VaultError; then there is no new checkpoint, and the old ones are as they were."""
    if parts:
        _unite(manifest, parts)
    place = archive.place(manifest.step or 0, healthy=manifest.health.ok)

    def adopt(draft: Path, trees: dict[str, Any], manifest: Manifest) -> None:
        """The parts' files become the checkpoint's; their bytes are read back with all others."""
        for part in parts:
            for name, record in part.manifest.files.items():
                if name != store.STATE:
                    link_or_copy(part.folder / name, draft / name)
                    manifest.files[name] = record
            manifest.tensors.update(part.manifest.tensors)
            trees.update(part.trees)

    try:
        archive.begin(place)
        size = sum(part.memory.numel() for part in snapshot.parts.values())
        archive.with_room(
            size, lambda: store.write(place, snapshot, trees, manifest, adopt), worth=manifest.health.ok
        )
    finally:
        for part in parts:
            shutil.rmtree(part.folder, ignore_errors=True)
    archive.written(place, manifest)
    return place


def _unite(manifest: Manifest, parts: list[Delivered]) -> None:
    """The first rank's manifest speaks for all: it is not well when one part is not."""
    records = [manifest.health, *(part.manifest.health for part in parts)]
    manifest.health = HealthRecord(
        all(each.ok for each in records),
        [name for each in records for name in each.non_finite],
        [name for each in records for name in each.all_zero],
    )
    manifest.ranks = 1 + len(parts)
    for part in parts:
        manifest.pieces.update(part.manifest.pieces)
        manifest.optimizers.update(part.manifest.optimizers)
        manifest.left_out += [each for each in part.manifest.left_out if each not in manifest.left_out]
