"""A training taken apart for its checkpoint: what describes it, what is JSON, what is a tensor."""

import time
from collections.abc import Mapping
from typing import Any

from premortem.vault import optimizer_state, parts, surroundings, training_objects
from premortem.vault.health import examine
from premortem.vault.manifest import HealthRecord, Manifest
from premortem.vault.snapshot import Snapshot
from premortem.vault.tree import Taken

_NOT_TRAINED = {"rng", "loader", "extra"}  # their numbers may be anything


def described(
    step: int,
    given: Mapping[str, Any],
    config: dict[str, Any],
    metrics: Mapping[str, Any] | None,
    companions: Mapping[str, Any] | None,
) -> Manifest:
    models = training_objects.models(given)
    return Manifest(
        step=step,
        time=time.time(),
        pieces={name: f"{type(each).__module__}.{type(each).__qualname__}" for name, each in given.items()},
        optimizers={
            name: optimizer_state.names_of(each, models)
            for name, each in given.items()
            if training_objects.is_optimizer(each)
        },
        config=config,
        config_digest=surroundings.digest(config),
        companions={name: surroundings.weights_digest(each) for name, each in (companions or {}).items()},
        metrics={name: float(value) for name, value in (metrics or {}).items()},
    )


def taken_apart(
    given: Mapping[str, Any],
    extra: Any,
    manifest: Manifest,
    *,
    each_rank: bool = False,
    more: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Each piece as JSON, and its tensors. The manifest lists what cannot be stored."""
    states: dict[str, Any] = {}
    for name, each in given.items():
        state, why = training_objects.state_of(name, each, each_rank=each_rank)
        if why:
            manifest.left_out.append(why)
        else:
            states[name] = state
    states |= {"rng": surroundings.random_states(), **(more or {})}
    if extra is not None:
        states["extra"] = extra
    trees, tensors = {}, {}
    for name, state in states.items():
        taken = Taken()
        trees[name] = taken.apart(state)
        tensors[name] = taken.tensors
        manifest.left_out += [f"{name}: {sentence}" for sentence in taken.left_out]
    manifest.data = _position(states.get("loader"))
    return trees, tensors


def looked_at(snapshot: Snapshot) -> HealthRecord:
    health = examine(
        (f"{piece}.{slot.key}", part.tensor(slot.key))
        for piece, part in snapshot.parts.items()
        if parts.plain(piece).partition(".")[0] not in _NOT_TRAINED
        for slot in part.slots
    )
    return HealthRecord(health.ok, list(health.non_finite), list(health.all_zero))


def _position(state: Any) -> dict[str, Any]:
    """For people: the epoch and the batch."""
    if not isinstance(state, Mapping) or not isinstance(state.get("order"), Mapping):
        return {}
    return {"epoch": state["order"].get("epoch"), "batches": state.get("batches")}
