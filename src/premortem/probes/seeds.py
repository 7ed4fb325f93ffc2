"""Seeding of the global generators."""

from __future__ import annotations

import random
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

        self.session.around(torch, "manual_seed", after=told("torch"))
        self.session.around(random, "seed", after=told("random"))
