"""The result of checking what is about to be saved, as plain values that rooms can pass on."""

from typing import NamedTuple

from premortem.events import Site


class Looked(NamedTuple):
    """The default: it is not a checkpoint, and nothing is wrong with it."""

    checkpoint: bool = False  # it holds a state dict, a model, or an optimizer's state
    weights: int = 0  # trained ones in it
    poisoned: tuple[str, ...] = ()  # those that are not finite
    bytes: int = 0  # of all tensors in it
    at: Site | None = None  # the line that saves it
    buffers: bool = False  # the poisoned ones are buffers; the trained weights are finite


UNKNOWN = Looked(checkpoint=True)  # it could not be checked, so it is treated as a checkpoint
