"""What the script already does about memory, so that it is not advised to do it."""

from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils import checkpoint as checkpoints

from premortem.changes.checkpointing import repeated
from premortem.points import Subscriptions


class Facts:
    def __init__(self) -> None:
        self.checkpointed = self.zeroed_in_place = False

    def install(self, points: Subscriptions) -> None:
        zero, zero_module = Optimizer.zero_grad, nn.Module.zero_grad
        saved = torch.autograd.graph.saved_tensors_hooks.__enter__

        def cleared(self_: Any, set_to_none: bool = True) -> None:
            self.zeroed_in_place |= not set_to_none
            (zero if isinstance(self_, Optimizer) else zero_module)(self_, set_to_none=set_to_none)

        def hooked(self_: Any) -> Any:
            self.checkpointed |= type(self_).__module__ == checkpoints.__name__
            return saved(self_)

        apply = checkpoints.CheckpointFunction.apply

        def reentrant(*args: Any) -> Any:
            self.checkpointed = True
            return apply(*args)  # type: ignore[no-untyped-call]

        points.replace(Optimizer, "zero_grad", cleared)
        points.replace(nn.Module, "zero_grad", cleared)
        points.replace(torch.autograd.graph.saved_tensors_hooks, "__enter__", hooked)
        points.replace(checkpoints.CheckpointFunction, "apply", staticmethod(reentrant))

    def found(self, rehearsal: Any) -> dict[str, Any]:
        """The fields of a `RunDescription`."""
        trace = rehearsal.trace()
        low = {"bfloat16", "float16"}
        made = [a for a in trace.allocations if a.kind == "activations"]
        model = rehearsal.model
        updating = [a.op for a in trace.allocations if a.phase == "optimizer"]
        return {
            "device": "cuda",
            "bfloat16": rehearsal.gpu.capability >= (8, 0),
            "checkpoints": self.checkpointed,
            "zeroed_in_place": self.zeroed_in_place,
            "low_precision": any(a.dtype in low and a.bytes for a in made),
            "optimizers": rehearsal.optimizer_names(),
            "foreach": any(op.startswith("_foreach_") for op in updating),
            "convolutions": sum(a.op == "convolution" and len(a.shape) == 4 for a in made),
            "channels_last": any(map(_last, model.modules())) if model is not None else False,
            "repeated_blocks": len(repeated(model)) if model is not None else 0,
        }


def _last(module: nn.Module) -> bool:
    if not isinstance(module, nn.Conv2d) or module.weight.shape[1] == 1:
        return False
    return (
        module.weight.is_contiguous(memory_format=torch.channels_last) and not module.weight.is_contiguous()
    )
