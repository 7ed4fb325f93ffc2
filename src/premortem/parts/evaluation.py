"""An evaluation that says how much of it is true."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from premortem.amounts import length
from premortem.parts.metrics import Metrics
from premortem.parts.outcome import Outcome, Tally
from premortem.parts.preserved import evaluating
from premortem.tensors.nested import tensors

Forward = Callable[[Any], tuple[Any, Any]]
Measure = Callable[[Any, Any], Tensor]


class Evaluation:
    """Runs a model over a loader and gives means over samples, or says why there are none.

    ## Why it matters
    An evaluation that fails returns 0.0 or 999.0 "as a fallback", and the scheduler and the choice of the best model believe it. One
    that forgets `model.train()` afterwards, or calls it on a model with frozen layers, changes the training. A mean of
    the means of batches weighs a short last batch too much. Here a batch that raises, or whose value is not finite, is counted
    and reported; with less than 95 % of the batches or samples a measure has no value at all; every module is in the mode it
    was in afterwards; and each sample weighs the same, in float64.

    ## Example
    >>> import torch
    >>> from premortem.parts import Evaluation, Metrics
    >>> model = torch.nn.Linear(4, 1)
    >>> loader = [(torch.ones(3, 4), torch.zeros(3, 1)), (torch.ones(1, 4), torch.zeros(1, 1))]
    >>> metrics = Metrics()
    >>> evaluation = Evaluation(model, {"loss": torch.nn.functional.mse_loss}, metrics=metrics)
    >>> outcome = evaluation(loader, lambda batch: (model(batch[0]), batch[1]))
    >>> outcome.batches, outcome.samples, list(outcome.values)
    ('2/2 batches', 4, ['loss'])
    >>> metrics.is_best("loss", mode="min"), model.training
    (True, True)

    ## What it does
    - A measure takes prediction and target and returns one value for the batch, or one for each sample (`PSNR`, `SSIM`).
    - What is refused goes to the same `Metrics` as what holds, so `metrics.is_best` is False then and `metrics.feed` makes no step.
    - An image with an infinite PSNR is looked at: a perfect one is left out of the mean and counted; if the target has leaked
      into the prediction, the measure has no value.
    - As soon as too many batches have failed for a value, it stops.
    - `no_grad`, not `inference_mode`: what a layer caches there could not be trained with afterwards.
    """

    def __init__(
        self,
        model: nn.Module,
        measures: Mapping[str, Measure],
        *,
        minimum: float = 0.95,
        metrics: Metrics | None = None,
    ) -> None:
        if not measures:
            raise ValueError("Evaluation needs at least one measure, a function of prediction and target")
        if not 0 < minimum <= 1:
            raise ValueError(f"Evaluation: the minimum is a share above 0 and up to 1, not {minimum}")
        self.model, self.measures, self.minimum = model, dict(measures), minimum
        self.metrics = Metrics() if metrics is None else metrics

    def __call__(self, loader: Iterable[Any], forward: Forward, *, step: int | None = None) -> Outcome:
        """`forward(batch)` returns prediction and target. `step` is handed on to the metrics."""
        total = length(loader)
        tallies = {name: Tally() for name in self.measures}
        failures: list[str] = []
        seen = samples = 0
        batches = iter(loader)
        with evaluating(self.model):
            while total is None or seen < total:
                try:
                    batch = next(batches)
                except StopIteration:
                    break
                except Exception as error:  # noqa: BLE001 - the loader's own, and there is no next batch then
                    failures.append(_failure(seen, error))
                    seen += 1
                    break
                try:
                    prediction, target = forward(batch)
                    count = _count(prediction, target)
                    values = {name: measure(prediction, target) for name, measure in self.measures.items()}
                    for name, value in values.items():
                        self._take(tallies[name], self.measures[name], value, count, prediction, target)
                    samples += count
                except Exception as error:  # noqa: BLE001 - whatever a model or measure raises; it is counted and reported
                    failures.append(_failure(seen, error))
                seen += 1
                if total is not None and len(failures) > (1 - self.minimum) * total + 1e-9:
                    break
        return self._settle(tallies, failures, samples, seen if total is None else total, step)

    def _take(
        self, tally: Tally, measure: Measure, value: Any, count: int, prediction: Any, target: Any
    ) -> None:
        numbers = torch.as_tensor(value).detach().double().reshape(-1).cpu()
        if numbers.numel() not in {1, count}:
            raise ValueError(
                f"a measure returns one value, or one for each of {count} samples, not {numbers.numel()}"
            )
        each = numbers.numel() == count
        for place, number in enumerate(numbers.tolist()):
            if math.isfinite(number):
                tally.add(number, 1 if each else count)
            elif number > 0 and each and hasattr(measure, "why_infinite"):
                tally.leave_out(1, *measure.why_infinite(prediction[place], target[place]))
            else:
                tally.leave_out(1 if each else count, "broken", f"it is {number}, not a finite number")
        tally.end_batch()

    def _settle(
        self, tallies: dict[str, Tally], failures: list[str], samples: int, total: int, step: int | None
    ) -> Outcome:
        reasons = {
            name: reason
            for name, tally in tallies.items()
            if (reason := tally.against(self.minimum, samples, total, failures))
        }
        means = {name: tally.mean for name, tally in tallies.items() if name not in reasons}
        before = len(self.metrics.refused)
        values = self.metrics.add(means, step=step)
        self.metrics.refuse(reasons)
        return Outcome(
            values=values,
            refused=tuple(self.metrics.refused[before:]),
            valid=total - len(failures) if samples else 0,
            total=total,
            samples=samples,
            failures=tuple(failures),
            notes=tuple(f"{name}: {note}" for name, tally in tallies.items() for note in tally.notes),
        )


def _count(prediction: Any, target: Any) -> int:
    for tensor in tensors((prediction, target)):
        if tensor.dim():
            return len(tensor)
    raise TypeError("neither prediction nor target holds a tensor with a batch dimension")


def _failure(number: int, error: Exception) -> str:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = ""
    if last is not None:
        where = f", at {last.tb_frame.f_code.co_filename.rpartition('/')[2]}:{last.tb_lineno}"
    text = str(error).partition("\n")[0]
    return f"batch {number}: {type(error).__name__}: {text}{where}"
