"""PM251 graphs-kept-alive."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.series import Series
from premortem.events import Backward, Event, GraphWalked, Kept, OutOfMemory, RunEnded, Site
from premortem.findings import Finding, Severity

MANY = 512  # graphs, to be sure before the run is over
SOME = 20  # graphs: a few are kept by a history of the last losses


class GraphsKeptAlive(Detector):
    """The graphs of past steps are never freed: each step leaves one more in memory.

    ## Why it matters
    A loss or an output that still carries its graph holds all the intermediate results it was computed from. Memory
    grows with every step until the run is killed, often hours later.

    ## Usual causes
    `total += loss` or `history.append(loss)` instead of `loss.item()`, predictions collected without `detach()`, a
    hidden state or a running average carried from step to step with its graph (`retain_graph=True` hides that).

    ## What to do
    Keep numbers, not graphs: `loss.item()`, `output.detach()`, `hidden = hidden.detach()`.

    ## When it stays silent
    Graphs that are freed at the end of each epoch or episode, and buffers of bounded size.
    """

    card = Card(
        code="PM251",
        name="graphs-kept-alive",
        family="memory-leak",
        severity=Severity.ERROR,
        explains=("out-of-memory",),
    )
    listens = (Backward, GraphWalked, OutOfMemory, RunEnded)

    def __init__(self) -> None:
        self._backwards = 0
        self._kept = Series()
        self._most = 0
        self._now = 0
        self._inside = (0, 0)
        self._at: Site | None = None
        self._keeper: Kept | None = None  # the variable that holds them, looked for when memory runs out
        self._sizes: dict[int, int] = {}  # step -> nodes in the graph
        self._out_of_memory = False

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, GraphWalked):
            yield from self._walked(event)
        elif isinstance(event, Backward):
            self._backwards += 1
            self._at = event.at or self._at
            self._now = max(event.alive, event.kept)
            self._most = max(self._most, self._now)
            self._kept.add(float(self._now))
            if event.inside[1]:
                self._inside = event.inside
            if self._now >= MANY and self._now >= 0.9 * self._backwards:
                yield self._found(event)
        elif isinstance(event, OutOfMemory):
            self._out_of_memory = True
            self._keeper = next((kept for kept in event.kept if kept.graphs), self._keeper)
        elif isinstance(event, RunEnded) and (self._out_of_memory or not event.cut_off):
            # Else they might have been let go at the end of an epoch.
            if self._grew():
                yield self._found(event)
            elif self._kept_inside():
                yield self._found_inside(event)

    def _grew(self) -> bool:
        """From the beginning to the end of the run, and never came down again."""
        values = self._kept.values
        quarter = len(values) // 4
        if self._now < SOME or quarter < 4:
            return False
        floors = [min(values[i * quarter : (i + 1) * quarter]) for i in range(1, 4)]
        tops = [max(values[i * quarter : (i + 1) * quarter]) for i in range(3)]
        never_fell = self._now >= 0.9 * self._most
        return (
            never_fell
            and all(floor >= 0.9 * top for floor, top in zip(floors, tops, strict=True))
            and (tops[1] > 1.3 * tops[0] and tops[2] > 1.2 * tops[1] and self._now > 1.1 * tops[2])
        )

    def _kept_inside(self) -> bool:
        """Audited steps are few and far between: when all of their inner results are alive, so are the others'."""
        alive, audited = self._inside
        return audited >= 8 and alive == audited and self._backwards >= 32

    def _walked(self, event: GraphWalked) -> Iterator[Finding]:
        if event.step not in self._sizes and len(self._sizes) < 64:
            self._sizes[event.step] = event.size
        steps = (4, 8, 16, 32, 64)
        if event.step != steps[-1] or not all(step in self._sizes for step in steps):
            return
        # One step's worth of graph more in each step, exactly: nothing but a chain through all of them does that.
        rates = [(self._sizes[b] - self._sizes[a]) / (b - a) for a, b in itertools.pairwise(steps)]
        if min(rates) > 3 and max(rates) <= 1.05 * min(rates):
            self.over = True
            yield self.finding(
                event,
                f"the graph of the loss grows with every step: {self._sizes[4]} operations at step 4, "
                f"{self._sizes[64]} at step 64",
                cause="Something computed in one step is used in the next with its graph (a hidden state, a running "
                "average), so every backward pass goes through all steps so far.",
                remedy="Detach what is carried over: hidden = hidden.detach().",
                sizes=dict(self._sizes),
            )

    def _found(self, event: Event) -> Finding:
        self.over = True
        keeper = f"`{self._keeper.name}`" if self._keeper is not None else "Something"
        return self.finding(
            event,
            f"{self._now} graphs of past steps are still in memory after {self._backwards} backward passes",
            cause=f"{keeper} keeps losses or outputs together with the graph they were computed from.",
            remedy="Keep numbers instead: total += loss.item(), outputs.append(output.detach()).",
            at=(self._keeper.at if self._keeper is not None else None) or self._at,
            kept=self._now,
            backwards=self._backwards,
        )

    def _found_inside(self, event: Event) -> Finding:
        self.over = True
        return self.finding(
            event,
            f"the graphs of all {self._inside[0]} steps that were looked at are still in memory after "
            f"{self._backwards} backward passes",
            cause="Something keeps results of inner layers (features, activations, attention) together with their graph.",
            remedy="Detach what is kept: features.append(h.detach()).",
            at=self._at,
            kept=self._inside[0],
            backwards=self._backwards,
        )
