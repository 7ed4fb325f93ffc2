"""The store of torch's own rendezvous, over a connection of our own.

A collective must be called by all ranks in the same order, or the run hangs. The store is there anyway: a rank writes what
it has to say, and whoever wants to know looks, whenever that suits it. What was written in an earlier attempt of an elastic
run lies under another prefix, which is torch's.
"""

import os
from collections import Counter
from datetime import timedelta
from typing import Any

_TIMEOUT = timedelta(seconds=5)  # of one operation
_used: Counter[str] = Counter()


def connect(prefix: str) -> Any:
    """None where the default group has no store that a second connection can be made to (`file://`, one in memory)."""
    dist, given = _default()
    store = given
    while isinstance(store, dist.PrefixStore):
        store = store.underlying_store
    if not isinstance(store, dist.TCPStore):
        return None
    if hasattr(given, "clone"):
        ours = given.clone()
        ours.set_timeout(_TIMEOUT)
    else:  # torch before 2.8
        ours = dist.TCPStore(store.host, store.port, None, False, _TIMEOUT, wait_for_workers=False)
    return dist.PrefixStore(_called(prefix), ours)


def afresh(prefix: str) -> str:
    """A prefix that this process has not had before: of two watched blocks in one process, the second must not read what the
    first wrote. All ranks come here equally often."""
    _used[prefix] += 1
    return f"{prefix}/{_used[prefix]}"


def connect_anyhow(prefix: str) -> Any:
    """For calls that do not wait: without a second connection, they use the first one."""
    dist, given = _default()
    return connect(prefix) or dist.PrefixStore(_called(prefix), given)


def _default() -> tuple[Any, Any]:
    import torch.distributed

    dist: Any = torch.distributed
    return dist, dist.distributed_c10d._get_default_store()  # noqa: SLF001 - torch has no other way to it


def _called(prefix: str) -> str:
    return f"premortem/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{prefix}"
