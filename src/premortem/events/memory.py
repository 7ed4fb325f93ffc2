"""Memory: when it runs out, and what was done about it."""

from dataclasses import field
from typing import NamedTuple

from premortem.events.base import Event, Site, event

OUT_OF_MEMORY = "OutOfMemoryError"  # torch's class for it, as `RunEnded.error` names it


class Kept(NamedTuple):
    """A variable of the user's that holds more and more tensors."""

    name: str  # "history", "self.outputs"
    tensors: int
    graphs: int  # how many of them carry the graph they were computed from
    bytes: int
    at: Site | None = None  # the line at which it grows


@event
class OutOfMemory(Event):
    """`torch.OutOfMemoryError` was raised. Sizes are bytes; what is unknown is None or empty."""

    phase: str  # "forward", "backward", "step", or "" for any other code of the script's
    module: str = ""  # the innermost module that was running
    samples: int | None = None  # in the batch
    requested: int | None = None  # what the allocation that failed asked for
    total: int | None = None  # memory that this process may use
    free: int | None = None  # ... of it not taken by anybody
    allocated: int | None = None  # held by tensors
    reserved: int | None = None  # taken from the device: tensors, and gaps between them
    largest_gap: int | None = None
    kinds: dict[str, int] = field(default_factory=dict)  # parameters, gradients, optimizer state, buffers
    modules: tuple[tuple[str, int], ...] = ()  # what single layers keep for the backward pass, largest first
    levels: tuple[tuple[int, int], ...] = ()  # (step, memory held by tensors at its end)
    kept: tuple[Kept, ...] = ()
    unsplit: str = ""  # why the batch was not run in parts, when that was tried


@event
class BatchSplit(Event):
    """A batch did not fit and was, or from now on is, run in parts, with the same gradients."""

    model: int
    name: str  # of the model
    phase: str  # where memory ran out: "forward" or "backward"
    samples: int
    parts: int
    requested: int | None = None
    lost: bool = False  # the step in which it was noticed could not be finished
