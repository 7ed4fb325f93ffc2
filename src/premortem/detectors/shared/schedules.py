"""The rate that one scheduler has given so far, as the detectors of schedules follow it."""

from __future__ import annotations

from dataclasses import dataclass

from premortem.events import SchedulerStep, Site


@dataclass
class Schedule:
    kind: str
    optimizer: int
    horizon: int | None
    at: Site | None = None  # the last call
    explicit: bool = False  # it was given the epoch by the script
    calls: int = 0
    position: int = 0
    rate: float = 0.0
    peak: float = 0.0

    def step(self, event: SchedulerStep) -> None:
        self.calls = max(self.calls + 1, event.count)  # those that were not reported count as well
        self.at, self.horizon, self.position = event.at, event.horizon, event.position
        self.explicit = self.explicit or event.explicit
        self.rate = event.after
        self.peak = max(self.peak, event.before, event.after)
