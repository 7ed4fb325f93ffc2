"""What the ranks of a run agree on: which checkpoint all of them resume from.

    each rank    the newest checkpoint that it has read, every byte of it ─► the store
    first rank   all of them, side by side ─► the store
    each rank    the same one everywhere? done. Else: the oldest of those named, or an older one, and once more

A rank resumes only from a checkpoint that every rank could read. By then its state is in memory, so the files may be
deleted.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from premortem.errors import VaultError
from premortem.ranks.rendezvous import connect_anyhow
from premortem.vault import rank_shares, training_objects
from premortem.vault.manifest import NAME, Manifest
from premortem.vault.opening import newest_whole
from premortem.vault.resume_source import OurSaved

_LOOK = 0.02  # seconds between two looks at the store
_SAY = 15.0  # seconds after which the missing ranks are named
_PATIENCE = 1800.0  # seconds: ranks may come from very different errands (one of them unpacks the data)
_meetings = count()  # scripts are the same on all ranks, and so is the order of their calls


class Offer(NamedTuple):
    """A checkpoint that a rank has read. Offers are ordered as checkpoints are: by when they were saved."""

    time: float
    step: int
    name: str
    seal: str  # of its manifest's bytes: the same name can hold another checkpoint


class Table:
    """An exchange between all ranks: each gives a value, and gets the values of all."""

    def __init__(self, name: str, number: int, say: Callable[[str], None]) -> None:
        self.rank, self.world = training_objects.rank(), training_objects.processes()
        self._name, self._say = name, say
        self._store = connect_anyhow(f"{name}/{number}")
        self._round = count()

    def round(self, mine: Any) -> list[Any]:
        """The values of all ranks, by rank. Raises VaultError when a rank does not join."""
        number = next(self._round)
        self._store.set(f"{number}/{self.rank}", json.dumps(mine))
        if self.rank == 0:
            every = [f"{number}/{rank}" for rank in range(self.world)]
            self._wait_for(every)
            answers = [json.loads(self._store.get(key)) for key in every]
            self._store.set(f"{number}/all", json.dumps(answers))
            return answers
        self._wait_for([f"{number}/all"])
        return list(json.loads(self._store.get(f"{number}/all")))

    def _wait_for(self, keys: list[str]) -> None:
        began, warned = time.monotonic(), False
        while not self._store.check(keys):
            waited = time.monotonic() - began
            if waited > _SAY and not warned:
                warned = True
                self._say(f"Rank {self.rank} waits for {self._missing(keys)} to call `{self._name}` too.")
            if waited > _PATIENCE:
                raise VaultError(f"{self._missing(keys)} did not call `{self._name}`; call it on every rank")
            time.sleep(_LOOK)

    def _missing(self, keys: list[str]) -> str:
        absent = [key.partition("/")[2] for key in keys if not self._store.check([key])]
        return "the others" if absent == ["all"] else f"rank {', '.join(absent[:4])}"


def assembled(name: str, say: Callable[[str], None]) -> None:
    """Wait until all ranks are in this call, before one of them waits in a collective, which cannot name the missing ones.
    Raises VaultError when one of them does not join."""
    Table(name, next(_meetings), say).round(None)


def agreed(
    candidates: Sequence[Path],
    mine: tuple[OurSaved | None, list[str]],
    shapes: dict[str, str],
    say: Callable[[str], None],
) -> tuple[OurSaved | None, list[str]]:
    """`mine` is what this rank would resume from, and what it found damaged; `shapes` are those of its modules. Returns what
    all ranks resume from. Raises VaultError, on all ranks."""
    if training_objects.processes() == 1:
        return mine
    saved, damaged = mine
    table = Table("resume", next(_meetings), say)
    rank_shares.compare(table.round(shapes))
    left = list(candidates)
    while True:
        answers = table.round(_offer(saved))
        offers = [Offer(*each) if each is not None else None for each in answers]
        if all(offer == offers[0] for offer in offers):
            return saved, damaged
        known = [offer for offer in offers if offer is not None]
        if len(known) < len(offers):
            raise VaultError(_apart(offers, candidates))
        oldest, own = min(known), _offer(saved)
        if own is not None and own > oldest:
            damaged.append(f"{own.name} cannot be read by every rank")
            left = [path for path in left if (there := _there(path)) is not None and there <= oldest]
            saved, more = newest_whole(left)
            damaged += more


def _offer(saved: OurSaved | None) -> Offer | None:
    return None if saved is None else _offer_of(saved.path, saved.loaded.manifest)


def _there(path: Path) -> Offer | None:
    try:
        return _offer_of(path, Manifest.read(path / NAME))
    except VaultError:
        return None


def _offer_of(path: Path, manifest: Manifest) -> Offer:
    seal = hashlib.sha256(manifest.render()).hexdigest()
    return Offer(manifest.time, manifest.step or 0, path.name, seal)


def _apart(offers: Sequence[Offer | None], candidates: Sequence[Path]) -> str:
    blind = [rank for rank, offer in enumerate(offers) if offer is None]
    newest = max(offer for offer in offers if offer is not None)
    where = candidates[0].parent if candidates else "the vault"
    return (
        f"rank {', '.join(map(str, blind[:4]))} finds no complete checkpoint, but another rank has {newest.name} in {where}. "
        "Nothing was loaded. All ranks must see the same folder"
    )
