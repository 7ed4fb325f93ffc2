"""A loss of the training, row by row: is what is compared of the same row, and is there anything to compare?

    logits.transpose(0, 1).reshape(-1, V), targets.reshape(-1)     the rows come in different orders
    model(x[order]), y[i:j]                                        the target of another sample
    z @ z.T with targets off the diagonal                          each row is its own strongest rival
    r + gamma * q_next                                             the next value of episodes that have ended

What the script's own variables hold (`user_frames`) is compared number for number: an order, a row or a sum is found only
where all numbers agree. In audited steps only, and a few times for each line. All that was found is one event.
"""

from __future__ import annotations

import math
import weakref
from collections import Counter
from itertools import permutations
from typing import Any, NamedTuple

import torch

from premortem.events import Ends, Forward, RowsCompared, Site
from premortem.probes.frame_variables import variables
from premortem.probes.held_out_rows import held_out
from premortem.probes.loop_counters import user_frames
from premortem.probes.model_registry import Model
from premortem.probes.modules import Models
from premortem.probes.promises import promise_of
from premortem.probes.row_origins import Arrays, strangers_among
from premortem.probes.sampling import stride_over
from premortem.probes.session import Session, tensors_in, version

_LOOKS = 6  # at one line
_LARGE = 1 << 22  # elements that are compared
_FEW = 8  # rows: with fewer, anything may be alike by chance
_FRAMES = 3  # innermost ones of the user's
_VALUES = 64  # variables of one frame
_EXACT = 1e-5  # of the largest number: what two ways of rounding may differ by in float32
_SUMS = 1e-3  # how far a sum of probabilities may be from one
_CLASSES = 256  # that are compared
_ENDS = 4  # places of a sequence that a shift may leave out
_SHIFTS = range(-1, _ENDS)
_COUNTED = 0.5  # of the targets: those of masked words alone say nothing about an order
_SCORED = (
    0.1  # of the places are counted: fewer would hardly show that the targets are the tokens that come next
)
_SQUARES = ("cross_entropy", "nll_loss")
_ANSWERS = 4  # of a step that are kept: a teacher or two, and a network of targets


class Answer(NamedTuple):
    """What a root without gradients gave."""

    model: Model
    step: int
    classes: int
    best: torch.Tensor  # the largest of each row
    answer: torch.Tensor  # ... and where that is
    table: torch.Tensor  # all of it
    from_file: bool  # each of its weights, and they are now what they were there


class ComparedRows:
    def __init__(self, session: Session, models: Models) -> None:
        self.session = session
        self.models = models
        self._looks: Counter[Site | None] = Counter()
        self._arrays = Arrays()
        self._inputs: list[weakref.ref[torch.Tensor]] = []  # of the last root that ran with gradients
        self._asked: list[weakref.ref[torch.Tensor]] = []  # of the last root that ran without
        self._outputs: list[weakref.ref[torch.Tensor]] = []
        self._trained: Model | None = None  # the last root that ran with gradients
        self._answers: list[Answer] = []
        self._began_from_file: dict[int, bool] = {}  # models that were trained since

    def install(self) -> None:
        self.models.on_call.append(self._called)
        self.models.on_answer.append(self._answered)

    def _called(self, model: Model, grad: bool, inputs: list[torch.Tensor]) -> None:
        given = [weakref.ref(tensor) for tensor in inputs]
        if grad:
            self._trained = model
            self._inputs = given
            self._answers = [each for each in self._answers if each.step == self.session.step]
            if model.key not in self._began_from_file:
                self._began_from_file[model.key] = self._from_file(model)
        else:
            self._asked = given

    def _answered(self, event: Forward, result: Any) -> None:
        """A root has run, in an audited step."""
        found = [t for t in tensors_in(result, 2) if t.is_floating_point() and t.numel() <= _LARGE]
        if event.tracked:
            self._outputs = [weakref.ref(t) for t in found]
        else:
            model = self.models.registry.known.get(event.model)
            tables = [t.detach() for t in found if t.dim() == 2 and 1 < t.shape[1] <= _CLASSES]
            if model is None or not tables:
                return
            read, step = self._from_file(model), self.session.step
            made = [Answer(model, step, t.shape[1], *t.max(1), t, read) for t in tables]
            self._answers = [*(each for each in self._answers if each.step == step), *made][-_ANSWERS:]

    def _from_file(self, model: Model) -> bool:
        module, keys = model.module(), self.session.parameters
        parameters = list(module.parameters()) if module is not None else []
        read = self.session.from_file
        return bool(parameters) and all(read.get(keys.of(p)) == version(p) for p in parameters)

    def compared(
        self,
        fn: str,
        given: torch.Tensor,
        wanted: torch.Tensor,
        at: Site | None,
        ignored: float | None = None,
    ) -> None:
        if not given.requires_grad or wanted.requires_grad or self._looks[at] >= _LOOKS:
            return
        plain = all(
            t.layout == torch.strided and t.device.type == "cpu" and 1 < t.numel() <= _LARGE and t.dim()
            for t in (given, wanted)
        )
        if not plain or given.is_complex():
            return
        self._looks[at] += 1
        given, wanted = given.detach(), wanted.detach()
        frames = [variables(frame) for frame, _ in zip(user_frames(), range(_FRAMES), strict=False)]
        named = [(n, t) for own in frames for n, t in list(own.items())[:_VALUES] if _is_plain(t)]
        inputs = [t for each in self._inputs if (t := each()) is not None]
        rows = wanted.shape[0]
        event = RowsCompared(step=self.session.step, at=at, fn=fn, rows=rows)
        event.turned = self._turned(given, wanted, [t for _, t in named])
        if fn in _SQUARES:
            found = self._ahead(given, wanted, inputs, [t for _, t in named])
            event.ahead, event.cut = found or (None, 0)
            event.ends = next(
                (made for t in inputs if (made := ends_of(t, wanted, ignored)) is not None), None
            )
        event.crossed = crossed(given, wanted) if fn == "kl_div" else None
        event.held_out = held_out(wanted, frames)
        event.itself = itself(given, wanted) if fn in _SQUARES else ""
        if rows >= _FEW and len(inputs) == len(self._inputs):
            event.alike = _all_alike(inputs, wanted)
            event.copies = copies(inputs, given, wanted)
            event.window = _window(inputs, wanted)
        if fn in _SQUARES and _scores_classes(given) and not wanted.is_floating_point():
            self._numbered(event, given, wanted)
        answers = [each for each in self._answers if each.step == event.step]
        event.promise = promise_of(wanted, named, _values(answers))
        if event.promise is not None:
            asked = [t for each in self._asked if (t := each()) is not None]
            event.promise = event.promise._replace(same_state=_same(inputs, asked))
        if len(inputs) == 1 and rows >= _FEW and not event.alike:
            event.strangers, event.paired = strangers_among(inputs[0], wanted, self._arrays.of(frames, rows))
        self.session.emit(event)

    def _ahead(
        self, given: torch.Tensor, wanted: torch.Tensor, inputs: list[torch.Tensor], held: list[torch.Tensor]
    ) -> tuple[int, int] | None:
        """Of a model of sequences: how many places behind the place that is scored its target stands in the input, and how many places of
        the output are not scored."""
        scores = given.reshape(-1, given.shape[-1]) if given.dim() in (2, 3) else given
        if scores.dim() != 2 or scores.shape[0] != wanted.numel() or wanted.is_floating_point():
            return None
        held = [*held, *(t.detach() for each in self._outputs if (t := each()) is not None)]
        for tokens in inputs:
            if tokens.dim() != 2 or tokens.is_floating_point() or wanted.numel() % tokens.shape[0]:
                continue
            shift = shifted_by(tokens, wanted.reshape(tokens.shape[0], -1))
            outputs = [t for t in held if t.shape == (*tokens.shape, scores.shape[1])]
            starts = {start for t in outputs if (start := start_in(t.detach(), scores)) is not None}
            if shift is not None and len(starts) == 1:
                return shift - starts.pop(), tokens.shape[1] - wanted.numel() // tokens.shape[0]
        return None

    def _numbered(self, event: RowsCompared, given: torch.Tensor, wanted: torch.Tensor) -> None:
        """What models that were read from files answer to these rows, beside the classes that they have."""
        trained = self._trained
        outputs = [t.detach() for each in self._outputs if (t := each()) is not None]
        own = any(t.shape == given.shape and torch.equal(t, given) for t in outputs)
        if trained is not None and own and self._began_from_file[trained.key]:
            event.model, event.answered = trained.name, _beside(given.argmax(1), wanted)
        guides = [
            each
            for each in self._answers
            if each.step == event.step
            and given.shape[1:] == (each.classes,)
            and each.answer.shape == wanted.shape
        ]
        if len(guides) == 1 and guides[0].from_file and guides[0].model is not trained:
            event.guide, event.guided = guides[0].model.name, _beside(guides[0].answer, wanted)

    def _turned(
        self, given: torch.Tensor, wanted: torch.Tensor, held: list[torch.Tensor]
    ) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Scores of (samples, places, classes) and targets of (samples, places), joined to rows in different orders."""
        if given.dim() != 2 or wanted.dim() != 1 or given.shape[0] != wanted.shape[0]:
            return None
        held = [*held, *(t.detach() for each in self._outputs if (t := each()) is not None)]
        scores = [
            t for t in held if t.dim() == 3 and t.numel() == given.numel() and t.shape[2] == given.shape[1]
        ]
        targets = [
            t for t in held if t.dim() == 2 and t.numel() == wanted.numel() and t.dtype == wanted.dtype
        ]
        found = None
        for score in scores:
            for target in targets:
                first, second = order_of(given, score), order_of(wanted, target)
                samples, places = score.shape[:2]
                if not first or not second or samples == places or min(samples, places) < 2:
                    continue
                alike = tuple(target.shape) == (samples, places)
                if not alike and tuple(target.shape) != (places, samples):
                    continue
                if alike == (first == second):
                    return None  # so they do belong together
                found = tuple(score.shape), tuple(target.shape)
        return found


def _scores_classes(given: torch.Tensor) -> bool:
    """As many rows as columns are a matrix of similarities."""
    return given.dim() == 2 and 2 < given.shape[1] <= _CLASSES and given.shape[0] != given.shape[1]


def _beside(answers: torch.Tensor, wanted: torch.Tensor) -> tuple[tuple[int, int, int], ...]:
    pairs = Counter(zip(answers.tolist(), wanted.tolist(), strict=True))
    return tuple((answer, target, number) for (answer, target), number in pairs.items())


def shifted_by(tokens: torch.Tensor, wanted: torch.Tensor) -> int | None:
    """The one distance at which all targets that count stand in the input; -1 is the token before."""
    length, width = tokens.shape[1], wanted.shape[1]
    found = []
    for shift in _SHIFTS:
        first = max(0, -shift)
        last = min(width, length - shift)
        if last - first < _FEW or last < width - _ENDS:
            continue
        part, there = wanted[:, first:last], tokens[:, first + shift : last + shift]
        counted = part >= 0
        if float(counted.float().mean()) >= _COUNTED and bool((part == there)[counted].all()):
            found.append(shift)
    return found[0] if len(found) == 1 else None


def ends_of(tokens: torch.Tensor, wanted: torch.Tensor, ignored: float | None) -> Ends | None:
    """Of a model that predicts the next token. What the last target would be is only known where the input has it."""
    if tokens.dim() != 2 or tokens.is_floating_point() or wanted.is_floating_point():
        return None
    samples, length = tokens.shape
    if samples < 2 or wanted.numel() not in (samples * length, samples * (length - 1)):
        return None
    following, there = tokens[:, 1:], wanted.reshape(samples, -1)[:, : length - 1]
    counted = (there >= 0) & (there != ignored)
    token = tokens[0, -1]
    run = (tokens == token).flip(1).cumprod(1).sum(1)
    alone = bool((run == (tokens == token).sum(1)).all()) and int(run.min()) == 1
    if not alone or not bool((there == following)[counted].all()) or float(counted.float().mean()) < _SCORED:
        return None
    last = following == token
    return Ends(int(token), length, int(last.sum()), int((last & counted).sum()))


def start_in(output: torch.Tensor, scores: torch.Tensor) -> int | None:
    """From which place on the places of an output of (samples, places, classes) are scored."""
    samples, places, classes = output.shape
    width = scores.shape[0] // samples
    rows = scores.reshape(samples, width, classes)
    starts = [s for s in range(min(_ENDS, places - width) + 1) if torch.equal(rows, output[:, s : s + width])]
    return starts[0] if len(starts) == 1 else None


def order_of(flat: torch.Tensor, source: torch.Tensor) -> str:
    """How the rows of `flat` were taken from the first two dimensions of `source`; "" where that is not clear."""
    straight = torch.equal(flat, source.detach().reshape(flat.shape))
    turned = torch.equal(flat, source.detach().transpose(0, 1).reshape(flat.shape))
    return "" if straight == turned else "straight" if straight else "turned"


def itself(given: torch.Tensor, wanted: torch.Tensor) -> str:
    """What the row itself is in its own row of a symmetric matrix: "rival" or "answer"; "twin" where the answer is a row with the very
    same similarities, so that both are the same thing."""
    rows = given.shape[0]
    if given.dim() != 2 or given.shape[1] != rows or rows < _FEW or wanted.shape != (rows,):
        return ""
    if wanted.is_floating_point() or int(wanted.min()) < 0 or int(wanted.max()) >= rows:
        return ""
    # What stands on the diagonal may be any mask: the size of all others counts.
    others = given.clone().fill_diagonal_(0)
    scale = float(others.abs().amax())
    if not scale or not math.isfinite(scale) or float((others - others.T).abs().amax()) > _EXACT * scale:
        return ""
    if float(others.std()) <= _EXACT * scale:
        return ""
    own = wanted == torch.arange(rows)
    if not bool(own.any()) and _twins(others, wanted, scale):
        return "twin"
    best = given.diagonal() >= others.amax(1) - _EXACT * scale
    if not bool(torch.isfinite(given.diagonal()).all()) or not bool(best.all()):
        return ""
    return "answer" if bool(own.all()) else "rival" if not bool(own.any()) else ""


def _twins(others: torch.Tensor, wanted: torch.Tensor, scale: float) -> bool:
    """Each row and the row of its answer are equally similar to all others."""
    rows = torch.arange(len(others))
    apart = (others - others[wanted]).abs()
    apart[rows, rows] = 0
    apart[rows, wanted] = 0
    return float(apart.amax()) <= _EXACT * scale


def crossed(given: torch.Tensor, wanted: torch.Tensor) -> tuple[int, int] | None:
    """Logarithms of probabilities over one dimension, compared with probabilities over the other."""
    if given.dim() != 2 or given.shape != wanted.shape or min(given.shape) < 2:
        return None
    scores = [d for d in (0, 1) if float(given.logsumexp(d).abs().amax()) < _SUMS]
    targets = [d for d in (0, 1) if float((wanted.sum(d) - 1).abs().amax()) < _SUMS]
    return (scores[0], targets[0]) if len(scores) == len(targets) == 1 and scores != targets else None


def _values(answers: list[Answer]) -> list[torch.Tensor]:
    """The next values that targets are made of: the best of each row, or what one network gives to the choice of another."""
    chosen = [
        two.table.gather(1, one.answer[:, None])[:, 0]
        for one, two in permutations(answers, 2)
        if one.table.shape == two.table.shape
    ]
    return [*(each.best for each in answers), *chosen]


def _is_plain(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and type(value) in (torch.Tensor, torch.nn.Parameter)
        and value.device.type == "cpu"
        and value.layout == torch.strided
        and not value.is_nested
        and not value.is_complex()
        and 1 < value.numel() <= _LARGE
    )


def _all_alike(inputs: list[torch.Tensor], wanted: torch.Tensor) -> bool:
    by_rows = [t for t in inputs if t.dim() > 1 and t.shape[0] == wanted.shape[0] and _is_plain(t)]
    if not by_rows or len(by_rows) < len(inputs):
        return False
    if bool((wanted == wanted[:1]).all()):
        return False
    # One and the same number everywhere is no sample: a model that is to learn a constant.
    telling = any(bool((t.detach() != t.detach().reshape(-1)[0]).any()) for t in by_rows)
    return telling and all(bool((t.detach() == t.detach()[:1]).all()) for t in by_rows)


def copies(inputs: list[torch.Tensor], given: torch.Tensor, wanted: torch.Tensor) -> tuple[int, ...] | None:
    """Rows that stand in a batch several times, as far as nothing tells their copies apart: a model that draws noise gives each copy an
    output of its own."""
    rows = inputs[0].shape[0] if inputs and inputs[0].dim() > 1 else 0
    by_rows = [t for t in inputs if t.dim() > 1 and t.shape[0] == rows and _is_plain(t)]
    if rows < _FEW or len(by_rows) < len(inputs) or given.shape[0] % rows or wanted.shape[0] % rows:
        return None
    flat = [t.detach().reshape(rows, -1) for t in (*by_rows, wanted)]
    some = torch.cat([t[:, :: stride_over(t.shape[1], _VALUES)].double() for t in flat], 1)
    _, groups, counts = some.unique(dim=0, return_inverse=True, return_counts=True)
    if int(counts.min()) < 2:
        return ()
    first = torch.zeros_like(counts).scatter_(0, groups, torch.arange(rows))
    like, out = first[groups], given.reshape(rows, -1)
    same = all(torch.equal(t, t[like]) for t in flat)
    if not same or float((out - out[like]).abs().amax()) > _EXACT * max(float(out.abs().amax()), _EXACT):
        return ()
    return tuple(hash(tuple(row)) for row in some[first].tolist())


def _window(inputs: list[torch.Tensor], wanted: torch.Tensor) -> str:
    """Which value of the last moment of a window is the target itself."""
    if len(inputs) != 1 or not wanted.is_floating_point() or wanted.numel() != wanted.shape[0]:
        return ""
    first, flat = inputs[0], wanted.reshape(-1)
    if not _is_plain(first) or first.dim() != 3 or first.shape[0] != len(flat) or first.shape[1] < _FEW:
        return ""
    if int(flat.unique().numel()) < _FEW:
        return ""
    same = (first.detach()[:, -1] == flat[:, None]).all(0)
    return f"[:, -1, {int(same.nonzero()[0])}]" if bool(same.any()) else ""


def _same(inputs: list[torch.Tensor], asked: list[torch.Tensor]) -> bool:
    """Whether both hold the same rows, which are not all alike."""
    pairs = list(zip(inputs, asked, strict=False))
    return bool(pairs) and all(
        a.shape == b.shape
        and a.numel() > 1
        and (a.data_ptr() == b.data_ptr() or (torch.equal(a, b) and not torch.equal(a, a[:1].expand_as(a))))
        for a, b in pairs
    )
