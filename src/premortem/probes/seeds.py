"""Seeding of the global generators."""

from __future__ import annotations

import random
import sys
from typing import Any

import torch

from premortem.events import Seeded
from premortem.probes.session import Session, user_site


class Seeds:
    def __init__(self, session: Session) -> None:
        self.session = session

    def install(self) -> None:
        def told(library: str) -> Any:
            def after(note: Any, result: Any, seed: Any = None, *args: Any, **kwargs: Any) -> None:
                if isinstance(seed, int):
                    self.session.emit(
                        Seeded(step=self.session.step, at=user_site(), seed=seed, library=library)
                    )

            return after

        # Dynamo, when it is imported, asks whether these two names are still one function.
        one = torch.manual_seed is torch.random.manual_seed
        self.session.around(torch, "manual_seed", after=told("torch"))
        if one:
            self.session.patch(torch.random, "manual_seed", lambda original: torch.manual_seed)
        self.session.around(random, "seed", after=told("random"))
        numpy = sys.modules.get("numpy")  # torch has imported it, where it is installed
        if numpy is not None and hasattr(numpy, "random"):
            self.session.around(numpy.random, "seed", after=told("numpy"))
            self.session.around(numpy.random, "default_rng", after=told("numpy generator"))
