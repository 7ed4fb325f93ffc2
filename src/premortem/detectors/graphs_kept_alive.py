import itertools

from premortem.detectors.base import TWICE, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.epochs import Epochs
from premortem.detectors.shared.series import Series
from premortem.events import Backward, Event, GraphWalked, Kept, OutOfMemory, RunEnded, Site

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

    card = Card("PM251", "graphs-kept-alive", "memory-leak", Severity.ERROR).explaining("out-of-memory")
    uses = (Epochs,)
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

    def observe(self, event: Event) -> Findings:
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
            # What is kept for an epoch only is freed at its end.
            least = SOME if self.fact(Epochs).between(0, event.step) >= TWICE else MANY
            if self._now >= least and self._now >= 0.9 * self._backwards:
                yield self._found(event)
        elif isinstance(event, OutOfMemory):
            self._out_of_memory = True
            self._keeper = next((kept for kept in event.kept if kept.graphs), self._keeper)
        elif isinstance(event, RunEnded) and (self._out_of_memory or not event.cut_off):
            # Otherwise they might have been freed at the end of an epoch.
            if self._grew():
                yield self._found(event)
            elif self._kept_inside():
                yield self._found_inside(event)

    def _grew(self) -> bool:
        """From the beginning to the end of the run, and never came down again."""
        values = self._kept.values
        quarter = len(values) // 4
        if self._now < max(SOME, 0.9 * self._most) or quarter < 4:
            return False
        parts = [values[i * quarter : (i + 1) * quarter] for i in range(4)]
        tops = [max(part) for part in parts[:3]]
        kept = all(min(after) >= 0.9 * top for after, top in zip(parts[1:], tops, strict=True))
        return kept and tops[1] > 1.3 * tops[0] and tops[2] > 1.2 * tops[1] and self._now > 1.1 * tops[2]

    def _kept_inside(self) -> bool:
        """Audited steps are few and far between: when all of their inner results are alive, so are the others'."""
        alive, audited = self._inside
        return audited >= 8 and alive == audited and self._backwards >= 32

    def _walked(self, event: GraphWalked) -> Findings:
        if event.step not in self._sizes and len(self._sizes) < 64:
            self._sizes[event.step] = event.size
        steps = (4, 8, 16, 32, 64)
        if event.step != steps[-1] or not all(step in self._sizes for step in steps):
            return
        # One step's worth of graph more in each step, exactly: nothing but a chain through all of them does that.
        rates = [(self._sizes[b] - self._sizes[a]) / (b - a) for a, b in itertools.pairwise(steps)]
        if min(rates) > 3 and max(rates) <= 1.05 * min(rates):
            yield self.last_word(
                event,
                f"the graph of the loss grows with every step: {self._sizes[4]} operations at step 4, "
                f"{self._sizes[64]} at step 64",
                cause="Something computed in one step is used in the next with its graph (a hidden state, a running "
                "average), so every backward pass goes through all steps so far.",
                remedy="Detach what is carried over: hidden = hidden.detach().",
                sizes=dict(self._sizes),
            )

    def _found(self, event: Event) -> Finding:
        keeper = self._keeper
        return self.last_word(
            event,
            f"{self._now} graphs of past steps are still in memory after {self._backwards} backward passes",
            cause=f"{f'`{keeper.name}`' if keeper else 'Something'} keeps losses or outputs together with their graph.",
            remedy="Keep numbers instead: total += loss.item(), outputs.append(output.detach()).",
            at=(keeper.at if keeper is not None else None) or self._at,
            kept=self._now,
            backwards=self._backwards,
        )

    def _found_inside(self, event: Event) -> Finding:
        return self.last_word(
            event,
            f"the graphs of all {self._inside[0]} steps that were looked at are still in memory after "
            f"{self._backwards} backward passes",
            cause="Something keeps results of inner layers (features, activations, attention) together with their graph.",
            remedy="Detach what is kept: features.append(h.detach()).",
            at=self._at,
            kept=self._inside[0],
            backwards=self._backwards,
        )
