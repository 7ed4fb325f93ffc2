"""Where findings go besides the terminal and the journal: experiment trackers, and people.

    --sink tensorboard:DIR | mlflow[:URI] | wandb     marks findings on the run
    --notify https://... | mailto:... | command       sends to a person

A sink is one file here and one line below. Sinks work on a thread of their own (`relay.py`): the run never waits for one.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from importlib import import_module

from premortem.errors import MissingExtra, UsageError
from premortem.sinks.base import Sink

# Name -> (module, class, what to install). To add one, write its file and add it here.
TRACKERS: dict[str, tuple[str, str, str]] = {
    "tensorboard": ("premortem.sinks.tensorboard", "TensorBoard", "tensorboard"),
    "mlflow": ("premortem.sinks.mlflow", "MLflow", "mlflow"),
    "wandb": ("premortem.sinks.wandb", "WandB", "wandb"),
}


def tracker(wish: str) -> Sink:
    """`NAME` or `NAME:WHERE`."""
    name, _colon, place = wish.partition(":")
    if name not in TRACKERS:
        near = difflib.get_close_matches(name, TRACKERS, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(TRACKERS)}"
        raise UsageError(f"there is no sink `{name}`; {hint}")
    module, kind, extra = TRACKERS[name]
    try:
        sink: Sink = getattr(import_module(module), kind)(place)
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("premortem"):
            raise
        raise MissingExtra(f"the sink `{name}`", extra) from None
    return sink


def notifier(target: str) -> Sink:
    """By what it looks like: a URL, an address, else a command."""
    if target.startswith(("http://", "https://")):
        from premortem.sinks.webhook import Webhook

        return Webhook(target)
    if target.startswith("mailto:"):
        from premortem.sinks.mail import Mail

        return Mail(target)
    if "://" in target.partition(" ")[0]:
        raise UsageError(
            f"`--notify` takes https://, mailto: or a command, not {target.partition(':')[0]}://"
        )
    from premortem.sinks.command import Command

    return Command(target)


def chosen(sinks: Sequence[str], notify: Sequence[str]) -> list[Sink]:
    """All that were asked for. Of several processes of one training, the first one speaks."""
    if os.environ.get("RANK", "0") != "0":
        return []
    return [*map(tracker, sinks), *map(notifier, notify)]
