"""Lightning: `Trainer(callbacks=[Premortem()])`."""

from __future__ import annotations

import sys
from typing import Any

from premortem.errors import MissingExtra
from premortem.findings import Finding
from premortem.integrations.door import Door

# The same library under two names, each with its own classes: the one that the script has imported is meant.
try:
    if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
        from pytorch_lightning import Callback
    else:
        from lightning.pytorch import Callback
except ImportError as error:
    raise MissingExtra("premortem.integrations.lightning", "lightning") from error


class Premortem(Callback):  # type: ignore[misc]  # its base is not typed here
    """Watches every `fit`. Takes the options of `premortem.watch`."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._door = Door(**options)

    @property
    def findings(self) -> list[Finding]:
        return self._door.findings

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if stage == "fit":  # before the optimizers are built, so that premortem sees it done
            self._door.open(pl_module, speaks=trainer.is_global_zero)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._door.close(exception)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._door.close()
