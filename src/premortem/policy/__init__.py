"""Policies: finding in, decision out. Pure; the actions are in `actions`."""

import difflib

from premortem.errors import UsageError
from premortem.policy.base import Decision, Policy
from premortem.policy.observe import Observe
from premortem.policy.protect import Protect
from premortem.policy.strict import Strict

# Findings at which a run is stopped while its weights are still worth keeping.
WEIGHTS_ARE_GOOD = frozenset({"refused-too-often"})

# Findings that end a run under every policy, because the user has asked for that.
ASKED_FOR = frozenset({"deadline-reached"})

# To add a policy, write its file and add it here.
ALL: dict[str, type[Policy]] = {"protect": Protect, "observe": Observe, "strict": Strict}


def by_name(name: str) -> Policy:
    if name not in ALL:
        near = difflib.get_close_matches(name, ALL, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(ALL)}"
        raise UsageError(f"there is no policy `{name}`; {hint}")
    return ALL[name]()


__all__ = [
    "ALL",
    "ASKED_FOR",
    "WEIGHTS_ARE_GOOD",
    "Decision",
    "Observe",
    "Policy",
    "Protect",
    "Strict",
    "by_name",
]
