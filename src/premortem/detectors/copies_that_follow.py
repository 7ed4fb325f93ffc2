from premortem.detectors.base import THRICE, Card, Detector, Findings, Severity
from premortem.events import CopyFollowed, Event, RunEnded

STEPS = 300  # of the model, before an average can be called late: usual ones look back over some hundred to some thousand steps
FAR = 0.02  # of the way: below it the average is where it began, for any use
NEARLY_ALL = 0.5  # of the way in one update: the mean of fewer than two steps is no mean
WARMED_UP = 60  # steps: averages often begin with a small decay
SAME = 1e-3  # from the whole way: a plain copy


class AverageTooSlow(Detector):
    """An average of the weights has hardly moved at the end of the run: it is still the model as it was initialised.

    ## Why it matters
    What is evaluated, sampled or used as a teacher is a random network, however well the model itself was trained.

    ## Usual causes
    A decay that is meant for runs a hundred times as long (0.99999 looks back over 100 000 steps); no warm-up of the decay.

    ## What to do
    Choose a decay whose memory 1 / (1 - decay) is a small part of the run, or let it grow: `min(decay, (1 + step) / (10 + step))`.

    ## How it is measured
    Between the weights that the copy began with and those that are trained, the part of the way that the copy has gone.

    ## When it stays silent
    Runs below 300 steps, copies that have gone a fiftieth of the way, or that never move (another detector reports these).
    """

    card = Card("PM365", "average-too-slow", "eval-stale", Severity.WARNING).explaining("metric-frozen")
    listens = (CopyFollowed, RunEnded)

    def __init__(self) -> None:
        self._last: dict[str, CopyFollowed] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, CopyFollowed):
            self._last[event.name] = event
        elif isinstance(event, RunEnded) and event.reason == "finished":
            for name, seen in self._last.items():
                each = max(seen.moved, 0.0)
                expected = 1 - (1 - min(each, 1.0)) ** max(event.step, 1)
                if event.step < STEPS or not 0 < seen.way < FAR or not 0 < expected < 2 * FAR:
                    continue
                yield self.finding(
                    event,
                    f"`{name}` follows the trained weights by {each:.2g} of the way in each step: after {seen.step} steps {seen.way:.2%} "
                    "of the way is behind it",
                    cause=f"Its decay of about {1 - each:.6g} looks back over {1 / each if each else 0:,.0f} steps, and the run has "
                    f"{event.step}: it is still what it was initialised as.",
                    remedy="Use a smaller decay, or let it grow with the steps: min(decay, (1 + step) / (10 + step)).",
                    module=name,
                    way=seen.way,
                    decay=1 - each,
                )


class AverageForgetsAtOnce(Detector):
    """An average of the weights keeps hardly anything of what it was: one update goes most of the way to the trained weights.

    ## Why it matters
    It is the model of the last step, and not a mean over many: nothing is smoothed, a teacher follows its student at once, a target
    network moves with what it is to hold still.

    ## Usual causes
    The decay and its rest are swapped: `ema.mul_(1 - decay).add_(p, alpha=decay)`.

    ## What to do
    `ema.mul_(decay).add_(p, alpha=1 - decay)`.

    ## When it stays silent
    Plain copies (the whole way, to a thousandth), the first 60 steps, and updates that go less than half of the way.
    """

    card = Card("PM366", "average-forgets-at-once", "eval-stale", Severity.WARNING)
    listens = (CopyFollowed,)

    def observe(self, event: CopyFollowed) -> Findings:
        if event.step < WARMED_UP or event.moved == 0:
            return
        late = NEARLY_ALL < event.moved < 1 - SAME
        if self.always(event.name, late) >= THRICE and self.once(event.name):
            yield self.finding(
                event,
                f"one update takes `{event.name}` {event.moved:.0%} of the way to the trained weights: it does not average",
                cause="What is kept and what is added are swapped, or the decay is much too small.",
                remedy="ema.mul_(decay).add_(p, alpha=1 - decay), with a decay near 1.",
                module=event.name,
                moved=event.moved,
            )
