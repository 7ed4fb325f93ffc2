"""Do the inputs say anything about the labels? Measured once, on the first few hundred pairs, without the model.

For several views of the inputs (as they are, their spectrum, a few statistics) it is asked whether neighbours have
like labels, and whether any feature goes along with them, and the answer is compared with what shuffled labels give.
CPU only, and a generator of its own: the run's random numbers are not touched.
"""

from typing import Any

import torch

from premortem.events import LabelsWeighed
from premortem.probes.modules import Models
from premortem.probes.session import Session

_ENOUGH = 768
_REPEATS = 200
_FEWEST = 60
_RARE = 30  # labels that are not the most frequent one
_FEATURES = 128
_COLUMNS = 16  # of a target of several numbers
_SHUFFLES = 64
_NEIGHBOURS = 5
_MOST_CALLS = 600
_MOST_KNOWN = 2048
_SHIFTS = (1, -1, 2, -2)
_WIDE = 64  # columns, of which ...
_PLACES = 8  # ... so many are not 0: two samples hardly ever have the same ones


class Collected:
    """Pairs of one phase (training, or evaluation)."""

    def __init__(self) -> None:
        self.rows: list[torch.Tensor] = []
        self.labels: list[torch.Tensor] = []
        self.known: dict[Any, float] = {}  # input -> its label when it was first seen
        self.models: set[int] = set()  # that were given them
        self.repeats = 0
        self.agreed = 0
        self.count = 0
        self.calls = 0
        self.stale = 0  # calls in a row that brought hardly anything new
        self.shape: tuple[int, ...] | None = None
        self.discrete: bool | None = None
        self.weighed = False
        self.mixed = False  # several targets for one output
        self.told = False  # how inputs that came again agreed


class Pairs:
    def __init__(self, session: Session, models: Models) -> None:
        self.session = session
        self.models = models
        self._calls = 0  # of models, at the last comparison
        self._phases = {True: Collected(), False: Collected()}

    def compared(self, given: torch.Tensor, target: torch.Tensor, fn: str) -> None:
        """A loss compared the current model's output with this target."""
        phase = self._phases[given.requires_grad]
        if phase.told or phase.calls >= _MOST_CALLS:
            return
        phase.calls += 1
        # One call of one model on one tensor, compared with one target: only then is it clear what belongs together.
        # (Not in a pair of inputs, two networks, several heads, or a mixture of two labels.)
        since, self._calls = self.models.calls - self._calls, self.models.calls
        if since != 1 or self.models.inputs != 1:
            phase.mixed = phase.mixed or since < 1
            return
        model = self.models.current
        first = model.last_input[0]() if model is not None and model.last_input is not None else None
        if model is None or first is None or not usable(first) or first.requires_grad or target.requires_grad:
            return
        label = label_of(target, first.shape[0], fn)
        if label is None or not given.dim() or given.shape[0] != first.shape[0]:
            return
        self._add(phase, model.key, features_of(first), *label)
        if phase.weighed:
            if phase.repeats >= _REPEATS and not phase.mixed:
                self._told_again(phase, given.requires_grad)
        elif phase.count >= _ENOUGH or (phase.stale >= 3 and phase.count >= _FEWEST):
            self._weigh(phase, given.requires_grad)

    def judged(self, model: int, first: torch.Tensor, target: torch.Tensor) -> None:
        """A loader handed out this input of an evaluation with this label: the script may compare them without a loss."""
        phase = self._phases[False]
        if phase.weighed or phase.calls >= _MOST_CALLS or not usable(first) or first.requires_grad:
            return
        phase.calls += 1
        label = label_of(target, first.shape[0], "")
        if label is not None:
            self._add(phase, model, features_of(first), *label)
            if phase.count >= _ENOUGH or (phase.stale >= 3 and phase.count >= _FEWEST):
                self._weigh(phase, training=False)

    def drain(self) -> None:
        """The run is over: what there is has to do."""
        for training, phase in self._phases.items():
            if not phase.weighed and phase.count >= _FEWEST:
                self._weigh(phase, training)

    def _add(
        self, phase: Collected, model: int, rows: torch.Tensor, label: torch.Tensor, discrete: bool
    ) -> None:
        if phase.shape is None:
            phase.shape, phase.discrete = tuple(rows.shape[1:]), discrete
        if tuple(rows.shape[1:]) != phase.shape or discrete != phase.discrete:
            return
        phase.models.add(model)
        flat = rows.reshape(rows.shape[0], -1)
        marks = marks_of(flat)
        values = label.tolist()
        fresh = []
        for i, (mark, value) in enumerate(zip(marks, values, strict=True)):
            before = phase.known.get((model, mark))
            if before is None:
                if len(phase.known) < _MOST_KNOWN:
                    phase.known[model, mark] = value
                    fresh.append(i)
            elif discrete and rows.is_floating_point():
                phase.repeats += 1
                phase.agreed += before == value
        phase.stale = phase.stale + 1 if len(fresh) * 5 < len(marks) else 0
        if fresh and not phase.weighed:
            phase.rows.append(rows[fresh].clone())
            phase.labels.append(label[fresh].clone())
            phase.count += len(fresh)

    def _weigh(self, phase: Collected, training: bool) -> None:
        phase.weighed = True
        rows = torch.cat(phase.rows)[:_ENOUGH]
        labels = torch.cat(phase.labels)[:_ENOUGH]
        other = self._phases[not training]
        if not torch.isfinite(rows).all() or not torch.isfinite(labels).all():
            return
        tests = Dependence(labels, bool(phase.discrete))
        if not tests.varied:
            return
        found = tests.strongest(rows)
        shift, shifted = 0, 0.0
        if found < 3:
            shift, shifted = shifted_by(rows, labels, bool(phase.discrete))
        agreement = mapped = None
        if (
            not training
            and other.weighed
            and phase.discrete
            and other.discrete
            and other.shape == phase.shape
            and not phase.models.isdisjoint(
                other.models
            )  # else it was trained on another task, and taken over
        ):
            agreement, mapped = carried_over(
                torch.cat(other.rows)[:_ENOUGH], torch.cat(other.labels)[:_ENOUGH], rows, labels
            )
        self.session.emit(
            LabelsWeighed(
                step=self.session.step,
                training=training,
                pairs=len(labels),
                classes=int(labels.unique().numel()) if phase.discrete else 0,
                information=found,
                shift=shift,
                shifted_information=shifted,
                agreement=agreement,
                mapped=mapped,
            )
        )

    def _told_again(self, phase: Collected, training: bool) -> None:
        """Inputs came again: with the labels they had before?"""
        phase.told = True
        labels = torch.cat(phase.labels)
        _, counts = labels.unique(return_counts=True)
        self.session.emit(
            LabelsWeighed(
                step=self.session.step,
                training=training,
                pairs=phase.count,
                classes=len(counts),
                information=-1.0,
                repeats=phase.repeats,
                agreed=phase.agreed / phase.repeats,
                by_chance=float((counts / counts.sum()).square().sum()),
            )
        )


# --- pairs -----------------------------------------------------------------------------------


def usable(tensor: torch.Tensor) -> bool:
    return (
        tensor.device.type == "cpu"
        and tensor.layout == torch.strided
        and tensor.dim() >= 2
        and tensor.shape[0] >= 1
        and tensor[0].numel() <= 1 << 16
        and not tensor.is_complex()
    )


def label_of(target: torch.Tensor, samples: int, fn: str) -> tuple[torch.Tensor, bool] | None:
    """One number for each sample, or several, and whether it is a class."""
    if target.device.type != "cpu" or not target.dim() or target.shape[0] != samples or target.is_complex():
        return None
    flat = target.detach().reshape(samples, -1)
    if flat.shape[1] == 1:
        values = flat[:, 0]
        discrete = not values.is_floating_point() or fn.startswith("binary")
        return (values.round() if discrete else values).double(), discrete
    if flat.is_floating_point() and fn == "cross_entropy" and target.dim() == 2:
        return flat.argmax(1).double(), True
    if target.dim() == 2 and flat.is_floating_point() and flat.shape[1] <= 64:
        return flat[:, :_COLUMNS].double(), False  # their mean may say nothing: that of scores is noise
    return None


def features_of(first: torch.Tensor) -> torch.Tensor:
    """(samples, time, features) or (samples, features), small enough to compare; tokens as counts."""
    value = first.detach()
    if not value.is_floating_point():
        flat = value.reshape(value.shape[0], -1).long()
        if value.dtype == torch.uint8 or flat.shape[1] > 4096:
            return thinned(flat.float())
        counts = torch.zeros(flat.shape[0], _FEATURES)
        return counts.scatter_add_(1, flat.remainder(_FEATURES), torch.ones(flat.shape))
    return thinned(value.float().reshape(value.shape[0], -1) if value.dim() != 3 else value.float())


def marks_of(flat: torch.Tensor) -> list[Any]:
    """What tells one row from another: a few of its numbers, and a sum over all of them.

    Rows with few different numbers (one-hot codes, flags) may be equal without being the same sample: they get a mark
    that never comes again. Counts of many words are not: their places tell."""
    some = flat[:, :: max(1, flat.shape[1] // 8)][:, :8].tolist()
    # Roots, and no even steps: two words that move by one place each, in opposite directions, would leave the sum as it is.
    weights = torch.arange(1, flat.shape[1] + 1, dtype=torch.float64).sqrt()
    sums = (flat.double() * weights).sum(1).tolist()
    places = (flat != 0).sum(1).tolist() if flat.shape[1] >= _WIDE else [0] * len(flat)
    return [
        (f"{total:.12g}", *few) if len(set(few)) > 3 or number >= _PLACES else object()
        for total, few, number in zip(sums, some, places, strict=True)
    ]


def thinned(value: torch.Tensor) -> torch.Tensor:
    if value.dim() == 3:
        return value if value[0].numel() <= 4 * _FEATURES else thinned(value.reshape(value.shape[0], -1))
    return value[:, :: max(1, value.shape[1] // _FEATURES)]


def views(rows: torch.Tensor) -> list[torch.Tensor]:
    """The inputs as they are and by their order, their spectrum along the last (or the time) dimension, and a few statistics."""
    flat = rows.reshape(rows.shape[0], -1)
    # The order alone as well: one placeholder of -9999, or a column that was squashed, hides all that the rest says.
    found = [flat, flat.argsort(0).argsort(0).float()]
    if flat.shape[1] >= 8:
        series = rows.transpose(1, 2) if rows.dim() == 3 and rows.shape[1] >= 8 else flat
        found.append(torch.fft.rfft(series, dim=-1).abs().reshape(rows.shape[0], -1))
        steps = flat.diff(dim=1).abs()
        found.append(
            torch.stack(
                [
                    flat.mean(1),
                    flat.std(1),
                    flat.amin(1),
                    flat.amax(1),
                    steps.mean(1),
                    steps.amax(1),
                    flat.abs().mean(1),
                ],
                1,
            )
        )
    return [standardised(view) for view in found]


def standardised(view: torch.Tensor) -> torch.Tensor:
    std, mean = torch.std_mean(view, dim=0)
    keep = std > 1e-6 * (mean.abs() + 1e-12)
    if not bool(keep.any()):
        return torch.zeros(view.shape[0], 1)
    return (view[:, keep] - mean[keep]) / std[keep]


# --- tests -----------------------------------------------------------------------------------


class Dependence:
    """How far the dependence between rows and labels lies above that of shuffled labels, in standard deviations."""

    def __init__(self, labels: torch.Tensor, discrete: bool) -> None:
        self.labels = labels
        self.discrete = discrete

    @property
    def varied(self) -> bool:
        """Whether there is something to tell: of a rare class a few dozen are needed, or chance decides."""
        if not self.discrete:
            return bool((self.labels != self.labels[:1]).any())
        _, counts = self.labels.unique(return_counts=True)
        return len(self.labels) - int(counts.max()) >= _RARE

    def coded(self) -> torch.Tensor:
        """Labels as columns with mean 0: one for each class, or ranks of each quantity."""
        if self.discrete:
            _, index = self.labels.unique(return_inverse=True)
            columns = torch.nn.functional.one_hot(index).float()
        else:
            columns = self.labels.argsort(0).argsort(0).float().reshape(len(self.labels), -1)
        return columns - columns.mean(0)

    def strongest(self, rows: torch.Tensor) -> float:
        coded, generator = self.coded(), torch.Generator().manual_seed(0)
        # As they are, and shuffled: (samples, orders, columns). All at once, as hundreds of small operations take longer.
        orders = [torch.randperm(len(coded), generator=generator) for _ in range(_SHUFFLES)]
        given = torch.stack([coded, *(coded[order] for order in orders)], 1)
        return max(0.0, *(excess(test(view, given)) for view in views(rows) for test in (alike, along)))


def alike(view: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
    """How far the labels of neighbours go together, in each order."""
    distances = torch.cdist(view, view)
    distances.fill_diagonal_(float("inf"))
    near = distances.topk(min(_NEIGHBOURS, len(view) - 1), largest=False).indices
    theirs = torch.nn.functional.embedding_bag(near, given.flatten(1), mode="mean")
    return (theirs.view_as(given) * given).sum((0, 2))


def along(view: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
    """How far labels go along with any column, in each order."""
    return (view.T @ given.flatten(1)).view(-1, *given.shape[1:]).square().sum((0, 2))


def excess(statistics: torch.Tensor) -> float:
    """By how much the first of them lies above the others, in their standard deviations."""
    first, null = statistics[0], statistics[1:]
    spread = float(null.std())
    return float(first - null.mean()) / spread if spread else 0.0


def shifted_by(rows: torch.Tensor, labels: torch.Tensor, discrete: bool) -> tuple[int, float]:
    """The shift, among a few, at which the labels do go with the inputs (if they were drawn in order)."""
    found = [(Dependence(labels.roll(shift, 0), discrete).strongest(rows), shift) for shift in _SHIFTS]
    strength, shift = max(found)
    return (shift, strength) if strength > 6 else (0, strength)


def carried_over(
    rows: torch.Tensor, labels: torch.Tensor, new_rows: torch.Tensor, new_labels: torch.Tensor
) -> tuple[float, float]:
    """How often the labels of the nearest training pairs are those of the new ones: as they are, and after the
    renumbering of classes that fits best."""
    std, mean = torch.std_mean(rows.reshape(len(rows), -1), dim=0)
    scale = std.clamp_min(1e-6)
    old = (rows.reshape(len(rows), -1) - mean) / scale
    new = (new_rows.reshape(len(new_rows), -1) - mean) / scale
    near = torch.cdist(new, old).topk(min(_NEIGHBOURS, len(old)), largest=False).indices
    guess = labels[near].mode(dim=1).values
    agreement = float((guess == new_labels).float().mean())
    mapped = 0
    for value in guess.unique():
        chosen = new_labels[guess == value]
        mapped += int((chosen == chosen.mode().values).sum())
    return agreement, mapped / len(new_labels)
