"""Seeding of the global generators."""

import functools
import random
import sys
import zlib
from typing import Any

import torch

from premortem.events import Seeded
from premortem.probes.session import Session, user_site
from premortem.startup.import_hook import ImportHook

_MOST = 256


class Seeds:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._places: set[tuple[int, int]] = set()  # seed, and how far its numbers had been drawn

    def install(self) -> None:
        def told(library: str) -> Any:
            def after(note: Any, result: Any, seed: Any = None, *args: Any, **kwargs: Any) -> None:
                if isinstance(seed, int):
                    self.session.emit(
                        Seeded(step=self.session.step, at=user_site(), seed=seed, library=library)
                    )

            return after

        def seeded(note: bool, result: Any, seed: Any = None, *args: Any, **kwargs: Any) -> None:
            if isinstance(seed, int):
                at = user_site()
                self.session.emit(Seeded(step=self.session.step, at=at, seed=seed, rewound=bool(note)))

        self.session.around(torch, "manual_seed", before=self._rewinds, after=seeded)
        self.session.around(random, "seed", after=told("random"))

        def arrived() -> None:
            random = sys.modules["numpy.random"]
            if self.session.on:
                self.session.around(random, "seed", after=told("numpy"))
                self.session.around(random, "default_rng", after=told("numpy generator"))

        # numpy imports it when it is first used: asking for it would do that for a script that does not.
        self.hook = ImportHook("numpy.random", arrived)
        self.hook.wait()

    def _rewinds(self, seed: Any = None, *args: Any, **kwargs: Any) -> bool:
        """Whether torch's generator, about to be seeded, stands where it stood at an earlier seeding.

        It must run on this very seed, and have been drawn from. A state that is put back afterwards (`fork_rng`) moves on
        from one time to the next."""
        if not isinstance(seed, int):
            return False
        places: list[tuple[int, int]] = []
        here = torch.default_generator
        if here.initial_seed() == seed:
            state = here.get_state()
            if not torch.equal(state, _start(seed)):
                places.append((seed, zlib.crc32(state.numpy().tobytes())))
        if torch.cuda.is_initialized():
            drawn = [each for each in torch.cuda.default_generators if each.initial_seed() == seed]
            places += [(seed, each.get_offset()) for each in drawn if each.get_offset()]
        met = not self._places.isdisjoint(places)
        if len(self._places) < _MOST:
            self._places.update(places)
        return met


@functools.lru_cache(maxsize=16)
def _start(seed: int) -> torch.Tensor:
    return torch.Generator().manual_seed(seed).get_state()
