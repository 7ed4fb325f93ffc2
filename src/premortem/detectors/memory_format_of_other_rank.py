from __future__ import annotations

import re

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Event, RunEnded, ShapesMet

_REFUSED = re.compile(r"required rank (\d) tensor to use (channels_last\w*) format")
_MEANS = {4: "batch, channels, height, width", 5: "batch, channels, depth, height, width"}


class MemoryFormatOfOtherRank(Detector):
    """The run ended because a tensor was to be put into a memory format for another number of dimensions.

    ## Why it matters
    `channels_last` is a format of 4-D tensors, `channels_last_3d` one of 5-D tensors. A video batch (batch, time, channels,
    height, width) has five dimensions, but time stands where channels should: neither format is meant for it.

    ## Usual causes
    `batch.to(memory_format=torch.channels_last)` on clips; `model.to(memory_format=torch.channels_last)` on a model with a Conv3d.

    ## What to do
    Convert where the convolutions are: `x.flatten(0, 1).contiguous(memory_format=torch.channels_last)` for a Conv2d that sees
    single frames, `channels_last_3d` for a Conv3d. Converting weights alone buys nothing unless the activations follow;
    `premortem.parts.channels_last` sets the right format layer by layer and measures whether it pays.
    """

    card = Card("PM417", "memory-format-of-other-rank", "shape", Severity.ERROR)
    listens = (ShapesMet, RunEnded)

    def __init__(self) -> None:
        self._names: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ShapesMet):
            self._names = event.names
        if not isinstance(event, RunEnded) or event.reason != "crashed":
            return
        refused = _REFUSED.search(event.message)
        if refused is None:
            return
        wanted, form = int(refused[1]), refused[2]
        guilty = next(((name, shape) for name, shape in self._names if len(shape) != wanted), None)
        what = f"`{guilty[0]}` of shape {guilty[1]}" if guilty else "a tensor (or a weight)"
        has = f", and this one has {len(guilty[1])}" if guilty else ""
        yield self.finding(
            event,
            f"the run ended after {event.step} steps: {what} cannot be put into {form}, which is for {wanted} dimensions",
            cause=f"{form} orders tensors of {wanted} dimensions ({_MEANS.get(wanted, 'and no others')}){has}.",
            remedy=(
                "Convert where the convolutions are: frames.flatten(0, 1) in channels_last for Conv2d, channels_last_3d for "
                "Conv3d. premortem.parts.channels_last does it layer by layer and measures whether it pays."
            ),
            form=form,
            dimensions=len(guilty[1]) if guilty else None,
        )
