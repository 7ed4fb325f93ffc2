"""A checkpoint of sharded state (`DTensor`, FSDP2, FSDP1): every rank writes its own pieces, the first one seals them.

    every rank    its pieces, by torch.distributed.checkpoint: __RANK_0.distcp; their sha256, a look at their numbers
    rank 0        .metadata; all that is not sharded, as in any checkpoint; what the other ranks sent; the manifest, last
    rank 0        the folder gets its name; says so, and then `save` returns everywhere

No rank ever has a whole parameter. What one rank could not write makes no checkpoint: the manifest is what makes one.
Ranks take part in the order in which they call `save` and `resume`, so all of them must.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from premortem.errors import VaultError
from premortem.tensors.parts import has_flat
from premortem.tensors.sharding import is_shard, local
from premortem.vault import parts, store, surroundings, training_objects
from premortem.vault.agreement import assembled
from premortem.vault.archive import Archive, say
from premortem.vault.atomic import draft_beside, sha256_of
from premortem.vault.health import examine
from premortem.vault.manifest import FileRecord, HealthRecord, Manifest
from premortem.vault.rank_talk import from_first, gathered
from premortem.vault.snapshot import Camera
from premortem.vault.state_parts import looked_at, taken_apart
from premortem.vault.wrapping import unwrapped

METADATA = ".metadata"
_PIECES = "__{rank}_*.distcp"


@dataclass
class Share:
    """What one rank has written, and what it saw."""

    files: dict[str, FileRecord] = field(default_factory=dict)
    non_finite: list[str] = field(default_factory=list)
    own: dict[str, Any] = field(default_factory=dict)  # states that differ from rank to rank
    problem: str = ""


def is_sharded(given: Mapping[str, Any]) -> bool:
    """Whether ranks have to save this together."""
    return training_objects.processes() > 1 and any(_held_in_pieces(each) for each in given.values())


def _held_in_pieces(piece: Any) -> bool:
    if training_objects.is_weights(piece):
        return any(is_shard(each) for each in piece.values())
    if not training_objects.is_module(piece):
        return False
    return any(is_shard(each) for each in piece.parameters()) or has_flat(piece)


def sharded_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The pieces that are written rank by rank: models, weights, and the optimizers of such models."""
    found = {name: each for name, each in given.items() if _held_in_pieces(each)}
    optimizers = {name: each for name, each in given.items() if training_objects.is_optimizer(each)}
    flat = {
        id(p)
        for each in found.values()
        if training_objects.is_module(each) and has_flat(each)
        for p in each.parameters()
    }
    return found | {name: each for name, each in optimizers.items() if _shards_in(each, flat)}


def _shards_in(optimizer: Any, flat: set[int]) -> bool:
    """`flat`: parameters that do not say of themselves that they are shares."""
    return any(is_shard(p) or id(p) in flat for group in optimizer.param_groups for p in group["params"])


def state_of(piece: Any, models: Mapping[str, Any]) -> dict[str, Any]:
    """As torch.distributed.checkpoint wants it: by the names of the model, also for an optimizer's moments."""
    from torch.distributed.checkpoint.state_dict import get_model_state_dict, get_optimizer_state_dict

    if training_objects.is_weights(piece):
        return dict(piece)
    if training_objects.is_module(piece):
        return dict(get_model_state_dict(unwrapped(piece)))
    return dict(get_optimizer_state_dict(owner_of(piece, models), piece))


def owner_of(optimizer: Any, models: Mapping[str, Any]) -> Any:
    """The model whose parameters an optimizer holds. Raises VaultError."""
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    for model in models.values():
        if held & {id(p) for p in model.parameters()}:
            return unwrapped(model)
    raise VaultError(
        "an optimizer holds no parameter of the models that were given with it; give the model too, and build the "
        "optimizer after `fully_shard`"
    )


def save(
    archive: Archive,
    camera: Camera,
    given: Mapping[str, Any],
    extra: Any,
    manifest: Manifest,
    *,
    each_rank: bool = False,
) -> Path:
    """Called by every rank. The folder of the checkpoint. Raises VaultError, on all ranks."""
    assembled("save", say)
    sharded, models = sharded_of(given), training_objects.models(given)
    first = training_objects.rank() == 0
    final = archive.place(manifest.step or 0, healthy=True)
    draft = _shared_folder(archive, draft_beside(final) if first else final, _size(given))
    try:
        rest = {name: each for name, each in given.items() if name not in sharded}
        own = {name: each for name, each in rest.items() if each_rank and parts.is_own(name, each)}
        share = _written(draft, sharded, models, {} if first else own)
        shares: list[Share] = gathered(share)
        problem, place = "", ""
        if first:
            try:
                manifest.sharded, manifest.ranks = list(sharded), len(shares)
                place = str(
                    _sealed(archive, camera, draft, rest, extra, manifest, shares, each_rank=each_rank)
                )
            except Exception as error:  # noqa: BLE001 - the others wait for a word
                problem = str(error) or repr(error)
        problem, place = from_first((problem, place))
    finally:
        if first:
            shutil.rmtree(draft, ignore_errors=True)
    if problem:
        raise VaultError(problem)
    return Path(place)


def _shared_folder(archive: Archive, draft: Path, size: int) -> Path:
    """The draft that the first rank has made, seen by all of them."""
    problem = ""
    if training_objects.rank() == 0:
        try:
            archive.with_room(size, Manifest, worth=True)
            draft.mkdir(parents=True)
        except (VaultError, OSError) as error:
            problem = str(error)
    draft, problem = from_first((draft, problem))
    if problem:
        raise VaultError(problem)
    blind = [rank for rank, seen in enumerate(gathered(draft.is_dir())) if not seen]
    if blind:
        if training_objects.rank() == 0:
            shutil.rmtree(draft, ignore_errors=True)
        raise VaultError(
            f"rank {blind[0]} does not see {draft.parent}; a vault of sharded state needs a folder that all ranks share"
        )
    return draft


def _written(
    draft: Path, sharded: Mapping[str, Any], models: Mapping[str, Any], own: Mapping[str, Any]
) -> Share:
    from torch.distributed.checkpoint.filesystem import FileSystemWriter
    from torch.distributed.checkpoint.state_dict_saver import save as write

    share = Share()
    try:
        states = {name: state_of(each, models) for name, each in sharded.items()}
        share.non_finite = [
            name for name in examine(dict(numbers_in(states))).non_finite if "param_groups" not in name
        ]
        taken = {name: training_objects.state_of(name, each, each_rank=True) for name, each in own.items()}
        share.own = {name: state for name, (state, why) in taken.items() if not why}
        share.own["rng"] = surroundings.random_states()
    except Exception as error:  # noqa: BLE001 - the others wait for a word
        share.problem = str(error) or repr(error)
    if any(gathered(bool(share.problem))):
        share.problem = share.problem or "another rank could not take its state apart"
        return share
    try:
        # With a writer it is no save of the script's, which a watched run would look at and keep by itself.
        write(states, storage_writer=FileSystemWriter(draft))
        for path in draft.glob(_PIECES.format(rank=training_objects.rank())):
            share.files[path.name] = FileRecord(sha256_of(path), path.stat().st_size)
    except Exception as error:  # noqa: BLE001 - likewise; torch reports an error of one rank on all ranks
        share.problem = (str(error) or repr(error)).strip().splitlines()[-1]
    return share


def numbers_in(value: Any, name: str = "") -> Any:
    """(name, this rank's piece) of every tensor of numbers."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from numbers_in(each, f"{name}.{key}" if name else str(key))
    elif hasattr(value, "local_shards"):  # FSDP1's
        for each in value.local_shards():
            yield from numbers_in(each.tensor, name)
    elif hasattr(value, "is_floating_point") and value.is_floating_point() and local(value).numel():
        yield name, local(value).detach()


def _sealed(
    archive: Archive,
    camera: Camera,
    draft: Path,
    rest: Mapping[str, Any],
    extra: Any,
    manifest: Manifest,
    shares: list[Share],
    *,
    each_rank: bool,
) -> Path:
    """On the first rank: all that is missing to make it a checkpoint, and its name."""
    for rank, share in enumerate(shares):
        if share.problem:
            raise VaultError(f"rank {rank}: {share.problem}")
    others = {
        parts.called(rank, name): state
        for rank, share in enumerate(shares)
        if rank
        for name, state in share.own.items()
    }
    trees, tensors = taken_apart(rest, extra, manifest, each_rank=each_rank, more=others)
    snapshot = camera.take(tensors)
    snapshot.ready()
    manifest.code, manifest.versions = surroundings.code(), surroundings.versions()
    health = looked_at(snapshot)
    broken = list(
        dict.fromkeys([*health.non_finite, *(name for share in shares for name in share.non_finite)])
    )
    manifest.health = HealthRecord(not broken, broken, health.all_zero)
    store.fill(draft, snapshot, trees, manifest)
    metadata = draft / METADATA
    manifest.files[METADATA] = FileRecord(sha256_of(metadata), metadata.stat().st_size)
    for share in shares:
        manifest.files |= share.files
    place = archive.place(manifest.step or 0, healthy=manifest.health.ok)
    archive.begin(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    store.seal(draft, place, manifest)
    archive.written(place, manifest)
    return place


def _size(given: Mapping[str, Any]) -> int:
    """How many bytes all ranks together will write, nearly."""
    held: list[Any] = [
        p for each in given.values() if training_objects.is_module(each) for p in each.parameters()
    ]
    optimizers = [each for each in given.values() if training_objects.is_optimizer(each)]
    states = [state for each in optimizers for state in getattr(each, "state", {}).values()]
    held += [value for state in states for value in state.values() if hasattr(value, "element_size")]
    return sum(int(each.numel()) * int(each.element_size()) for each in held)
