"""Recorded events as the watcher hears them: what is derived comes right after the event that makes it certain."""

from premortem.derived.failures import Failures
from premortem.derived.windows import Windows


def with_windows(events):
    return _with(Windows(), events)


def with_failures(events):
    return _with(Failures(), events)


def _with(derived, events):
    for event in events:
        yield event
        yield from derived.observe(event)
