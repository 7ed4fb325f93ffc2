"""Accelerate: `with watch(accelerator, model, optimizer):` around the loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from premortem.integrations.door import Door


@contextmanager
def watch(accelerator: Any, *objects: Any, **options: Any) -> Iterator[Door]:
    """`premortem.watch` that speaks on the main process only. Objects are given as `accelerator.prepare` returned them."""
    door = Door(**options)
    # What `prepare` puts around an optimizer passes each call on; the steps are made by the one inside.
    inner = [getattr(thing, "optimizer", thing) for thing in objects]
    door.open(*inner, speaks=accelerator.is_main_process)
    try:
        yield door
    except BaseException as error:
        door.close(error)
        raise
    finally:
        door.close()
