"""Why the names in a state dict are not those of the model: a prefix, a wrapper in the middle, or one level too high."""

from collections.abc import Collection, Mapping
from typing import Any

_PREFIXES = ("module.", "_orig_mod.", "model.", "net.", "network.", "backbone.", "encoder.", "state_dict.")
# Wrappers put these before the names of what they wrap, also in the middle of a path.
_WRAPPERS = (
    "_orig_mod.",
    "module.",
    "_fsdp_wrapped_module.",
    "_forward_module.",
    "_checkpoint_wrapped_module.",
)
_DEEPEST = 3  # "model.module._orig_mod."
_MOST_ENTRIES = 64


def best_prefix(own: Collection[str], unexpected: tuple[str, ...]) -> tuple[str, int]:
    """What makes most of the unexpected keys fit, and how many: "-p" drops the prefix p, "+p" puts it before them,
    "~w" takes the wrapper's w out wherever it stands."""
    best, most = "", 0
    heads = dict.fromkeys((*_PREFIXES, *heads_of(unexpected)))
    for head in heads:
        dropped = sum(name.startswith(head) and name[len(head) :] in own for name in unexpected)
        if dropped > most:
            best, most = f"-{head}", dropped
    for head in dict.fromkeys((*_PREFIXES, *heads_of(own))):
        added = sum(head + name in own for name in unexpected)
        if added > most:
            best, most = f"+{head}", added
    for wrapper in _WRAPPERS:
        cut = sum(wrapper in name and name.replace(wrapper, "") in own for name in unexpected)
        if cut > most:
            best, most = f"~{wrapper}", cut
    return best, most


def heads_of(names: Collection[str]) -> dict[str, None]:
    """The prefixes of these names, of up to three parts, in the order they come."""
    found: dict[str, None] = {}
    for name in names:
        parts = name.split(".")
        for length in range(1, min(_DEEPEST, len(parts) - 1) + 1):
            found[".".join(parts[:length]) + "."] = None
    return found


def fitting_entry(own: Collection[str], state: Mapping[str, Any], least: int) -> str:
    """The entry of `state` that is itself a state dict of which more than `least` keys fit."""
    best, most = "", least
    for key, value in list(state.items())[:_MOST_ENTRIES]:
        if isinstance(value, Mapping):
            fits = sum(name in own for name in value)
            if fits > most:
                best, most = str(key), fits
    return best
