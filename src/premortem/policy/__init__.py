"""Policies: finding in, decision out. Pure; the actions are somebody else's."""

from premortem.policy.base import Decision, Policy
from premortem.policy.observe import Observe
from premortem.policy.protect import Protect
from premortem.policy.strict import Strict

# To add a policy, write its file and add it here.
ALL: dict[str, type[Policy]] = {"protect": Protect, "observe": Observe, "strict": Strict}

__all__ = ["ALL", "Decision", "Observe", "Policy", "Protect", "Strict"]
