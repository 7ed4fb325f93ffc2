"""A loop of a test, watched."""

from premortem.run.watcher import Watcher


class Run:
    """What a watcher heard, and what it said."""

    def __init__(self, policy="protect"):
        self.events, self.faults = [], []
        self.watcher = Watcher(policy)
        self.watcher.attach()
        session, real = self.watcher._attachment.session, self.watcher.emit
        session._emit = lambda event: (self.events.append(event), real(event))
        session._fault = lambda unit, error: self.faults.append((unit, error))

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]
