import itertools
from typing import Any

from premortem import amounts, events
from premortem.detectors.base import Card, Certainty, Detector, Finding, Findings, Severity
from premortem.events import OUT_OF_MEMORY, BatchSplit, Event, OptimizerStep, RunEnded

SOME = 8  # looks at the memory that is held: enough to tell a slope from a jump
SHARE = 0.1  # of what is held must have come since the first of them to be called a leak
_PHASES = {
    "forward": "in the forward pass",
    "backward": "in the backward pass",
    "step": "in the optimizer's step",
    "": "outside the model",
}


class Growth:
    """How the memory that is held at the end of a step has developed."""

    def __init__(self, levels: tuple[tuple[int, int], ...]) -> None:
        levels = levels[2:]  # the optimizer's state comes with the first step
        rises = [later[1] - earlier[1] for earlier, later in itertools.pairwise(levels)]
        self.steps = levels[-1][0] - levels[0][0] if levels else 0
        self.bytes = levels[-1][1] - levels[0][1] if levels else 0
        steady = sum(1 for rise in rises if rise >= 0) >= 0.9 * len(rises)
        moved = sum(1 for rise in rises if rise > 0) >= 0.5 * len(rises)
        self.leaks = len(levels) >= SOME and steady and moved and self.bytes >= max(1, SHARE * levels[-1][1])

    def __str__(self) -> str:
        each = self.bytes / max(1, self.steps)
        return f"memory in use grew by {amount(self.bytes)} in the last {self.steps} steps, {amount(each)} a step"


class OutOfMemory(Detector):
    """The run ended because the device had no memory left.

    ## Why it matters
    The step that failed is lost, and with it all since the last checkpoint. Where memory went decides what helps: a
    batch that is too large, a leak that any batch size only delays, or gaps between tensors.

    ## Usual causes
    Too many samples or too large ones in a batch; the longest sequence of the data set, which comes late; an evaluation
    without `torch.no_grad()`; losses or outputs that are kept with their graph; another process on the device.

    ## What to do
    If memory grew from step to step, change the line that is named. If enough was free in sum but not in one piece,
    set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`. Otherwise take smaller batches and accumulate, use
    autocast or checkpointing; `premortem fit` predicts what each of them saves.

    Policy `protect` runs a batch that does not fit in parts, where it can be shown that the samples do not influence
    each other: see batch-split. The finding says why it did not.

    ## When it stays silent
    When the script catches the error itself and goes on: that is `info`. A search for the largest batch works
    like that.
    """

    card = Card("PM360", "out-of-memory", "memory-fit", Severity.ERROR).explaining("batch-split")
    listens = (events.OutOfMemory, BatchSplit, OptimizerStep, RunEnded)

    def __init__(self) -> None:
        self._last: events.OutOfMemory | None = None

    def observe(self, event: Event) -> Findings:
        if isinstance(event, events.OutOfMemory):
            self._last = event
        elif isinstance(event, OptimizerStep):
            if self._last is not None and self.once("coped"):
                yield self._coped(self._last)
            self._last = None
        elif isinstance(event, RunEnded) and event.reason == "crashed" and event.error == OUT_OF_MEMORY:
            last = self._last or events.OutOfMemory(step=event.step, at=event.at, phase="")
            yield self._found(last)

    def _coped(self, event: events.OutOfMemory) -> Finding:
        return self.finding(
            event,
            f"memory ran out {_PHASES[event.phase]}{batch(event)}, and the script went on without that step",
            cause=cause(event, Growth(event.levels)),
            remedy="If the script searches for the largest batch, this is fine; otherwise take smaller batches.",
            severity=Severity.INFO,
            **evidence(event),
        )

    def _found(self, event: events.OutOfMemory) -> Finding:
        growth = Growth(event.levels)
        leaks = growth.leaks or any(kept.graphs for kept in event.kept)
        asked = f": the step asked for {amount(event.requested)} more" if event.requested else ""
        line = next((kept.at for kept in event.kept if kept.at is not None), None) if leaks else None
        return self.finding(
            event,
            f"memory ran out {_PHASES[event.phase]}{batch(event)}{asked}{held(event)}",
            cause=cause(event, growth),
            remedy=remedy(event, leaks),
            at=line,
            module=event.module or None,
            family="memory-leak" if leaks else None,
            certainty=Certainty.PROVED if event.requested else Certainty.MEASURED,
            **evidence(event),
        )


def batch(event: events.OutOfMemory) -> str:
    return f", with a batch of {event.samples}" if event.samples else ""


def held(event: events.OutOfMemory) -> str:
    if event.allocated is None or event.total is None:
        return ""
    gaps = amount((event.reserved or event.allocated) - event.allocated)
    return f"; tensors hold {amount(event.allocated)} of {amount(event.total)}, gaps between them {gaps}"


def fragmented(event: events.OutOfMemory) -> bool:
    """There was room for it, but not in one piece."""
    if event.requested is None or event.allocated is None or event.reserved is None:
        return False
    return event.requested <= event.reserved - event.allocated + (event.free or 0)


def cause(event: events.OutOfMemory, growth: Growth) -> str:
    parts = []
    for kept in event.kept[:2]:
        graphs, tensors = (
            f"the graphs of {kept.graphs} past results",
            f"{kept.tensors} tensors ({amount(kept.bytes)})",
        )
        parts.append(f"`{kept.name}` holds {graphs if kept.graphs else tensors}.")
    if growth.leaks:
        parts.append(f"{str(growth).capitalize()}.")
    if fragmented(event):
        gap = f", the largest {amount(event.largest_gap)}" if event.largest_gap else ""
        parts.append(f"Enough memory was free, but in pieces{gap}.")
    if event.kinds:
        kinds = ", ".join(f"{name} {amount(size)}" for name, size in event.kinds.items())
        rest = (event.allocated or 0) - sum(event.kinds.values())
        more = f", results of the forward pass and the rest {amount(rest)}" if rest > 0 else ""
        parts.append(f"In use: {kinds}{more}.")
    if event.modules:
        most = ", ".join(f"{name} {amount(size)}" for name, size in event.modules[:3])
        parts.append(f"Most for the backward pass: {most}.")
    if event.unsplit:
        parts.append(f"It was not run in parts, because {event.unsplit}.")
    return " ".join(parts) or "The device has less memory than this step needs."


def remedy(event: events.OutOfMemory, leaks: bool) -> str:
    if leaks:
        return "Keep numbers instead of tensors: loss.item(), output.detach().cpu(). A smaller batch only delays it."
    if fragmented(event):
        return "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, so that gaps can be joined."
    if event.phase == "step":
        return "Use fused=True, or foreach=False, which need no copies of the weights; or smaller batches."
    if event.samples == 1:
        return "One sample is too much: use autocast, checkpointing, or smaller samples. `premortem fit` predicts each."
    return "Take smaller batches and accumulate, or use autocast or checkpointing; `premortem fit` predicts each."


def evidence(event: events.OutOfMemory) -> dict[str, Any]:
    return {
        "phase": event.phase or None,
        "requested_bytes": event.requested,
        "allocated_bytes": event.allocated,
        "reserved_bytes": event.reserved,
        "total_bytes": event.total,
        "by_kind": dict(event.kinds) or None,
        "by_module": dict(event.modules) or None,
        "kept": [
            {"name": kept.name, "tensors": kept.tensors, "graphs": kept.graphs, "bytes": kept.bytes}
            for kept in event.kept
        ]
        or None,
        "fragmented": fragmented(event) if event.requested is not None else None,
        "not_split": event.unsplit or None,
    }


def amount(size: float | None) -> str:
    return amounts.size(size or 0, digits=3)
