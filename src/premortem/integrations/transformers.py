"""Transformers: `Trainer(..., callbacks=[Premortem()])`."""

from __future__ import annotations

from typing import Any

from premortem.errors import MissingExtra
from premortem.findings import Finding
from premortem.integrations.door import Door

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise MissingExtra("premortem.integrations.transformers", "transformers") from error


class Premortem(TrainerCallback):  # type: ignore[misc]  # its base is not typed here
    """Watches every `train`. Takes the options of `premortem.watch`.

    The Trainer has no word for a training that ended in an exception: that one is closed with `close`, by the next
    training, or at the end of the process."""

    def __init__(self, **options: Any) -> None:
        self._door = Door(**options)

    @property
    def findings(self) -> list[Finding]:
        return self._door.findings

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        objects = [kwargs[name] for name in ("model", "optimizer") if kwargs.get(name) is not None]
        self._door.open(*objects, speaks=state.is_world_process_zero)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._door.close()

    def close(self, error: BaseException | None = None) -> None:
        self._door.close(error)
