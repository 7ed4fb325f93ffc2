"""What only trials can report."""

from __future__ import annotations

from premortem.cards import Card
from premortem.findings import Severity


class LearnsWithOneChange:
    """With one thing changed, the script learns. As it is, it does not, or far less.

    `premortem why` ran the script as it is under several seeds, and again with one thing changed. The result is better by
    more than the seeds differ, and again under another seed. No other finding has a name for what was changed: the message
    says what it was, what the result was before and after, and what to do.
    """

    card = Card("PM370", "learns-with-one-change", "config", Severity.ERROR)


ALL = (LearnsWithOneChange,)
