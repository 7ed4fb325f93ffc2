"""A change that is put on in the middle of the script: where the script holds what it would replace, it comes too late."""

import sys
from types import ModuleType
from typing import Any

from premortem.points import Subscriptions


class TooLate(Exception):  # noqa: N818 - what happened
    """The script holds the original already, so that replacing it in torch changes nothing."""


class LateSubscriptions(Subscriptions):
    """For changes that are put on in the middle of the script."""

    def replace(self, owner: Any, name: str, new: Any) -> None:
        if isinstance(owner, ModuleType) and _held(owner, getattr(owner, name)):
            raise TooLate(f"{owner.__name__}.{name}")
        super().replace(owner, name, new)


def _held(owner: ModuleType, thing: Any) -> bool:
    family = owner.__name__.partition(".")[0]
    return any(
        any(value is thing for value in list(getattr(module, "__dict__", {}).values()))
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] not in {family, "premortem"}
    )
