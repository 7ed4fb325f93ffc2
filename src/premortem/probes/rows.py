"""Tensors as rows for a profile (premortem.profile.arrays), and the variable of the user's that they were cut from."""

import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from premortem.probes.frame_variables import variables
from premortem.probes.session import is_user_code
from premortem.profile import arrays
from premortem.profile.lying import own_and_others, way

_LAID = 8  # pictures of one batch whose masks are laid on them
_LARGE = 1 << 23  # elements that are searched for a row


def usable(tensor: torch.Tensor) -> bool:
    return (
        tensor.device.type == "cpu"
        and tensor.layout == torch.strided
        and tensor.dim() >= 1
        and tensor.numel() > 0
        and not tensor.requires_grad
        and not tensor.is_complex()
        and not tensor.is_quantized
    )


def as_array(tensor: torch.Tensor) -> Any:
    value = tensor.detach()
    return value.float().numpy() if value.dtype == torch.bfloat16 else value.numpy()


def rows_of(tensor: torch.Tensor, called: str = "input") -> arrays.Rows | None:
    return arrays.rows_of(as_array(tensor), called=called) if usable(tensor) else None


def place_in(batch: Any, tensor: torch.Tensor, shown: str = "batch") -> str:
    """Where it stands in what a loader handed out: `batch[1]`, `batch['table']`."""
    items: Any = ()
    if isinstance(batch, dict):
        items = batch.items()
    elif isinstance(batch, (list, tuple)):
        items = enumerate(batch)
    for key, value in items:
        found = f"{shown}[{key!r}]" if value is tensor else place_in(value, tensor, f"{shown}[{key!r}]")
        if found:
            return found
    return ""


def labels_of(target: torch.Tensor, count: int) -> tuple[list[float], bool] | None:
    return arrays.labels_of(as_array(target), count) if usable(target) else None


def is_mask(target: torch.Tensor, picture: torch.Tensor) -> bool:
    """One number for each pixel."""
    return usable(target) and target.shape in {
        (len(picture), *picture.shape[2:]),
        (len(picture), 1, *picture.shape[2:]),
    }


def laid(pictures: torch.Tensor, masks: torch.Tensor) -> tuple[list[str], tuple[int, int]]:
    """In which way each of the first masks lies on its picture, where that shows; and how many of them say more about it than the
    mask of another picture does, of how many."""
    pairs = [
        (picture, mask.reshape(mask.shape[-2:]))
        for picture, mask in zip(as_array(pictures[:_LAID]), as_array(masks[:_LAID]), strict=True)
    ]
    found = [way(picture, mask) for picture, mask in pairs]
    return [name for name in found if name], own_and_others(pairs)


class Holder(NamedTuple):
    """A variable of the user's."""

    name: str
    memory: int
    rows: int


def holders(tensor: torch.Tensor) -> tuple[Holder | None, Holder | None]:
    """The variable that is this very tensor, and a larger one that it may have been cut from."""
    piece = tensor.detach()
    found = list(tables(piece))
    own = next((pair for pair in found if same_memory(pair[1], piece)), None)
    larger = (pair for pair in found if len(pair[1]) > len(piece))
    cut_from = next((pair for pair in larger if holds(pair[1], piece)), None)
    made = (
        None if pair is None else Holder(pair[0], pair[1].untyped_storage().data_ptr(), len(pair[1]))
        for pair in (own, cut_from)
    )
    return next(made), next(made)


def partner(piece: torch.Tensor) -> tuple[torch.Tensor, int] | None:
    """The labels of a set that is judged without a loader, and the first row that was asked for: the only thing as long as the set among
    the variables beside it, with one number for each row."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_code(frame.f_code.co_filename):
            held = [each for pair in variables(frame).items() for _, each in inside(*pair)]
            found = {id(t): t for t in held if isinstance(t, torch.Tensor) and t.dim() and usable(t)}
            sets = [t for t in found.values() if t.shape[1:] == piece.shape[1:] and same_memory(t, piece)]
            whole = max(sets, key=len, default=None)
            if whole is not None:
                others = {
                    t.data_ptr(): t
                    for t in found.values()
                    if len(t) == len(whole) and not same_memory(t, whole)
                }
                arrays_too = any(
                    type(each).__name__ == "ndarray" and len(each) == len(whole) for each in held
                )
                if others or arrays_too:
                    only = next(iter(others.values())) if len(others) == 1 and not arrays_too else None
                    return cut_like(only, whole, piece) if only is not None else None
        frame = frame.f_back
    return None


def cut_like(
    labels: torch.Tensor, whole: torch.Tensor, piece: torch.Tensor
) -> tuple[torch.Tensor, int] | None:
    """Where a piece begins that was cut from a set; None for numbers that say which row it is, and no class."""
    start, left = divmod(int(piece.storage_offset() - whole.storage_offset()), max(1, int(whole.stride(0))))
    cut = whole.stride() == piece.stride() and not left and 0 <= start <= len(whole) - len(piece)
    numbers = not labels.is_floating_point() and 2 * int(labels.unique().numel()) > len(labels)
    return (labels, start) if cut and labels.dim() <= 2 and not numbers else None


def holds(whole: torch.Tensor, piece: torch.Tensor) -> bool:
    """Whether the first row of the piece is one of its rows."""
    return bool((whole == piece[:1]).reshape(len(whole), -1).all(1).any())


def tables(piece: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors in the variables of the user's frames that could hold these rows, the largest first."""
    found: dict[int, tuple[str, torch.Tensor]] = {}
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_code(frame.f_code.co_filename):
            for name, value in [*variables(frame).items(), *frame.f_globals.items()]:
                for shown, inner in inside(name, value):
                    if fits(inner, piece):
                        found.setdefault(id(inner), (shown, inner))
        frame = frame.f_back
    yield from sorted(found.values(), key=lambda pair: -len(pair[1]))


def inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The value itself, and the tensors that it holds: of `self`, of a TensorDataset, of a dictionary or tuple."""
    yield name, value
    if isinstance(value, torch.Tensor):
        return
    if isinstance(value, dict) and len(value) <= 32:
        yield from ((f"{name}[{key!r}]", inner) for key, inner in value.items())
    elif isinstance(value, (list, tuple)) and len(value) <= 8:
        yield from ((f"{name}[{at}]", inner) for at, inner in enumerate(value))
    elif not isinstance(value, (type, types.ModuleType)):
        for attribute, inner in list(getattr(value, "__dict__", {}).items())[:32]:
            if isinstance(inner, (tuple, list)) and len(inner) <= 8:
                yield from ((f"{name}.{attribute}[{at}]", each) for at, each in enumerate(inner))
            else:
                yield f"{name}.{attribute}", inner


def fits(whole: Any, piece: torch.Tensor) -> bool:
    return (
        isinstance(whole, torch.Tensor)
        and whole.dtype == piece.dtype
        and usable(whole)
        and whole.shape[1:] == piece.shape[1:]
        and whole.shape[0] >= piece.shape[0]
        and whole.numel() <= _LARGE
        and (whole.shape[0] > piece.shape[0] or same_memory(whole, piece))
    )


def same_memory(whole: torch.Tensor, piece: torch.Tensor) -> bool:
    return whole.untyped_storage().data_ptr() == piece.untyped_storage().data_ptr()
