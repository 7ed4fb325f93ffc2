"""torch's own global hooks around optimizer steps, registered so that no id of the user's hooks changes.

torch numbers all hooks of a process with one counter, and scripts can see the numbers. Ours count downwards from -1.
"""

import itertools
from collections.abc import Callable
from typing import Any

_IDS = itertools.count(-1, -1)


def before_optimizer_steps(hook: Callable[..., Any]) -> Callable[[], None]:
    """Call `hook(optimizer, args, kwargs)` before each step; returns what takes it off again."""
    from torch.optim import optimizer

    return _register(optimizer._global_optimizer_pre_hooks, hook)


def after_optimizer_steps(hook: Callable[..., Any]) -> Callable[[], None]:
    from torch.optim import optimizer

    return _register(optimizer._global_optimizer_post_hooks, hook)


def _register(hooks: dict[int, Any], hook: Callable[..., Any]) -> Callable[[], None]:
    key = next(_IDS)
    hooks[key] = hook
    return lambda: hooks.pop(key, None)
