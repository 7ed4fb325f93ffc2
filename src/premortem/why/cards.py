"""What only trials can report."""

from premortem.cards import Card
from premortem.findings import Severity


class LearnsWithOneChange:
    """With one thing changed, the script learns. As it is, it does not, or far less.

    `premortem why` ran the script as it is under several seeds, and again with one thing changed. The result is better by
    more than the seeds differ, and again under another seed. No other finding has a name for what was changed: the message
    says what it was, what the result was before and after, and what to do.
    """

    card = Card("PM370", "learns-with-one-change", "config", Severity.ERROR)


class LabelsSayNothing:
    """The model learns as much from labels that were shuffled as from its own. It can memorise one batch.

    `premortem why` ran the script with one batch again and again, which it memorised: model, loss and update work. Over all the
    data it does not learn, and labels that belong to other samples make it no worse. So either labels and inputs do
    not belong together (sorted or shuffled apart from each other, off by one, the wrong column), or the model ignores
    its inputs, or these steps are too few to tell. Look at a few samples together with their labels, after all that the
    script does to them.
    """

    card = Card("PM371", "labels-say-nothing", "data-labels", Severity.WARNING)


ALL = (LearnsWithOneChange, LabelsSayNothing)
