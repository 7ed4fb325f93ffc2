"""Points: the places where torch is watched or changed. This room owns them all; everything else subscribes.

    F.cross_entropy(...)      the script calls what it thinks is torch's
      └─ switch               one per point: dressed as the original, leaves no frame in any traceback
           └─ layers          what subscribed, the outermost first: stages, changes, guard, probes
                └─ original   torch's own, with the arguments that the layers gave it

A layer is made by a function of the call that it goes around: `make(call)` returns what is called in its place. Layers
are ordered by `order`, then by when they came: a later one goes around an earlier one. Without layers the original is
back in its place, and while scripting looks at torch's source (`lifting.py`) all originals are.
"""

from premortem.points.disguise import caller, passes_on, unseen
from premortem.points.hooks import after_optimizer_steps, before_optimizer_steps
from premortem.points.point import OVER, UNDER, Subscriptions

__all__ = [
    "OVER",
    "UNDER",
    "Subscriptions",
    "after_optimizer_steps",
    "before_optimizer_steps",
    "caller",
    "passes_on",
    "unseen",
]
