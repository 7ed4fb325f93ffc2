"""What can be different in a run of the user's script: one file for each thing that is changed.

    base.py      the contract, and what a change is for: it harms, it removes a failure of one step, it saves memory
                 or time, it makes a model learn
    reach.py     how it reaches into the script, through the points, and how all of it is undone
    edits.py     what would make it permanent in the user's source

`drill` uses those that harm, `replay` those for one step, `fit` those that save memory, `fit --speed` those that save
time, in the order of this list. To add one: write its file and add its name here.
"""

import importlib

from premortem.changes.base import Change, RunDescription

_FILES = """
    zero_grad stepping losses part_detached freezing ownership scheduler mode samples labels augmentation loss_terms
    precision fused channels_last autocast checkpointing compiling deterministic epsilon clipping rate
    weight_decay dropout activation target_shape inputs shuffling initialisation other_optimizers files
    batch_order batch_norm accumulation plain_optimizers split
""".split()
ALL: tuple[type[Change], ...] = tuple(
    thing
    for name in _FILES
    for thing in vars(importlib.import_module(f"premortem.changes.{name}")).values()
    if isinstance(thing, type) and issubclass(thing, Change) and "name" in vars(thing)
)
# Of two that do the same to different parts, only the better one is combined with the others.
RIVALS: tuple[frozenset[str], ...] = (frozenset({"compile", "compile-blocks"}),)


def of(role: str) -> dict[str, type[Change]]:
    """Those that are for something ("harm", "one_step", "memory", "time", "learning"), by their names there."""
    known = [(getattr(cls, role), cls) for cls in ALL]
    return {getattr(mine, "name", "") or cls.name: cls for mine, cls in known if mine is not None}


__all__ = ["ALL", "RIVALS", "Change", "RunDescription", "of"]
