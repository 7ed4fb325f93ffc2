"""Which other ranks hold the rest of a model whose parts are ordinary tensors here.

A `DTensor` says of itself that it is a piece (sharding.py). Three engines do not:

    FSDP1        an optimizer holds this rank's share of flat parameters, or views of it
    pipelines    each rank has layers of its own, and an optimizer for them
    ZeRO         (DeepSpeed) an optimizer holds this rank's share of a flat copy of all weights
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

_FSDP1 = ("torch.distributed.fsdp.fully_sharded_data_parallel", "FullyShardedDataParallel")
_STAGE = ("torch.distributed.pipelining.stage", "_PipelineStageBase")
_ZERO = (
    ("deepspeed.runtime.zero.stage_1_and_2", "DeepSpeedZeroOptimizer"),
    ("deepspeed.runtime.zero.stage3", "DeepSpeedZeroOptimizer_Stage3"),
    ("deepspeed.runtime.bf16_optimizer", "BF16_Optimizer"),
)
NOT_LOOKED_AT = {
    "FSDP1": "under FSDP1 each rank looks at its own share of the flat parameters; their values are not compared between ranks",
    "pipeline": "in a pipeline each rank looks at its own stage; a stage is not compared with the others, nor what is sent between them",
    "ZeRO": "under DeepSpeed's ZeRO the optimizer steps flat shares: which parameter a number in them belongs to, and the "
    "optimizer's state, are not looked at",
}


class Parts(NamedTuple):
    """The ranks that hold parts of what one optimizer steps."""

    kind: str
    ranks: tuple[int, ...]
    group: Any = None  # over which a flag may be raised on a device, in the order of the user's own messages


def may_have_parts() -> bool:
    """Whether one of these engines was imported at all: a look at a dictionary."""
    return any(name in sys.modules for name, _ in (_FSDP1, _STAGE, *_ZERO))


def parts_of(optimizer: Any) -> list[Parts]:
    """Of one process with a process group. Looks through all objects of the process, so it is asked once for an optimizer."""
    import torch.distributed as dist

    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    found: dict[tuple[str, tuple[int, ...]], Parts] = {}
    for engine in living(_FSDP1, _STAGE, *_ZERO):
        kind, group = _shared(engine, optimizer, held)
        if kind:
            ranks = tuple(dist.get_process_group_ranks(group))
            if len(ranks) > 1:
                found.setdefault((kind, ranks), Parts(kind, ranks, group if kind == "FSDP1" else None))
    return list(found.values())


def has_flat(module: Any) -> bool:
    """Whether parameters of it are shares of FSDP1's flat ones. The state dict of such a module is a collective."""
    kind = getattr(sys.modules.get(_FSDP1[0]), _FSDP1[1], None)
    return isinstance(kind, type) and any(isinstance(each, kind) for each in module.modules())


def is_stage(module: Any) -> bool:
    """Whether it is one stage of a pipeline, or holds parameters of one: other ranks hold other layers."""
    held = {id(p) for p in module.parameters()}
    return any(
        stage.num_stages > 1 and any(id(p) in held for p in stage.submod.parameters())
        for stage in living(_STAGE)
    )


def is_share(optimizer: Any) -> bool:
    """Whether it is DeepSpeed's, with a state that is this rank's share only."""
    kinds = tuple(
        kind
        for module, name in _ZERO
        if isinstance(kind := getattr(sys.modules.get(module), name, None), type)
    )
    return isinstance(optimizer, kinds)


def living(*classes: tuple[str, str]) -> Iterator[Any]:
    """All objects of classes that were imported."""
    kinds = tuple(
        kind
        for module, name in classes
        if isinstance(kind := getattr(sys.modules.get(module), name, None), type)
    )
    if kinds:
        yield from [each for each in gc.get_objects() if issubclass(type(each), kinds)]


def _shared(engine: Any, optimizer: Any, held: set[int]) -> tuple[str, Any]:
    """What it shares out of this optimizer's parameters, and over which group; "" when nothing."""
    if hasattr(engine, "submod"):
        mine = any(id(p) in held for p in engine.submod.parameters())
        return ("pipeline", engine.group) if mine else ("", None)
    if hasattr(engine, "dp_process_group"):
        return ("ZeRO", engine.dp_process_group) if engine.optimizer is optimizer else ("", None)
    flat = getattr(getattr(engine, "_handle", None), "flat_param", None)
    own = [] if flat is None else [flat, *(getattr(flat, "_params", None) or ())]
    return ("FSDP1", engine.process_group) if any(id(p) in held for p in own) else ("", None)
