"""Resume from a checkpoint of sharded state, on as many ranks or on others, or on one without any sharding.

Each rank checks its share of the files, and a checkpoint is whole when all of them say so: no rank resumes from another one
than the rest. torch.distributed.checkpoint reads into each rank the parts of the pieces that it has now.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from premortem.amounts import some
from premortem.tensors.parts import has_flat
from premortem.vault import opening, sharded_reading, training_objects
from premortem.vault.formats.distributed import Distributed
from premortem.vault.matching import Spec, match
from premortem.vault.rank_talk import from_first, gathered
from premortem.vault.report import report_match
from premortem.vault.resume_plan import Resumption
from premortem.vault.resume_source import OurSaved
from premortem.vault.sharded_saving import state_of


def newest_whole(candidates: list[Path]) -> tuple[OurSaved | None, list[str]]:
    """The first that verifies on every rank, and a sentence for each that did not. Called by all ranks."""
    share = training_objects.rank(), training_objects.processes()
    return opening.newest_whole(
        from_first(candidates), share, lambda problem: next(filter(None, gathered(problem)), "")
    )


def compare(resumption: Resumption, given: Mapping[str, Any], *, script_wins: bool) -> None:
    """How the sharded pieces of a checkpoint fit what is given; they are loaded with the rest."""
    path, manifest = resumption.saved.path, resumption.saved.manifest
    assert manifest is not None  # noqa: S101 - it says that there are sharded pieces
    with Distributed(path) as contents:
        stored = {name: Spec(tuple(each.shape), each.dtype) for name, each in contents.tensors.items()}
    if manifest.ranks != training_objects.processes():
        resumption.report.add(
            "note",
            "ranks",
            f"Saved on {manifest.ranks} ranks, resumed on {training_objects.processes()}: the pieces are dealt out anew.",
        )
    models = training_objects.models(given)
    for name, piece in given.items():
        theirs = {
            key.removeprefix(f"{name}."): spec for key, spec in stored.items() if key.startswith(f"{name}.")
        }
        broken = [
            each.removeprefix(f"{name}.")
            for each in manifest.health.non_finite
            if each.startswith(f"{name}.")
        ]
        if broken:
            what = "Moments" if training_objects.is_optimizer(piece) else "Weights"
            resumption.report.add("error", name, f"{what} that are not finite: {some(broken)}.")
        if not theirs:
            resumption.report.add("error", name, f"The checkpoint holds no sharded state for `{name}`.")
        elif training_objects.is_optimizer(piece):
            resumption.also(name, _put_optimizer(path, name, piece, models, script_wins=script_wins))
        else:
            found = match(theirs, _specs(piece))
            report_match(found, name, resumption.report)
            if found.renaming:
                resumption.report.add("error", name, "Sharded weights are read by their own names only.")
            resumption.also(name, _put_weights(path, name, piece, set(found.pairs)))


def _specs(piece: Any) -> dict[str, Any]:
    """What it wants to be given. FSDP1 would gather all weights on every rank for a plain state dict."""
    flat = training_objects.is_module(piece) and has_flat(piece)
    return training_objects.specs(state_of(piece, {}) if flat else piece)


def _put_weights(path: Path, name: str, piece: Any, fits: set[str]) -> Any:
    def put() -> None:
        from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

        state = {key: value for key, value in state_of(piece, {}).items() if key in fits}
        _read(path, {name: state})
        if training_objects.is_module(piece):
            from premortem.vault.wrapping import unwrapped

            set_model_state_dict(unwrapped(piece), state, options=StateDictOptions(strict=False))

    return put


def _put_optimizer(
    path: Path, name: str, optimizer: Any, models: Mapping[str, Any], *, script_wins: bool
) -> Any:
    def put() -> None:
        from torch.distributed.checkpoint.state_dict import set_optimizer_state_dict

        from premortem.vault.sharded_saving import owner_of

        before = [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
        state = state_of(optimizer, models)
        _read(path, {name: state})
        set_optimizer_state_dict(owner_of(optimizer, models), optimizer, optim_state_dict=state)
        if script_wins:
            for group, own in zip(optimizer.param_groups, before, strict=True):
                group.update(own)

    return put


def _read(path: Path, state: dict[str, Any]) -> None:
    """Into the tensors that are there."""
    sharded_reading.load(path, state, alone=training_objects.processes() == 1)
