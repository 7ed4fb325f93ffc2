"""Names of weights as the model's author wrote them, whatever it is wrapped in."""

from typing import Any

# Segments that a wrapper puts into a name.
WITHIN = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_flat_param")


def unwrapped(model: Any) -> Any:
    """The module inside DataParallel, DistributedDataParallel and torch.compile."""
    seen = set()
    while id(model) not in seen:
        seen.add(id(model))
        inner = getattr(model, "_orig_mod", None)
        if inner is None and type(model).__name__ in {"DataParallel", "DistributedDataParallel"}:
            inner = getattr(model, "module", None)
        if inner is None:
            break
        model = inner
    return model


def bare(name: str) -> str:
    """A name without what torch.compile, FSDP and activation checkpointing have put into it."""
    return ".".join(part for part in name.split(".") if part not in WITHIN)
