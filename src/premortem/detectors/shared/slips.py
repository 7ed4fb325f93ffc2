"""The likely mistake where shapes do not fit. Pure: from the trail of shapes to one sentence."""

from math import prod
from typing import NamedTuple

from premortem.amounts import count
from premortem.events import Passed, ShapesMet, Site

_TURNS = frozenset({"permute", "transpose", "swapaxes", "movedim"})
_REGROUPS = frozenset({"view", "reshape", "flatten"})


class Slip(NamedTuple):
    cause: str
    remedy: str
    at: Site | None = None  # the line of the slip, where it is another one than the failing line


def slip(met: ShapesMet) -> Slip | None:
    failed = met.failed
    if failed is None or not failed.before:
        return None
    return (
        _turned(met, failed)
        or _no_batch(met, failed.before)
        or _channels_last(met, failed)
        or _flattened(met, failed)
        or _other_place(met, failed)
        or _scrambled(met)
    )


def _turned(met: ShapesMet, failed: Passed) -> Slip | None:
    """`permute(0, 3, 1, 2)` on what is channels-first already."""
    shape = failed.before
    for step in reversed(met.trail):
        if step.name not in _TURNS or step.after != shape or len(step.before) < 3:
            continue
        if met.channels is not None and step.before[1] == met.channels != shape[1]:
            return Slip(
                f"`{step.name}` turns {step.before}, which has its {met.channels} channels in the second dimension "
                f"already, into {shape}.",
                f"Remove this `{step.name}`.",
                step.at,
            )
        if met.features is not None and step.before[-1] == met.features != shape[-1]:
            return Slip(
                f"`{step.name}` turns {step.before}, which ends in the {met.features} features that "
                f"`{failed.name}` wants, into {shape}.",
                f"Remove this `{step.name}`, or turn it back before `{failed.name}`.",
                step.at,
            )
    return None


def _no_batch(met: ShapesMet, shape: tuple[int, ...]) -> Slip | None:
    if met.dims is None or len(shape) != met.dims - 1 or not met.inputs or len(met.inputs[0]) != met.dims - 1:
        return None
    return Slip(
        f"The model was given {met.inputs[0]}: one sample without a batch dimension.",
        "Take batches from a DataLoader, or give one sample as x.unsqueeze(0).",
    )


def _channels_last(met: ShapesMet, failed: Passed) -> Slip | None:
    shape, channels = failed.before, met.channels
    if channels is None or len(shape) < 3 or shape[-1] != channels or shape[1] == channels:
        return None
    order = (0, len(shape) - 1, *range(1, len(shape) - 1))
    if met.dims is not None and len(shape) == met.dims - 1:  # one sample, which torch takes as well
        order = (len(shape) - 1, *range(len(shape) - 1))
    return Slip(
        f"The {channels} channels are in the last dimension of {shape}; `{failed.name}` wants them before the pixels.",
        f"x.permute{order} before `{failed.name}`, once, if the images are read that way.",
    )


def _flattened(met: ShapesMet, failed: Passed) -> Slip | None:
    shape, features = failed.before, met.features
    if features is None or not shape or shape[-1] == features:
        return None
    last = next(
        (step for step in reversed(met.trail) if step.after == shape and step.name in _REGROUPS), None
    )
    source = last or next((step for step in reversed(met.trail) if len(step.after) > 2), None)
    if last is not None and len(last.before) > 2 and prod(last.before[1:]) == shape[-1]:
        sizes = " x ".join(map(str, last.before[1:]))
        return Slip(
            f"Flattened, {last.before} has {sizes} = {shape[-1]} numbers for each sample; `{failed.name}` was made for "
            f"{features}.",
            f"Make `{failed.name}` for {shape[-1]} features, give images of the size it was made for, or pool to a fixed "
            "size first (nn.AdaptiveAvgPool2d).",
        )
    if len(shape) > 2 and prod(shape[1:]) == features:
        return Slip(
            f"`{failed.name}` wants {features} features, and {shape} holds as many for each sample, but not in one row.",
            f"x.flatten(1) before `{failed.name}`.",
        )
    if source is not None and len(shape) == 2 and prod(source.after[1:]) == shape[-1]:
        sizes = " x ".join(map(str, source.after[1:]))
        return Slip(
            f"`{source.name}` gives {source.after}, which is {sizes} = {shape[-1]} numbers for each sample; "
            f"`{failed.name}` was made for {features}.",
            f"Make `{failed.name}` for {shape[-1]} features, or give images of the size it was made for.",
        )
    return None


def _other_place(met: ShapesMet, failed: Passed) -> Slip | None:
    shape, features = failed.before, met.features
    if features is None or features not in shape[1:-1]:
        return None
    place = shape.index(features, 1)
    return Slip(
        f"`{failed.name}` wants {features} features in the last dimension of {shape}; they are in dimension {place}.",
        f"x.transpose({place}, -1) before `{failed.name}`.",
    )


def _scrambled(met: ShapesMet) -> Slip | None:
    """Sizes of a transpose that were made with `view`: it fits where it is done, and nowhere after."""
    for step in reversed(met.trail):
        same = sorted(step.before) == sorted(step.after) and step.before != step.after
        if step.name in {"view", "reshape"} and same and len(step.before) > 2:
            return Slip(
                f"`{step.name}` turns {step.before} into {step.after}: it moves the borders, not the numbers.",
                "Use permute or transpose there.",
                step.at,
            )
    return None


def trail(met: ShapesMet) -> list[str]:
    """The trail, one line for each entry, from the input to where it failed."""
    lines = [f"input {' and '.join(map(str, met.inputs))}"] if met.inputs else []
    lines += [
        f"{step.name}{f' ({step.kind})' if step.kind else ''}: {step.before} to {step.after}"
        for step in met.trail
    ]
    failed = met.failed
    if failed is not None:
        wanted = {"channels": met.channels, "features": met.features, "dimensions": met.dims}
        asks = ", ".join(f"{count} {word}" for word, count in wanted.items() if count is not None)
        lines.append(
            f"{failed.name} ({failed.kind}): {failed.before} does not fit"
            + (f", wants {asks}" if asks else "")
        )
    return lines


def expects(met: ShapesMet) -> str:
    """Which layer wants what, and what it was given instead; "" where it has what it wants, or that is not known."""
    failed = met.failed
    if failed is None or not failed.before:
        return ""
    shape, wanted = failed.before, ""
    if met.features is not None and shape[-1] != met.features:
        wanted = f"{count(met.features, 'feature')} in the last dimension"
    elif met.channels is not None and len(shape) > 1 and shape[1] != met.channels:
        wanted = f"{count(met.channels, 'channel')} in the second dimension"
    elif met.dims is not None and len(shape) != met.dims:
        wanted = count(met.dims, "dimension")
    inside = met.model and not f"{failed.name}.".startswith(f"{met.model}.")
    name = f"{met.model}.{failed.name}" if inside else failed.name
    return f"`{name}` ({failed.kind}) expects {wanted} and was given {shape}" if wanted else ""


def way(met: ShapesMet) -> str:
    """The last part of the trail, in one sentence."""
    if met.failed is None:
        return ""
    steps = [f"{step.name} gave {step.after}" for step in met.trail[-3:]]
    given = [f"the input was {met.inputs[0]}"] if met.inputs else []
    failed = f"`{met.failed.name}` ({met.failed.kind}) was given {met.failed.before}"
    return f" On the way: {', '.join([*given, *steps, failed])}."
