"""Many ranks: each takes a digest of itself at agreed steps; the first one lays them side by side.

Nothing of this runs, and nothing is wrapped around a step, until a process group is there.
"""

import sys
import time
import weakref
import zlib
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from statistics import median
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from premortem.amounts import length
from premortem.events import BESIDE, Digest, RanksSeen, ShuffleStarted, Site
from premortem.probes.clipping import Clipping
from premortem.probes.collectives import Collectives
from premortem.probes.loaders import Loaders
from premortem.probes.microscope_schedule import among_ranks
from premortem.probes.model_digests import Taken, chosen, comparable, hash_of, holders, state_of
from premortem.probes.model_registry import Model
from premortem.probes.modules import Models
from premortem.probes.optimizer_construction import number
from premortem.probes.optimizers import Optimizers
from premortem.probes.rank_exchange import Exchange
from premortem.probes.session import Session, fingerprint, user_site
from premortem.ranks.rendezvous import afresh, connect
from premortem.tensors.parts import NOT_LOOKED_AT, may_have_parts, parts_of
from premortem.tensors.sharding import is_shard

EVERY = 32  # steps
_AT_FIRST = frozenset({1, 2, 3, 4, 8, 16})
_HANGS = 3.0  # seconds without a step, after which the thread reports what the first rank has not reported
_FSDP = "torch.distributed.fsdp"
_AVERAGING = "torch.distributed.algorithms.model_averaging.averagers"


class RanksProbe:
    def __init__(
        self, session: Session, optimizers: Optimizers, models: Models, loaders: Loaders, clipping: Clipping
    ) -> None:
        self.session = session
        self.optimizers = optimizers
        self.models = models
        self.loaders = loaders
        self.clipping = clipping
        self.collectives = Collectives(session)
        self.exchange: Exchange | None = None
        self.step_seconds = 0.0  # of late
        self.say: Callable[[str], None] | None = None
        self.joined: list[Any] = []  # who must hear of every step once there are others
        self.gaps: dict[str, str] = {}  # what is not looked at, by the engine that keeps us from it
        self._shares: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
        self._groups = 0  # process groups that were seen so far
        self._wrappers: list[tuple[weakref.ref[Any], Site | None]] = []
        self._clear()

    def _clear(self) -> None:
        self._on_their_way: deque[tuple[int, int, Taken, dict[str, Any], list[tuple[int, int]]]] = deque()
        self._names: dict[int, list[str]] = {}
        self._turn = 0
        self._ended = time.monotonic()
        self._refused = self._backwards = 0
        self._batch: int | None = None
        self._drawn: int | None = None  # the loader that gave the last batch
        self._called: set[int] = set()  # id() of roots that ran with gradients since the last digest
        self._waited = self._went_back = 0.0  # seconds, in this step
        self._times: deque[tuple[float, float, float]] = deque(maxlen=EVERY)
        self._passes: dict[
            int, tuple[int, int]
        ] = {}  # loader -> steps at its first and last batch of this pass
        self._joined = False
        self._forwards = self._sharded_steps = 0  # of sharded models and their optimizers
        self._in_pieces: dict[int, bool] = {}  # optimizer -> whether it holds pieces

    def install(self) -> None:
        self.collectives.on_first = self._meet
        self.collectives.install()
        self.models.registry.on_birth.append(self._wrapped)
        self.session.around(DataLoader, "__iter__", before=self._pass_starts)
        self.loaders.on_batch.append(self._batch_drawn)
        self.optimizers.after_step.append(self._stepped)
        self.optimizers.told_only.add(self._stepped)  # until there are others

    def connection(self, name: str) -> Any:
        """A connection of our own to the store that all ranks share; None where there is none."""
        return connect(name)

    def tell(self, problem: str) -> None:
        """On the first rank: the others would say the same."""
        if self.say is not None and torch.distributed.get_rank() == 0:
            self.say(problem)

    # -- coming and going -----------------------------------------------------------------

    def _begin(self) -> Exchange:
        dist = torch.distributed
        self._clear()
        self._groups += 1
        self.exchange = exchange = Exchange(
            dist.get_rank(), dist.get_world_size(), afresh("ranks"), self.session.fault
        )
        exchange.each_look = self._each_look
        for listener in (self._stepped, *self.joined):
            self.optimizers.attend(listener)
        if self._groups == 1:
            self.models.on_given.append(self._given)
            self.session.around(
                torch.autograd, "backward", before=self._back, after=self._was_back, pieces=False
            )
            self.session.around(
                _BaseDataLoaderIter, "__next__", before=self._fetch, after=self._fetched, pieces=False
            )
            if hasattr(DistributedDataParallel, "_sync_buffers"):  # here, too, ranks wait for each other
                self.session.around(
                    DistributedDataParallel,
                    "_sync_buffers",
                    before=self._back,
                    after=self._synced,
                    pieces=False,
                )
            with suppress(ImportError):
                from torch.distributed.algorithms.join import Join

                self.session.around(Join, "__enter__", before=self._join)
        return exchange

    def close(self) -> None:
        """The run is over, or its process group is."""
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            with self.session.looking_at("ranks"):
                self._send(exchange, wait=True)
                exchange.each_look = None
                exchange.close()
                self._tell(exchange)

    # -- what happens in a step -----------------------------------------------------------

    def _wrapped(self, module: nn.Module) -> None:
        if not isinstance(module, DistributedDataParallel):
            return
        self._wrappers.append((weakref.ref(module), user_site()))
        self._meet()

    def _meet(self) -> None:
        if self.exchange is None and among_ranks() and torch.distributed.get_world_size() > 1:
            self._begin()

    def _given(self, model: Model, grad: bool, inputs: list[torch.Tensor]) -> None:
        module = model.module()
        if grad and module is not None and module.training:
            self._called.add(id(module))
            self._forwards += self.session.locally is not None and is_fully_sharded(module)
            if self._due(self.session.step + 1):
                self._batch = fingerprint(inputs)

    def _back(self, *args: Any, **kwargs: Any) -> float:
        if self._averages:
            self.collectives.goes_back()
        return time.monotonic()

    @property
    def _averages(self) -> bool:
        """Whether the backward pass that begins waits for the other ranks."""
        held = (reference() for reference, _ in self._wrappers)
        return any(wrapper is not None and wrapper.require_backward_grad_sync for wrapper in held)

    def _was_back(self, started: float, *args: Any, **kwargs: Any) -> None:
        self.collectives.is_back()
        self._backwards += 1
        self._went_back += time.monotonic() - started

    def _synced(self, started: float, *args: Any) -> None:
        self._went_back += time.monotonic() - started

    def _fetch(self, *args: Any) -> float:
        return time.monotonic()

    def _fetched(self, started: float, *args: Any) -> None:
        self._waited += time.monotonic() - started

    def _join(self, *args: Any) -> None:
        self._joined = self.collectives.off = True

    def _batch_drawn(self, loader: int, batch: Any, tensors: list[torch.Tensor]) -> None:
        self._drawn = loader
        first, _ = self._passes.get(loader, (self.session.step, 0))
        self._passes[loader] = (first, self.session.step)

    def _pass_starts(self, loader: DataLoader[Any]) -> None:
        sampler = loader.sampler
        if isinstance(sampler, DistributedSampler) and sampler.shuffle and sampler.num_replicas > 1:
            key = self.session.loaders.of(loader)
            first, last = self._passes.pop(key, (0, 0))
            self.session.emit(
                ShuffleStarted(
                    step=self.session.step,
                    at=user_site(),
                    loader=key,
                    epoch=sampler.epoch,
                    trained=last - first,
                )
            )

    # -- digests --------------------------------------------------------------------------

    def _due(self, step: int) -> bool:
        return step in _AT_FIRST or step % EVERY == 0

    def _stepped(self, optimizer: Any, track: Any, step: int) -> None:
        due = self._due(step)
        exchange = self.exchange
        if exchange is None:
            if not (due and among_ranks() and torch.distributed.get_world_size() > 1):
                return
            exchange = self._begin()
        now = time.monotonic()
        whole, self._ended = now - self._ended, now
        self._times.append((whole, self._waited, max(0.0, whole - self._waited - self._went_back)))
        self.step_seconds = whole
        self._waited = self._went_back = 0.0
        self._refused += self.optimizers.was_refused
        if self.session.locally is not None:
            self._sharded_steps += self._holds_pieces(optimizer, track.key)
        if due:
            if not among_ranks():
                self.close()
                return
            self._take(exchange, step)
        if self._on_their_way:
            self._send(exchange)
        if exchange.rounds:
            self._tell(exchange)

    def _holds_pieces(self, optimizer: Any, key: int) -> bool:
        if key not in self._in_pieces:
            self._in_pieces[key] = any(
                is_shard(p) for group in optimizer.param_groups for p in group["params"]
            )
        return self._in_pieces[key]

    def _take(self, exchange: Exchange, step: int) -> None:
        owned = [
            (p, optimizer)
            for track in self.optimizers.live()
            if (optimizer := track.optimizer()) is not None
            for group in optimizer.param_groups
            for p in group["params"]
        ]
        held = [p for p, _ in owned]
        sharded = any(is_shard(p) for p in held)
        owned = [each for each in owned if not self._has_shares(each[1]) and comparable(each[0])]
        parameters = [p for p, _ in owned]
        if not parameters and not sharded:
            return
        devices = {p.device for p in parameters}
        if len(devices) > 1:
            return  # a model in pieces: its ranks are no replicas
        picked = chosen(parameters, self._turn)
        keys = [(self.session.parameters.of(parameters[index]), index) for index in picked]
        states = [state_of(owned[index][1], parameters[index], self._turn) for index in picked]
        taken = Taken([parameters[index] for index in picked], states, self._turn)
        facts = self._facts(exchange, held, parameters)
        if sharded:
            facts["copies"] = [min(holders(parameters[index]), default=BESIDE) for index in picked]
        self._on_their_way.append((step, self._turn, taken, facts, keys))
        if step:  # what is compared before the first step is compared again after it
            self._turn += 1
        self._called.clear()
        self._batch = None
        self._times.clear()

    def _has_shares(self, optimizer: Any) -> bool:
        """Whether it holds this rank's share of flat parameters, in which other ranks have other values."""
        known = self._shares.get(optimizer)
        if known is None:
            kinds = {each.kind for each in parts_of(optimizer)} if may_have_parts() else set()
            for kind in kinds:
                self.gaps[kind] = NOT_LOOKED_AT[kind]
            known = self._shares[optimizer] = bool(kinds & {"FSDP1", "ZeRO"})
        return known

    def meets_pieces(self) -> None:
        """Parameters in pieces may come. Ordinary ones beside them are copies where they are equal before the first step, so
        there is a digest of that moment too."""
        self.models.before_forward.append(self._before_first)

    def _before_first(self) -> None:
        if not self.optimizers.live():
            return
        self.models.before_forward.remove(self._before_first)
        self._meet()
        if self.exchange is not None and not self.session.step:
            self._take(self.exchange, 0)

    def _facts(self, exchange: Exchange, held: list[Any], parameters: list[torch.Tensor]) -> dict[str, Any]:
        shapes = repr([(tuple(p.shape), str(p.dtype)) for p in parameters])
        times = list(self._times)[-EVERY:] or [(0.0, 0.0, 0.0)]
        facts = {
            "rank": exchange.rank,
            "signature": zlib.crc32(shapes.encode()),
            "rates": [
                number(group.get("lr"))
                for track in self.optimizers.live()
                if (optimizer := track.optimizer()) is not None
                for group in optimizer.param_groups
            ],
            "backwards": self._backwards,
            "clips": self.clipping.calls,
            "refused": self._refused,
            "batch": self._batch,
            "seconds": round(median(each[0] for each in times), 6),
            "waiting": round(median(each[1] for each in times), 6),
            "computing": round(median(each[2] for each in times), 6),
        }
        facts.update(self._position())
        facts.update(self._shares_out(held))
        for reference, site in self._wrappers:
            wrapper = reference()
            if wrapper is not None and hasattr(wrapper, "_module_parameters"):
                facts.update(self._wrapper(wrapper, site, held))
                break
        return facts

    def _shares_out(self, held: list[Any]) -> dict[str, Any]:
        """FSDP2 over one dimension: the ranks share out the batches. With more, some of them may be meant to see the
        same ones, as in tensor parallelism."""
        modules = [module for model in self.models.known.values() if (module := model.module()) is not None]
        meshes = {p.device_mesh for p in held if is_shard(p)}
        if len(meshes) != 1 or not any(map(is_fully_sharded, modules)):
            return {}
        (mesh,) = meshes
        if mesh.ndim > 1:
            return {}
        counts = {"forwards": self._forwards, "steps": self._sharded_steps}
        return {"group": mesh.mesh.flatten().tolist(), "called": True, **counts}

    def _position(self) -> dict[str, Any]:
        key = self._drawn
        epoch = self.loaders.last.get(key) if key is not None else None
        loader = self.session.loaders.object(key) if key is not None else None
        if key is None or epoch is None or loader is None:
            return {}
        return {
            "loader": [epoch.at.file, epoch.at.line] if epoch.at is not None else [],
            "passes": self.loaders.started.get(key, 0),
            "drawn": epoch.batches,
            "length": None
            if isinstance(loader.dataset, torch.utils.data.IterableDataset)
            else length(loader),
        }

    def _wrapper(self, wrapper: Any, site: Site | None, held: list[Any]) -> dict[str, Any]:
        module: nn.Module = wrapper.module
        inside = {id(p): name for name, p in module.named_parameters() if p.requires_grad}
        known = {id(p) for p in wrapper._module_parameters}
        trained = [p for p in held if p.requires_grad]
        covered = any(id(p) in inside or id(p) in known for p in trained)
        looks_alike = [tuple(p.shape) for p in trained] == [
            tuple(p.shape) for p in module.parameters() if p.requires_grad
        ]
        if not covered and not looks_alike:
            return {}
        hooks = getattr(wrapper, "_comm_hooks", [])
        known_to_it = wrapper._get_ddp_logging_data() if hasattr(wrapper, "_get_ddp_logging_data") else {}
        return {
            "group": torch.distributed.get_process_group_ranks(wrapper.process_group),
            "wrapped_at": [site.file, site.line] if site is not None else [],
            "called": id(wrapper) in self._called,
            "bare": id(module) in self._called,
            "replaced": [name for key, name in inside.items() if key not in known and _held(key, held)][:3],
            "stranger": not covered,
            "apart_on_purpose": bool(
                hooks or self._joined or not wrapper.require_backward_grad_sync or _AVERAGING in sys.modules
            ),
            "going_back": round(known_to_it.get("backward_compute_time", 0) / 1e9, 6),
            "measured": known_to_it.get("iteration", 0),
            "buffers": 0 if wrapper.broadcast_buffers else hash_of(list(module.buffers())),
        }

    def _send(self, exchange: Exchange, wait: bool = False) -> None:
        while self._on_their_way and (wait or self._on_their_way[0][2].arrived):
            step, turn, taken, facts, keys = self._on_their_way.popleft()
            exchange.tell(step, turn, {**facts, **taken.read()})
            if exchange.rank == 0:  # before the first forward pass they have no names yet
                named = self.models.registry.names()
                self._names[step] = [named.get(key, (f"parameter {index}", 0))[0] for key, index in keys]

    # -- on the first rank ----------------------------------------------------------------

    def _tell(self, exchange: Exchange) -> None:
        while exchange.rounds:
            try:
                step, digests = exchange.rounds.popleft()
            except IndexError:  # the thread was faster
                return
            names = self._names.pop(step, [])
            ranks = [Digest(**digest) for digest in digests]
            self.session.emit(RanksSeen(step=step, names=names, ranks=ranks))

    def _each_look(self, store: Any) -> None:
        """In the thread. When the first rank stands still, it will not tell by itself what is known."""
        exchange = self.exchange
        if exchange is not None:
            self.collectives.look(store, exchange.rank, exchange.world)
        if exchange is not None and exchange.rounds and time.monotonic() - self._ended > _HANGS:
            self._tell(exchange)


def is_fully_sharded(module: nn.Module) -> bool:
    """Whether its forward pass is one of all ranks (`fully_shard`)."""
    fsdp = getattr(sys.modules.get(_FSDP), "FSDPModule", None)
    return fsdp is not None and isinstance(module, fsdp)


def _held(key: int, held: list[Any]) -> bool:
    return any(id(p) == key for p in held)
