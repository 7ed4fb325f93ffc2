"""Which workers of Ray's `premortem run` reaches, in front of a driver that calls `ray.init`.

    machines whose part of Ray this run has started     their workers are watched as children (`startup/children.py`)
    all others: the cluster ran before, or the          no process there learns of this run, which says so as soon as there
    machine has joined it from outside                  is a worker, and once more at its end

Ray is asked right after `ray.init`, right before `ray.shutdown`, once in a while in between, and at the end of the run.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from premortem.amounts import count
from premortem.ranks.descendants import Descendants
from premortem.startup.children import VARIABLE
from premortem.startup.import_hook import ImportHook

MODULE = "ray"
REASON = "this run has not started Ray there; premortem.integrations.ray watches workers from inside"
_PERIOD = 10.0  # seconds until a person hears of a machine that has joined; one question takes Ray 5 ms,
_PATIENCE = 5.0  # ... and a script is not kept waiting for an answer that does not come
_NAMED = 3  # machines in a sentence


class Worker(NamedTuple):
    """A process of Ray's."""

    name: bytes
    node: str
    alive: bool


class RayCluster:
    """Of one run, in the driver's process."""

    def __init__(self, descendants: Descendants, say: Callable[[str], None]) -> None:
        self._descendants = descendants
        self._say = say
        self._pid = os.getpid()
        self._hook = ImportHook(MODULE, self._arrived)
        self.used = False
        self._covers: list[tuple[Any, str, Any, Any]] = []
        self._own: set[str] = set()  # nodes that this run has started
        self._foreign: set[str] = set()  # all others
        self._unreached: dict[str, str] = {}  # those of them that had workers: the names of their machines
        self._gone: set[str] = set()  # nodes that have left: they get no more workers
        self._past: set[bytes] = set()  # workers that had ended before the script came to the cluster
        self._announced: set[str] = set()
        self._asking = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def wait(self) -> None:
        self._hook.wait()

    def leave(self) -> None:
        """The last question; Ray is as it was without us from here on."""
        self._hook.leave()
        self._over.set()
        if os.getpid() == self._pid:
            self.look()
        while self._covers:
            owner, name, original, cover = self._covers.pop()
            if getattr(owner, name) is cover:
                setattr(owner, name, original)

    def unreached(self) -> list[str]:
        """Machines with workers of Ray's that this run did not reach."""
        return list(self._unreached.values())

    # --- when it is asked -------------------------------------------------------------------

    def _arrived(self) -> None:
        package = sys.modules[MODULE]
        for name, cover in (("init", self._covered_init), ("shutdown", self._covered_shutdown)):
            original = getattr(package, name, None)
            if original is None:
                continue
            made = cover(original)
            # In the module that defines it too: pickled by name, it is found there.
            for owner in (package, sys.modules.get(getattr(original, "__module__", ""))):
                if owner is not None and getattr(owner, name, None) is original:
                    setattr(owner, name, made)
                    self._covers.append((owner, name, original, made))

    def _covered_init(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def init(*args: Any, **kwargs: Any) -> Any:
            context = original(*args, **kwargs)
            if self._here():
                self.used = True
                self.look(begun=True)
                self._begin_to_ask()
            return context

        return init

    def _covered_shutdown(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def shutdown(*args: Any, **kwargs: Any) -> Any:
            if self._here():
                self.look()
            return original(*args, **kwargs)

        return shutdown

    def _here(self) -> bool:
        return bool(self._covers) and os.getpid() == self._pid

    def _begin_to_ask(self) -> None:
        if self._thread is None and not self._over.is_set():
            self._thread = threading.Thread(target=self._ask_again, name="premortem-ray", daemon=True)
            self._thread.start()

    def _ask_again(self) -> None:
        while not self._over.wait(_PERIOD):
            self._look()

    # --- what it answers --------------------------------------------------------------------

    def look(self, *, begun: bool = False) -> None:
        """In a thread: a cluster that has died answers late. `begun`: the script has come to this cluster just now."""
        asking = threading.Thread(target=self._look, args=(begun,), name="premortem-ray", daemon=True)
        with suppress(RuntimeError):  # the interpreter is going down
            asking.start()
            asking.join(_PATIENCE)

    def _look(self, begun: bool = False) -> None:
        ray = sys.modules.get(MODULE)
        # Ray may be going down, in another thread even: what was known before is known still.
        with suppress(Exception), self._asking:
            if ray is None or not ray.is_initialized():
                return
            nodes = {str(each["NodeID"]): each for each in ray.nodes()}
            alive = {node for node, about in nodes.items() if about.get("Alive")}
            new = alive - self._own - self._foreign
            self._own |= _started_with(self._descendants.order, new)
            self._foreign |= alive - self._own
            for node in self._with_workers(
                nodes.keys() - self._own - self._unreached.keys() - self._gone, begun
            ):
                self._unreached[node] = _name(nodes[node])
            self._gone |= nodes.keys() - alive
            # If no machine of the cluster is this run's, that is worth a sentence before there is any worker.
            news = self._foreign & alive if begun and not self._own & alive else self._unreached.keys()
            self._announce({node: _name(nodes[node]) for node in news & nodes.keys()})

    def _with_workers(self, nodes: set[str], begun: bool) -> set[str]:
        """Those of them that have workers, or had some since the script came; all of them where Ray does not say."""
        if not nodes:
            return nodes
        workers = _workers()
        if workers is None:
            return nodes - self._gone
        if begun:
            self._past |= {each.name for each in workers if not each.alive}
        return nodes & {each.node for each in workers if each.name not in self._past}

    def _announce(self, machines: dict[str, str]) -> None:
        """Not where the script uses what reaches them."""
        new = sorted(machines.keys() - self._announced)
        if new and not self._descendants.from_inside:
            self._announced.update(new)
            names = [machines[node] for node in new]
            self._say(f"nothing that Ray's workers do on {_named(names)} is watched: {REASON}")


def gap(machines: list[str]) -> str:
    """What was not looked at there."""
    return f"what Ray's workers did on {_named(machines)}: {REASON}"


def _named(machines: list[str]) -> str:
    first, more = sorted(machines)[:_NAMED], len(machines) - _NAMED
    shown = [*first, *([count(more, "other machine")] if more > 0 else [])]
    return " and ".join(part for part in (", ".join(shown[:-1]), shown[-1]) if part)


def _name(node: dict[str, Any]) -> str:
    host, address = (str(node.get(key) or "") for key in ("NodeManagerHostname", "NodeManagerAddress"))
    return f"{host} ({address})" if host and host != address else address or str(node["NodeID"])


def _started_with(order: str, nodes: set[str]) -> set[str]:
    """Nodes with a process on this machine that was started with the order: Ray starts workers from there."""
    if not nodes:
        return set()
    import psutil  # Ray brings it

    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            words = process.cmdline()
            named = {node for node in nodes if any(node in word for word in words)}
            if named and process.environ().get(VARIABLE) == order:
                found |= named
    return found


def _workers() -> list[Worker] | None:
    """All that there are and were. Ray's public call for it needs its dashboard, which is not always there; None where this Ray
    keeps them in another way."""
    try:
        from ray._private.state import state
        from ray.core.generated import common_pb2, gcs_pb2

        rows = state._connect_and_get_accessor().get_worker_table()  # noqa: SLF001
        table = [gcs_pb2.WorkerTableData.FromString(row) for row in rows]
        return [
            Worker(each.worker_address.worker_id, each.worker_address.node_id.hex(), each.is_alive)
            for each in table
            if each.worker_type == common_pb2.WORKER
        ]
    except Exception:  # noqa: BLE001 - another version of Ray, or its client, which asks by way of a server
        return None
