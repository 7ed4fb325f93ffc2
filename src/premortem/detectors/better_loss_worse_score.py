import math
from statistics import median

from premortem.cards import Card
from premortem.detectors.base import Detector, Findings
from premortem.detectors.shared.printed import MOST_KINDS, columns
from premortem.events import Event, LogLine, OptimizerBuilt, RunEnded
from premortem.findings import Severity
from premortem.metric_words import EVALUATED, HIGHER, LOSSES, RECORDS, words

LINES = 8  # of one kind: a trend of fewer may be chance
STEADY = 0.7  # of all pairs of lines, more fall than rise: a trend, not noise
LOST = 0.7  # of what the score was: overfitting and noise take less of a training score
ALIKE = 0.1  # of a whole fall
FALLEN = 0.9  # of what the loss was
REWARDS = frozenset("reward rewards return returns".split())
# Of these, what a world that becomes known gives less and less of.
OF_THE_UNKNOWN = frozenset("intrinsic curiosity novelty surprise bonus exploration".split())


class BetterLossWorseScore(Detector):
    """The loss goes down, and with it what it is meant to raise; or a reward falls the longer a policy is trained.

    ## Why it matters
    The optimizer minimises the opposite of what is wanted: the longer it trains, the worse the model is.

    ## Usual causes
    A score that is minimised as it is (Dice, IoU, a similarity, a reward) where `1 - score` or `-score` is meant; positive and
    negative examples that changed places; a comparison of the wrong sign.

    ## What to do
    Minimise what should fall: `1 - dice`, `-log_prob * reward`, and check which of two arguments comes first.

    ## When it stays silent
    Scores of the evaluation, which fall when a model overfits; lines with several losses, and runs with several optimizers
    (two players); trends that are not steady; rewards for what is new (intrinsic, curiosity), which fall as the world becomes known.
    """

    card = Card("PM428", "better-loss-worse-score", "loss-definition", Severity.WARNING).explaining(
        "metric-frozen", "uninformative-labels"
    )
    listens = (LogLine, OptimizerBuilt, RunEnded)

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int, int], list[tuple[float, float]]] = {}
        self._labels: dict[tuple[str, int, int], tuple[str, str, LogLine]] = {}
        self._optimizers: set[int] = set()

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerBuilt):
            self._optimizers.add(event.optimizer)
        elif isinstance(event, LogLine):
            self._printed(event)
        elif isinstance(event, RunEnded) and len(self._optimizers) == 1:
            yield from self._judge(event)

    def _printed(self, line: LogLine) -> None:
        names = columns(line)
        losses = [
            i for i, said in enumerate(names) if said & LOSSES and not said & (RECORDS | EVALUATED | HIGHER)
        ]
        scores = [
            i
            for i, said in enumerate(names)
            if said & (HIGHER | REWARDS) and not said & (RECORDS | EVALUATED | OF_THE_UNKNOWN)
        ]
        if len(losses) != 1:
            return
        loss = line.values[losses[0]]
        for place in set(scores) - set(losses):
            key = (line.template, losses[0], place)
            score = line.values[place]
            if key not in self._lines and len(self._lines) >= MOST_KINDS:
                continue
            if math.isfinite(loss[2]) and math.isfinite(score[2]):
                self._lines.setdefault(key, []).append((loss[2], score[2]))
                self._labels[key] = (loss[0], score[0], line)

    def _judge(self, event: RunEnded) -> Findings:
        for key, pairs in self._lines.items():
            losses, scores = [loss for loss, _ in pairs], [score for _, score in pairs]
            loss, score, line = self._labels[key]
            if len(pairs) < LINES or min(scores) < 0 or not falls(scores, LOST):
                continue
            # The loss of a policy says nothing by itself: its gradient counts.
            if not falls(losses, FALLEN) and not words(score) & REWARDS:
                continue
            third = len(pairs) // 3
            yield self.finding(
                event,
                f"`{score}` fell steadily, from {median(scores[:third]):.3g} to {median(scores[-third:]):.3g}, while `{loss}` went from "
                f"{median(losses[:third]):.3g} to {median(losses[-third:]):.3g}",
                cause="The loss is better when the score is worse: something is minimised that should be maximised, or two "
                "arguments changed places.",
                remedy="Minimise what should fall (1 - score, -score), and check the order of the arguments of the loss.",
                at=line.at,
                printed=line.text.strip(),
            )
            return


def falls(values: list[float], to: float) -> bool:
    """Steadily, and below this share of what it was."""
    third = len(values) // 3
    first, last = max(values[:third]), median(values[-third:])
    pairs = [(a, b) for i, a in enumerate(values) for b in values[i + 1 :]]
    # What has fallen to the ground stays there: pairs that differ by less than a small part of the fall decide nothing.
    decided = [a > b for a, b in pairs if abs(a - b) > ALIKE * (first - last)]
    trend = (2 * sum(decided) - len(decided)) / max(1, len(decided))
    steady = trend >= STEADY and len(decided) >= len(values)  # one lucky line at the start is no fall
    return steady and last < first - (1 - to) * abs(first)
