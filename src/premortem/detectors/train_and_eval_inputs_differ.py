import math
from collections.abc import Iterator
from statistics import fmean, median

from premortem.cards import Card
from premortem.detectors.base import TWICE, Detector
from premortem.detectors.shared.models import Models
from premortem.detectors.shared.stored import Stored
from premortem.events import EvaluationEnded, Event, Forward, LossCall, RunEnded, Site, StateLoaded
from premortem.findings import Finding, Severity

_RATIO = 5.0  # between the sizes of the inputs: augmentation and another split stay far below
_SHIFT = 4.0  # in standard deviations of the training inputs: batches of one set differ by a fraction of one
_SPREAD = 2.0  # between the deviations, where one side has no negative number, and the other half of them
_NEGATIVE = -0.5  # in deviations: how far below 0 standardised data goes at least
_NEAR = 1.25  # times as large: batches of one set differ by that
_PREPARED = 1.5  # standardised targets are of size 1, and those between 0 and 1 are smaller
_SAMPLES = 16  # in a batch, whose mean then is known to a quarter of a deviation
_FORWARDS = 8  # of a model that was loaded for its evaluation, which may come once
_KEPT = 64  # batches that are remembered, so that the last epoch is what is compared


class Inputs:
    """Means and standard deviations of what one model was given."""

    def __init__(self) -> None:
        self.means: list[float] = []
        self.stds: list[float] = []
        self.lows: list[float] = []

    def add(self, mean: float, std: float, low: float | None = None) -> None:
        self.means.append(mean)
        self.stds.append(std)
        if low is not None:
            self.lows.append(low)
        del self.means[:-_KEPT], self.stds[:-_KEPT], self.lows[:-_KEPT]

    def sizes(self) -> list[float]:
        return [math.hypot(mean, std) for mean, std in zip(self.means, self.stds, strict=True)]

    def pooled(self) -> tuple[float, float]:
        """Mean and standard deviation of all together."""
        mean = fmean(self.means)
        second = fmean(s**2 + m**2 for m, s in zip(self.means, self.stds, strict=True))
        return mean, math.sqrt(max(second - mean**2, 0.0))


class TrainAndEvalInputsDiffer(Detector):
    """The evaluation feeds the model inputs (or targets) on another scale than the training did.

    ## Why it matters
    The model has never seen numbers of that size. Its evaluation says nothing about what it has learned, and early
    stopping, the scheduler and the choice of the best checkpoint follow a number that is noise.

    ## Usual causes
    Normalisation in the training transform only; a scaler fitted anew on the evaluation data, or applied twice; running statistics
    of the inputs that were not saved with the weights, so that a restored model gets raw ones; pixels divided
    by 255 in one place and not in the other; targets standardised for training and raw in evaluation.

    ## What to do
    Use one preprocessing function, with the training set's statistics, for both.

    ## When it stays silent
    Augmentation and other moderate differences, forward passes that are not judged (sampling, acting), predictions that are
    converted back to raw units together with their targets, and differences that do no harm. In a script that reads no data, where the targets
    of the evaluation lie elsewhere as well, and those of the training are neither standardised nor between 0 and 1: it asks how far the model
    extrapolates.
    """

    card = Card(
        "PM433",
        "train-and-eval-inputs-differ",
        "data-scale",
        Severity.ERROR,
        explains=(
            "train-and-val-on-different-scales",
            "evaluated-in-train-mode",
            "metric-frozen",
            "plateau-fed-non-finite",
        ),
    )
    uses = (Models, Stored)
    listens = (Forward, LossCall, StateLoaded, EvaluationEnded, RunEnded)

    def __init__(self) -> None:
        self._train: dict[int, Inputs] = {}
        self._eval: dict[int, Inputs] = {}  # since the last evaluation was reported
        self._losses: dict[tuple[str, bool], list[float]] = {}
        self._targets: dict[tuple[str, bool], Inputs] = {}
        self._outputs: dict[tuple[str, bool], Inputs] = {}
        self._judged_at: Site | None = None
        self._seen: dict[int, int] = {}  # evaluations in a row that differed
        self._loaded: set[int] = set()  # parameters

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, Forward):
            self._called(event)
        elif isinstance(event, LossCall):
            self._compared(event)
        elif isinstance(event, StateLoaded):
            self._loaded.update(event.parameters)
        elif isinstance(event, EvaluationEnded):
            yield from self._evaluated(event)
            if not self.over and self.times("evaluations") >= TWICE:
                yield from self._target_scales(event)
        elif isinstance(event, RunEnded):
            yield from self._target_scales(event)

    def _called(self, event: Forward) -> None:
        if event.input_mean is None or event.input_std is None or (event.samples or 0) < _SAMPLES:
            return
        if math.isfinite(event.input_mean) and math.isfinite(event.input_std):
            side = self._train if event.grad and event.training else self._eval if not event.grad else None
            if side is not None:
                side.setdefault(event.model, Inputs()).add(event.input_mean, event.input_std, event.input_min)

    def _compared(self, event: LossCall) -> None:
        if not event.grad:
            self._judged_at = event.at
        key = (event.fn, event.grad)
        if event.value is not None and math.isfinite(event.value):
            losses = self._losses.setdefault(key, [])
            losses.append(event.value)
            del losses[:-_KEPT]
        numbers = (event.target_mean, event.target_std, event.input_mean, event.input_std)
        if all(n is not None and math.isfinite(n) for n in numbers) and event.classes is None:
            mean, std, out_mean, out_std = (n or 0.0 for n in numbers)
            self._targets.setdefault(key, Inputs()).add(mean, std)
            self._outputs.setdefault(key, Inputs()).add(out_mean, out_std)

    def _evaluated(self, event: EvaluationEnded) -> Iterator[Finding]:
        given = self._eval.pop(event.model, None)
        restored = event.model not in self._train
        known = self._trained_as(event.model) if restored else self._train[event.model]
        if given is None or known is None or event.generator or len(known.means) < 2:
            return
        difference = differs(known, given)
        if not difference or self._harmless() or self._asks_beyond():
            self._seen.pop(event.model, None)
            return
        self._seen[event.model] = self._seen.get(event.model, 0) + 1
        # A model that was built anew and loaded is there to be tried out, whoever judges it.
        tried = restored and event.forwards >= _FORWARDS
        if not tried and ((not event.judged and not self._losses) or self._seen[event.model] < TWICE):
            return
        self.over = True
        (mean, std), (other, spread) = known.pooled(), given.pooled()
        yield self.finding(
            event,
            f"the model was trained on inputs with mean {mean:.3g} and deviation {std:.3g}, and is evaluated on inputs "
            f"with mean {other:.3g} and deviation {spread:.3g} ({difference})",
            cause="The two go through different preprocessing, so the evaluation measures inputs the model has never seen.",
            remedy="Apply the same normalisation, with the training set's statistics, to both.",
            severity=Severity.ERROR if self._harm() else Severity.WARNING,
            train_mean=mean,
            train_std=std,
            eval_mean=other,
            eval_std=spread,
        )

    def _asks_beyond(self) -> bool:
        """Whether the answers that are wanted lie elsewhere, too: how far does a model reach beyond what it was taught? Preprocessing of the
        inputs leaves the targets as they are; prepared ones may be left raw by the evaluation."""
        if self.fact(Stored).data:
            return False
        return any(
            not grad
            and (known := self._targets.get((fn, True))) is not None
            and math.hypot(*known.pooled()) > _PREPARED
            and bool(differs(known, given))
            for (fn, grad), given in self._targets.items()
        )

    def _trained_as(self, model: int) -> Inputs | None:
        """What the model was given in training whose weights were loaded into this one."""
        seen = self.fact(Models).seen
        mine = seen.get(model)
        if mine is None or not mine.shapes or not any(p.key in self._loaded for p in mine.parameters):
            return None
        alike = [key for key in self._train if key in seen and seen[key].shapes == mine.shapes]
        return self._train[alike[0]] if len(alike) == 1 else None

    def _harm(self) -> bool:
        """The evaluation's loss is far above that of the training."""
        for (fn, grad), values in self._losses.items():
            other = self._losses.get((fn, True))
            if not grad and other and median(values[-8:]) > 2 * abs(median(other[-16:])) + 1e-9:
                return True
        return False

    def _harmless(self) -> bool:
        """Both losses are known, and the evaluation's is no worse."""
        pairs = [
            (self._losses[fn, True], values)
            for (fn, grad), values in self._losses.items()
            if not grad and (fn, True) in self._losses
        ]
        return bool(pairs) and all(median(e[-8:]) < 1.5 * abs(median(t[-16:])) for t, e in pairs)

    def _target_scales(self, event: Event) -> Iterator[Finding]:
        for (fn, grad), given in self._targets.items():
            known = self._targets.get((fn, True))
            if grad or known is None or len(known.means) < 8 or len(given.means) < 2:
                continue
            difference = differs(known, given)
            outputs = self._outputs.get((fn, True)), self._outputs.get((fn, False))
            if not difference or outputs[0] is None or outputs[1] is None:
                continue
            if differs(outputs[0], outputs[1]):  # predictions were converted as well
                continue
            self.over = True
            (mean, std), (other, spread) = known.pooled(), given.pooled()
            yield self.finding(
                event,
                f"{fn} compares with targets of mean {mean:.3g} and deviation {std:.3g} in training, and of mean "
                f"{other:.3g} and deviation {spread:.3g} in evaluation; the predictions stay the same",
                cause="The targets were scaled for training and not for evaluation (or the other way round).",
                remedy="Scale both, or convert the predictions back before they are compared with raw targets.",
                at=self._judged_at,
                train_mean=mean,
                train_std=std,
                eval_mean=other,
                eval_std=spread,
            )
            return


def _meet(first: list[float], second: list[float]) -> bool:
    """Whether a tenth of the batches of each are as large as those of the other."""
    return all(
        sum(min(others) / _NEAR <= size <= max(others) * _NEAR for size in sizes)
        >= max(1.0, 0.1 * len(sizes))
        for sizes, others in ((first, second), (second, first))
    )


def differs(known: Inputs, given: Inputs) -> str:
    (mean, std), (other, spread) = known.pooled(), given.pooled()
    size, new = math.hypot(mean, std), math.hypot(other, spread)
    # Preprocessing changes every batch: where some batches of the one are as those of the other, rare samples make the difference.
    if _meet(known.sizes(), given.sizes()):
        return ""
    if size > 0 and new > 0:
        if new > _RATIO * size:
            return f"{new / size:.3g} times as large"
        if size > _RATIO * new:
            return f"{size / new:.3g} times as small"
    if std > 0 and abs(other - mean) > _SHIFT * std:
        return f"shifted by {abs(other - mean) / std:.3g} deviations"
    wide, narrow = (known, given) if std > spread else (given, known)
    if min(std, spread) > 0 and max(std, spread) > _RATIO * min(std, spread):
        return f"spread {max(std, spread) / min(std, spread):.3g} times as {'little' if std > spread else 'much'}"
    # One side standardised, the other as it was read.
    if wide.lows and narrow.lows and max(std, spread) > _SPREAD * min(std, spread):
        if min(narrow.lows) >= 0 and max(wide.lows) < _NEGATIVE * max(std, spread):
            return "one has no number below 0, the other goes on both sides of it"
    return ""
