"""Loss functions of torch.nn.functional: shapes, ranges, labels. Everybody's criterion ends there."""

import inspect
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from premortem.events import Aligned, LossCall, Site
from premortem.probes.compared_rows import ComparedRows
from premortem.probes.graph import leads_to, maker, mark_value
from premortem.probes.label_information import Pairs
from premortem.probes.loop_habits import never_read
from premortem.probes.loss_meaning import promises
from premortem.probes.model_registry import Model
from premortem.probes.modules import Models
from premortem.probes.nonfinite_origin import NonFiniteOrigin
from premortem.probes.numbers import on_host, summarise
from premortem.probes.padding import padding_of
from premortem.probes.recent_data import Recent
from premortem.probes.recorder import MOST_CALLS, Recorder
from premortem.probes.sampling import stride_over
from premortem.probes.session import Session, user_site

WATCHED = (
    "cross_entropy",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "kl_div",
    "gaussian_nll_loss",
    "poisson_nll_loss",
    "hinge_embedding_loss",
    "multi_margin_loss",
    "multilabel_soft_margin_loss",
    "soft_margin_loss",
)
_WEIGHED = 4  # calls of a line at which the weights of the classes are looked at
_LED = 32  # audited calls of a line whose graphs are followed
_OF_CLASSES = ("cross_entropy", "nll_loss")
_SMALL = 1 << 16  # elements whose statistics cost nothing noticeable


class Losses:
    """Wraps the functional losses; the modules in torch.nn call them by name."""

    def __init__(
        self,
        session: Session,
        models: Models,
        recent: Recent,
        nonfinite_origin: NonFiniteOrigin,
        pairs: Pairs,
        recorder: Recorder,
    ) -> None:
        self.session = session
        self.recorder = recorder
        self.models = models
        self.recent = recent
        self.nonfinite_origin = nonfinite_origin
        self.pairs = pairs
        self.rows = ComparedRows(session, models)
        self.on_target: list[Callable[[torch.Tensor], None]] = [
            recorder.compared
        ]  # in a rested step only that
        self.calls: Counter[Site | None] = Counter()
        self._led: Counter[Site | None] = Counter()
        self._inside = False
        self._given: list[weakref.ref[torch.Tensor]] = []  # whole numbers that the last root was given
        self._paddings: dict[int, dict[int, int]] = {}  # model -> rows of an embedding -> its padding_idx

    def install(self) -> None:
        self.models.on_call.append(self._called_with)
        self.rows.install()
        for name in WATCHED:
            original = getattr(functional, name, None)
            if original is not None:
                self._watch(name, inspect.signature(original))

        self.session.around(functional, "ctc_loss", after=self._aligned, quiet=None)

    def _aligned(self, note: Any, result: Any, *args: Any, **kwargs: Any) -> None:
        names = ("log_probs", "targets", "input_lengths", "target_lengths", "blank")
        bound = {**dict(zip(names, args, strict=False)), **kwargs}
        scores, targets, lengths = (bound.get(each) for each in ("log_probs", "targets", "target_lengths"))
        if not isinstance(targets, torch.Tensor) or targets.device.type != "cpu":
            return
        blank, counted = int(bound.get("blank", 0)), labels_of(targets, lengths)
        event = Aligned(
            step=self.session.step,
            at=user_site(),
            blank=blank,
            labels=counted.numel(),
            blanks=int((counted == blank).sum()),
            classes=scores.shape[-1] if isinstance(scores, torch.Tensor) else 0,
        )
        self.session.emit(event)

    def _watch(self, name: str, signature: inspect.Signature) -> None:
        names = tuple(signature.parameters)
        target = "target" if "target" in names else None

        def after(note: Any, result: Any, *args: Any, **kwargs: Any) -> None:
            bound = {
                **dict(zip(names, args, strict=False)),
                **kwargs,
            }  # as `bind`: it was called, so they fit
            given, wanted = bound.get("input"), bound.get(target) if target else None
            if isinstance(given, torch.Tensor) and isinstance(wanted, torch.Tensor):
                # One call may be made of others (cross_entropy of nll_loss on old versions).
                self._called(name, given, wanted, result, bound)

        self.session.around(functional, name, after=after, quiet=self._count)

    def _count(self, *args: Any, **kwargs: Any) -> None:
        """In a rested step: what a replay needs to know of the target."""
        target, recorder = args[1] if len(args) > 1 else kwargs.get("target"), self.recorder
        window = recorder.window
        if recorder.drawn_in == window.step or not isinstance(target, torch.Tensor):
            return
        try:
            if target.requires_grad or len(window.targets) >= MOST_CALLS:
                recorder.compared(target)
            else:
                window.targets.append(target.detach())  # as `compared`, without another call in every step
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self.session.fault("losses", error)

    def _called(self, fn: str, given: torch.Tensor, wanted: torch.Tensor, result: Any, bound: Any) -> None:
        session = self.session
        at = user_site()
        self.calls[at] += 1
        count = self.calls[at]
        event = LossCall(
            step=session.step,
            at=at,
            fn=fn,
            grad=given.requires_grad,
            training=self._mode(),
            value=self._value(result),
            reduction=str(bound.get("reduction", "mean")),
            input_shape=tuple(given.shape),
            target_shape=tuple(wanted.shape),
            input_op=maker(given),
            target_grad=wanted.requires_grad,
            log_target=bool(bound.get("log_target", False)),
            ignored=ignored(fn, bound),
            aside=session.grad and not given.requires_grad and not wanted.requires_grad,
            counted=self._counted(wanted, bound) if fn in _OF_CLASSES and given.requires_grad else None,
        )
        mark_value(result, event.value)
        self.nonfinite_origin.compared(wanted)
        for hears in self.on_target:
            hears(wanted)
        self.pairs.compared(given, wanted, fn)
        cheap = given.device.type == "cpu" and given.numel() <= _SMALL
        # Labels are followed closely at first, then sampled; a GPU is only asked in the audit gear.
        if session.auditing or (cheap and (count <= 400 or count % 16 == 0)):
            self._look(event, fn, given, wanted)
            if event.ignored is not None and bound.get("weight") is None:
                event.padding = self._padding(given)
                if event.padding is None and (index := padding_of(wanted, self._inputs())) is not None:
                    event.padding, event.padded = index, True
        if session.auditing and isinstance(result, torch.Tensor) and self._led[at] < _LED:
            self._led[at] += 1
            event.parameters = leads_to(result, session.parameters.known)
            event.promised = promises(given, wanted)
            event.unread = never_read(at.file, at.line) if at is not None else ""
        if count <= _WEIGHED:
            event.weights = weights_of(bound.get("weight"))
        session.emit(event)
        if session.auditing:
            self.rows.compared(fn, given, wanted, at, event.ignored)

    def _mode(self) -> bool | None:
        model = self.models.current
        module = model.module() if model is not None else None
        return module.training if module is not None else None

    def _value(self, result: Any) -> float | None:
        scalar = isinstance(result, torch.Tensor) and result.numel() == 1 and result.device.type == "cpu"
        return float(result.detach()) if scalar else None

    def _look(self, event: LossCall, fn: str, given: torch.Tensor, wanted: torch.Tensor) -> None:
        if not given.numel() or not wanted.numel():
            return
        seen = summarise(given)
        event.input_mean, event.input_std = seen.mean, seen.std
        event.input_min, event.input_max = seen.low, seen.high
        if fn in {"cross_entropy", "nll_loss", "kl_div"} and given.dim() >= 1:
            rows = on_host(given.detach()).float()
            if rows.numel() <= 1 << 22:
                # kl_div does not say which dimension holds the classes: the one that fits best is meant.
                dims = range(rows.dim()) if fn == "kl_div" else [1 if rows.dim() > 1 else 0]
                event.row_sum_error = min(float((rows.sum(dim) - 1).abs().mean()) for dim in dims)
                event.row_logsumexp = min(float(rows.logsumexp(dim).abs().mean()) for dim in dims)
        target = summarise(wanted)
        event.target_mean, event.target_std = target.mean, target.std
        event.target_min, event.target_max = target.low, target.high
        event.classes = classes_of(wanted)
        event.identical = bool(seen.std) and seen == target and same_numbers(given, wanted)
        if (
            fn == "cross_entropy"
            and wanted.shape == given.shape
            and wanted.is_floating_point()
            and wanted.dim() > 1
        ):
            event.target_sum_error = float((on_host(wanted.detach()).float().sum(1) - 1).abs().mean())
        event.target_is_input = self._is_input(wanted)
        if event.target_is_input and given.shape == wanted.shape and given.dim() > 1 and given.shape[0] > 1:
            event.input_spread = float(on_host(given.detach()).float().std(0).mean())
            event.target_spread = float(on_host(wanted.detach()).float().std(0).mean())
        event.target_is_data = self.recent.holds(wanted, event.at)

    def _counted(self, wanted: torch.Tensor, bound: dict[str, Any]) -> int | None:
        """Of a model that is given whole numbers and has a target for each of them (but for the first or last): how many count."""
        if wanted.is_floating_point() or wanted.device.type != "cpu" or bound.get("weight") is not None:
            return None
        given = max((tensor.numel() for tensor in self._inputs()), default=0)
        if not given // 2 < wanted.numel() <= given:
            return None
        return int((wanted != bound.get("ignore_index", -100)).sum())

    def _inputs(self) -> list[torch.Tensor]:
        return [tensor for reference in self._given if (tensor := reference()) is not None]

    def _called_with(self, model: Model, grad: bool, inputs: list[torch.Tensor]) -> None:
        self._given = [weakref.ref(tensor) for tensor in inputs[:4] if not tensor.is_floating_point()]

    def _padding(self, given: torch.Tensor) -> float | None:
        model = self.models.current
        module = model.module() if model is not None else None
        ids = model.last_input[0]() if model is not None and model.last_input is not None else None
        if model is None or module is None or ids is None or given.dim() < 2:
            return None
        if ids.dim() != 2 or ids.is_floating_point() or ids.device.type != "cpu" or not ids.numel():
            return None
        if model.key not in self._paddings:
            embeddings = (m for m in module.modules() if isinstance(m, torch.nn.Embedding))
            self._paddings[model.key] = {
                m.num_embeddings: m.padding_idx for m in embeddings if m.padding_idx is not None
            }
        index = self._paddings[model.key].get(given.shape[1])
        ends = index is not None and bool(((ids[:, -1] == index) & (ids[:, 0] != index)).any())
        return float(index) if index is not None and ends else None

    def _is_input(self, wanted: torch.Tensor) -> bool:
        model = self.models.current
        first = model.last_input[0]() if model is not None and model.last_input is not None else None
        return first is not None and (
            first is wanted or (first.numel() == wanted.numel() and first.data_ptr() == wanted.data_ptr())
        )


def same_numbers(given: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Equal to the last bit. Asked only where mean, deviation and range of both are."""
    return given.shape == wanted.shape and given.dtype == wanted.dtype and torch.equal(given, wanted)


def labels_of(targets: torch.Tensor, lengths: Any) -> torch.Tensor:
    """The labels of sequences, one after the other, without what fills them up to one length."""
    if targets.dim() != 2:
        return targets
    many = torch.as_tensor(lengths).reshape(-1, 1)
    return targets[torch.arange(targets.shape[1]) < many] if len(many) == len(targets) else targets[:0]


def weights_of(given: Any) -> tuple[float, ...]:
    if (
        not isinstance(given, torch.Tensor)
        or given.device.type != "cpu"
        or given.dim() != 1
        or len(given) > 1024
    ):
        return ()
    return tuple(map(float, given.tolist()))


def ignored(fn: str, bound: dict[str, Any]) -> float | None:
    index = bound.get("ignore_index", -100) if fn in {"cross_entropy", "nll_loss"} else None
    return float(index) if isinstance(index, int) else None


def classes_of(target: torch.Tensor) -> dict[float, int] | None:
    """Counts of the values of a target with few values (labels, 0/1 flags), None for a measured quantity."""
    if target.is_complex():
        return None
    if target.numel() > 4096:  # spread over the whole batch: the corner of a mask is all background
        target = target.reshape(-1)[:: stride_over(target.numel(), 4096)]
    counts = Counter(target.detach().reshape(-1).tolist())
    if target.is_floating_point() and (len(counts) > 16 or any(not float(v).is_integer() for v in counts)):
        return None
    return {float(value): count for value, count in counts.items()} if len(counts) <= 1024 else None
