"""Seeding of the global generators."""

import functools
import random
import sys
import zlib
from typing import Any

import torch

from premortem.events import Seeded
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session, user_site
from premortem.startup.import_hook import ImportHook

_MOST = 256


class Seeds:
    def __init__(self, session: Session, optimizers: Optimizers) -> None:
        self.session = session
        self.optimizers = optimizers
        self._places: set[tuple[int, int]] = set()  # seed, and how far its numbers had been drawn
        self._asking = False  # whether what comes between the next two steps draws from torch's generator
        self._first: int | None = None  # the generator after the first of them
        self._trained = False  # it does

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
                trained, rewound = self._trained, bool(note)
                self.session.emit(
                    Seeded(
                        step=self.session.step, at=at, seed=seed, rewound=rewound, trained=trained and rewound
                    )
                )
                self._asking, self._first, self._trained = self.session.step > 0, None, False
                if self._asking:
                    self.optimizers.soon.append(self._stepped)

        self.session.around(torch, "manual_seed", before=self._rewinds, after=seeded)
        self.session.around(random, "seed", after=told("random"))

        def arrived() -> None:
            random = sys.modules["numpy.random"]
            if self.session.on:
                self.session.around(random, "seed", after=told("numpy"))
                self.session.around(random, "default_rng", after=told("numpy generator"))

        self.optimizers.after_step.append(self._stepped)
        self.optimizers.told_only.add(self._stepped)  # a rested step asks by `soon`

        # numpy imports it when it is first used: asking for it would do that for a script that does not.
        self.hook = ImportHook("numpy.random", arrived)
        self.hook.wait()

    def _stepped(self, *step: Any) -> None:
        """After the first two steps since a seeding. What an evaluation draws comes before the first one, or after both."""
        if not self._asking:
            return
        now = zlib.crc32(torch.default_generator.get_state().numpy().tobytes())
        if self._first is None:
            self._first = now
            self.optimizers.soon.append(self._stepped)
        else:
            self._asking, self._trained = False, now != self._first

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
