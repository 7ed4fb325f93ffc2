"""What flows into models: rows, columns and targets, in training and in evaluation, within a budget of time.

A batch becomes rows of a sample when it is known what became of it: those of a training forward when the step was made,
those of an evaluation at once. The profile is emitted when enough came, after evaluations, and at the end.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils.data import SequentialSampler
from torch.utils.data.dataloader import _InfiniteConstantSampler

from premortem.amounts import length
from premortem.events import DataProfiled
from premortem.files.syntax import numbers_asked
from premortem.probes.files_read import FileReading, user_files
from premortem.probes.label_information import Pairs
from premortem.probes.loaders import Loaders
from premortem.probes.losses import Losses
from premortem.probes.model_registry import Model
from premortem.probes.modules import Models
from premortem.probes.rows import Holder, holders, is_mask, labels_of, laid, partner, place_in, rows_of
from premortem.probes.sample_versions import SampleVersions
from premortem.probes.session import Session, fingerprint, user_name
from premortem.probes.source import tree_of
from premortem.profile.alone import TARGET, summarise
from premortem.profile.arrays import IGNORED, Rows, put
from premortem.profile.between import along, odd_source, overlap
from premortem.profile.facts import Overlap, Profile, Unrelated
from premortem.profile.joint import unrelated
from premortem.profile.sample import Sample

_FREE = 0.15  # seconds of this thread that a profile may take in any run,
_SHARE = 0.005  # and this share of the time that the run takes,
_TRAINING = 0.6  # of which training may use so much: an evaluation comes after it, and is to be seen too,
_BEFORE = 0.4  # and an evaluation that comes before it so much
_BESIDE = 3  # tensors beside the first input
_LOOKS = 4  # for the variable that batches are cut from
_FIRST = 512  # rows of training, after which it is emitted for the first time
_MOST_STREAMS = 12
_FOLLOWED = 64  # rows, and numbers of each
_LIKE_BEFORE = 0.5  # correlation of rows with those of the call before, beyond what all rows have in common: other samples have none
_FED_BACK = 3  # times
_SELDOM = 4  # steps for each evaluation, at least
_AGAIN = 0.7  # of the rows that came had come before
_HELD = 64  # batches of one step that is not made yet
_MOST_READ = 32  # of the script's own files
_TOLD = 6  # times before the end
_ROUNDS = 4  # passes over a training set, after which it is emitted once: drawn at random, one row in fifty is missing then


class Stream:
    """One loader, or what one model is given directly, in one phase."""

    def __init__(self, name: str, model: int, training: bool, rows: Rows) -> None:
        self.name = name
        self.model = model
        self.training = training
        self.sample = Sample(rows.names)
        self.kind, self.names, self.dtype = rows.kind, rows.names, rows.dtype
        self.origins: set[Any] = set()  # the memory or the dataset that its rows come from
        self.indices: frozenset[int] | None = None  # of a part of that dataset
        self.length: int | None = None
        self.total: int | None = None
        self.from_loader = False
        self.looks = 0
        self.last_look = -1
        self.seen: set[tuple[int, int, int | None]] = (
            set()
        )  # memory and content that could be a whole set, or one batch of it
        self.visits = 0  # evaluations
        self.whole = False  # it was emitted after it had come several times over
        self.last_step = -1
        self.largest = 0  # rows of the largest evaluation
        self.current = 0
        self.quiet = True  # the model was in eval mode
        self.shuffled = False
        self.file = ""  # that its rows are read from, where that shows
        self.laid: Counter[str] = Counter()  # ways in which masks lie on their pictures
        self.laid_looks = 0
        self.fitting = (0, 0)  # masks that say more of their own picture than another one does, and all
        self.versions = SampleVersions()
        self.labels = TARGET  # what they are called
        self.before: torch.Tensor | None = None  # some of the rows that were given last, in the same step
        self.fed_back = 0  # times in which the rows were those of the call before, changed a little: samples that are being drawn
        self.main: Stream | None = None  # of what comes beside the first input: the stream of that
        self.beside = ""

    def judges(self, steps: int) -> bool:
        """Whether it is an evaluation, and not a part of each step (a target network, a policy that acts, pseudo-labels):
        now and then in eval mode, or on the same rows each time."""
        if self.main is not None:
            return self.main.judges(steps)
        if self.fed_back >= _FED_BACK:
            return False
        again = self.sample.repeated / max(1, self.sample.rows)
        return again > _AGAIN or (_SELDOM * self.visits <= steps and (self.quiet or again > 0.4))

    def follow(self, seen: torch.Tensor, step: int) -> None:
        """Rows that are given without a loader: are they the last ones, changed by what the model makes of them?"""
        some = seen[:_FOLLOWED].detach().reshape(min(len(seen), _FOLLOWED), -1)[:, :_FOLLOWED].double()
        before, self.before = self.before if step == self.last_step else None, some
        if (
            before is not None
            and before.shape == some.shape
            and len(some) > 1
            and not torch.equal(before, some)
        ):
            one, two = before - before.mean(0), some - some.mean(0)
            both = float((one * two).sum())
            self.fed_back += both > _LIKE_BEFORE * float(one.norm() * two.norm())

    def add(
        self, rows: Rows, labels: tuple[list[float], bool] | None, step: int, sources: Sequence[str] = ()
    ) -> None:
        if rows.names != self.names or rows.kind != self.kind:
            return
        if not self.training:
            if step != self.last_step:
                self.visits += 1
                self.current = 0
            self.current += rows.total
            self.largest = max(self.largest, self.current)
        self.last_step = step
        put(self.sample, rows, labels[0] if labels else None, self.sample.rows, sources)
        if labels and labels[1]:
            self.sample.count(f"{value:g}" for value in labels[0] if value != IGNORED)

    @property
    def came_often(self) -> bool:
        return 0 < _ROUNDS * (self.length or 0) <= self.sample.rows

    def sources(self, opened: list[str], rows: int) -> list[str]:
        """The file of each row: one was opened for each, or one that holds many and is read from until the next is opened."""
        if opened and len(opened) % rows == 0:
            return opened[:: len(opened) // rows]
        if opened:
            self.file = opened[-1]
        return [self.file] * rows

    def profile(self, steps: int) -> Profile:
        judged = "evaluation" if self.judges(steps) else "step"
        return summarise(
            self.sample,
            self.name,
            phase="training" if self.training else judged,
            kind=self.kind,
            model=self.model,
            dtype=self.dtype,
            length=self.length if self.training or self.from_loader else self.largest,
            total=self.total,
            passes=max(1, self.visits),
            drift=tuple(along(self.sample, self.kind)) if self.training and not self.shuffled else (),
            odd=odd_source(self.sample, self.kind) if self.training else None,
            laid=tuple(self.laid.items()),
            fitting=self.fitting,
            versions=self.versions.told(),
            beside=self.beside,
            labels=self.labels,
            is_made=not self.from_loader and not self.origins,
        )


def without_known(profile: Profile) -> Profile:
    """Without placeholders that the script asks its data for: it knows them, and may mask them out."""
    if not profile.placeholders:
        return profile
    known = {number for file in user_files()[:_MOST_READ] for number in numbers_asked(tree_of(file))}
    return profile._replace(placeholders=tuple(p for p in profile.placeholders if p.value not in known))


class Look(NamedTuple):
    """What one forward was given. It is kept once it is known what became of it."""

    stream: Stream
    rows: Rows
    labels: tuple[list[float], bool] | None
    step: int
    sources: Sequence[str]
    beside: Sequence[tuple[Stream, Rows]]

    def keep(self) -> None:
        self.stream.add(self.rows, self.labels, self.step, self.sources)
        for stream, rows in self.beside:
            stream.add(rows, self.labels if stream.beside == "input" else None, self.step, self.sources)


class Inflow:
    def __init__(
        self,
        session: Session,
        models: Models,
        loaders: Loaders,
        losses: Losses,
        pairs: Pairs,
        reading: FileReading,
    ) -> None:
        self.session = session
        self.pairs = pairs
        self.reading = reading
        self.models = models
        self.loaders = loaders
        self.losses = losses
        self._began = time.perf_counter()
        self._spent = {True: 0.0, False: 0.0}  # seconds: on training, and on evaluations
        self._streams: dict[tuple[Any, bool], Stream] = {}
        self._left_out: set[int] = set()  # models that were trained on other samples too
        # Drawn, and not seen in a model yet: loader, tensors, name, the files that were opened for it, and all of it.
        self._batch: tuple[int, list[torch.Tensor], str, list[str], Any] | None = None
        self._loader: int | None = None  # that was drawn from last
        self._open: Look | None = None  # its target may still come
        self._held: list[Look] = []  # of training forwards whose step was not made yet
        self._largest = 0  # rows of a batch in training
        self._told = 0
        self._over = False
        self._next = _FIRST

    def install(self) -> None:
        self.loaders.on_batch.append(self._drawn)
        self.models.on_call.append(self._called)
        self.losses.on_target.append(self._compared)

    # -- what happens ---------------------------------------------------------------------

    def _drawn(self, loader: int, batch: Any, tensors: list[torch.Tensor]) -> None:
        if self.session.resting or self._broke(training=False):
            self._loader = None
            return
        if loader != self._loader:
            self.reading.since()
        known = (loader, True) in self._streams or (loader, False) in self._streams
        name = "" if known else self._name(loader)
        self._batch = (loader, tensors, name, self.reading.since() if loader == self._loader else [], batch)
        self._loader = loader

    def _called(self, model: Model, grad: bool, inputs: list[torch.Tensor]) -> None:
        batch, self._batch = self._batch, None
        broke = self.session.resting or self._broke(training=grad)
        if broke and (self._open is None or self._open.stream.training):
            self._open = None
            return
        began = time.thread_time()
        try:
            self._close()  # the last look at an evaluation is kept, whatever comes after it
            if broke:
                return
            module = model.module()
            if module is None or not inputs or (grad and not module.training):
                return
            self._look(model, grad, inputs, batch)
        finally:
            self._spent[grad and not broke] += time.thread_time() - began

    def _look(self, model: Model, grad: bool, inputs: list[torch.Tensor], batch: Any) -> None:
        first = inputs[0]
        if self.models.graphs.source([first]) is not None:
            return
        if first.requires_grad:  # the points at which an equation is to hold
            if grad:
                self._left_out.add(model.key)
            return
        seen = first
        if first.device.type != "cpu" and batch is not None:
            seen = next((t for t in batch[1] if t.shape == first.shape), first)
        rows = rows_of(seen)
        if rows is None:
            return
        stream = self._stream(model, grad, batch, rows, seen)
        module = model.module()
        if stream is None or module is None:
            return
        stream.quiet = stream.quiet and not module.training
        labels = None
        beside: list[tuple[Stream, Rows]] = []
        if batch is not None:
            self._lay(stream, seen, batch[1])
            others = [t for t in batch[1] if t is not seen and t.dim() and t.shape[0] == rows.total]
            # What the model is given besides is no label, unless a loss says so: the graph to which a node belongs, a condition.
            asked = [t for t in others[::-1] if not any(t is given for given in inputs[1:])]
            found = [(t, made) for t in asked if (made := labels_of(t, rows.total)) is not None]
            labels = found[0][1] if len(found) == 1 else None
            if labels is not None and not grad and len(inputs) == 1:
                self.pairs.judged(model.key, seen, found[0][0])
            self._compare_versions(stream, seen, labels)
            known = found[0][0] if labels is not None else None
            beside = self._beside(stream, batch, [t for t in others if t is not known], inputs[1:])
        elif not grad and len(inputs) == 1 and (wanted := self._labels_beside(stream, seen)) is not None:
            labels = labels_of(wanted, rows.total) if wanted.numel() == len(wanted) else None
            if labels is not None:
                self.pairs.judged(model.key, seen, wanted)
            else:
                beside = self._wanted_beside(stream, wanted)
        if not grad and labels is not None and set(labels[0]) == {IGNORED}:
            return  # rows without labels: they are guessed, and not judged
        if batch is None and not grad and seen.is_floating_point() and seen.device.type == "cpu":
            stream.follow(seen, self.session.step)
        sources = stream.sources(batch[3], rows.total) if batch is not None else ()
        self._open = Look(stream, rows, labels, self.session.step, sources, beside)

    def _labels_beside(self, stream: Stream, seen: torch.Tensor) -> torch.Tensor | None:
        """Of a set that is judged as it lies in a variable. Asked for in the first evaluation: afterwards the answers lie there too."""
        if stream.visits > 1 or (stream.visits and stream.last_step != self.session.step):
            return None
        found = partner(seen)
        return found[0][found[1] : found[1] + len(seen)] if found is not None else None

    def _wanted_beside(self, main: Stream, wanted: torch.Tensor) -> list[tuple[Stream, Rows]]:
        """Targets of several numbers, of a set that is judged as it lies in a variable: under the name that they have in training."""
        for trained in [s for s in self._streams.values() if s.training and s.beside == "target"]:
            called = trained.name.rpartition(", ")[2]
            rows = rows_of(wanted, called) if trained.model == main.model else None
            if rows is None or rows.names != trained.names:
                continue
            key = ((main.name, called), False)
            if key not in self._streams:
                if len(self._streams) >= _MOST_STREAMS:
                    return []
                stream = self._streams[key] = Stream(f"{main.name}, {called}", main.model, False, rows)
                stream.main, stream.beside = main, "target"
            return [(self._streams[key], rows)]
        return []

    def _beside(
        self, main: Stream, batch: Any, others: list[torch.Tensor], given: list[torch.Tensor]
    ) -> list[tuple[Stream, Rows]]:
        """What the loader handed out with the first input, and is no label: other inputs, targets of several numbers, weights."""
        found = []
        for at, tensor in enumerate(others[:_BESIDE]):
            key = ((batch[0], at), main.training)
            stream = self._streams.get(key)
            called = stream.name.rpartition(", ")[2] if stream is not None else place_in(batch[4], tensor)
            rows = rows_of(tensor if tensor.dim() > 1 else tensor[:, None], called)
            if rows is None or not called:
                continue
            if stream is None:
                if len(self._streams) >= _MOST_STREAMS:
                    break
                stream = Stream(f"{main.name}, {called}", main.model, main.training, rows)
                is_input = any(t is tensor or t.shape == tensor.shape for t in given)
                stream.main, stream.beside = main, "input" if is_input else "target"
                stream.length, stream.shuffled, stream.from_loader = main.length, main.shuffled, True
                self._streams[key] = stream
            found.append((stream, rows))
        return found

    def _lay(self, stream: Stream, seen: torch.Tensor, tensors: list[torch.Tensor]) -> None:
        """Masks on their pictures, of the first batches."""
        if stream.laid_looks < _LOOKS and seen.dim() == 4:
            masks = [t for t in tensors if t is not seen and is_mask(t, seen)]
            if len(masks) == 1:
                stream.laid_looks += 1
                ways, (better, of) = laid(seen, masks[0])
                stream.laid.update(ways)
                stream.fitting = stream.fitting[0] + better, stream.fitting[1] + of

    def _compare_versions(
        self, stream: Stream, seen: torch.Tensor, labels: tuple[list[float], bool] | None
    ) -> None:
        drawn = self.session.batch
        if stream.kind != "tokens" and drawn is not None and len(drawn) == len(seen):
            samples = drawn.samples()
            if samples is not None:
                stream.versions.look(samples.indices, seen, labels[0] if labels else None)

    def _compared(self, target: torch.Tensor) -> None:
        """A loss was given this target: that of the forward before."""
        look = self._open
        if look is not None and look.labels is None:
            labels = labels_of(target, look.rows.total)
            if labels is not None:
                look.stream.labels = f"{TARGET} of the loss"
                self._open = look._replace(labels=labels)

    def _close(self) -> None:
        """What the last forward was given is known, and perhaps whether a step was made of it."""
        item, self._open = self._open, None
        step = self.session.step
        if self._held and self._held[-1].step < step:
            last = self._held[-1].stream
            for held in self._held:
                if held.stream is last:
                    held.keep()
            self._held.clear()
            self._tell_if_due()
        if item is None:
            return
        if not item.stream.training:
            item.keep()
        elif item.step < step:
            item.keep()
            self._tell_if_due()
        elif len(self._held) < _HELD:
            self._held.append(item)

    # -- who is it ------------------------------------------------------------------------

    def _stream(self, model: Model, grad: bool, batch: Any, rows: Rows, seen: torch.Tensor) -> Stream | None:
        key = (batch[0] if batch is not None else (model.key, rows.names), grad)
        stream = self._streams.get(key)
        if stream is None:
            if len(self._streams) >= _MOST_STREAMS:
                return None
            stream = self._streams[key] = Stream("", model.key, grad, rows)
            if batch is not None:
                self._introduce(stream, batch[0])
                stream.name = batch[2]
                if any(other.name == stream.name for other in self._streams.values() if other is not stream):
                    stream.name += " of the training" if grad else " of the evaluation"
            stream.name = stream.name or f"the input of {model.name}"
        if grad:
            self._largest = max(self._largest, len(seen))
        again = stream.last_look == self.session.step
        if batch is None and stream.looks < _LOOKS and (grad or not again):
            stream.looks += 1
            stream.last_look = self.session.step
            found = self._whole_set(seen, stream)
            if found is not None:
                stream.origins.add(found.memory)
                if not again:  # a second set in a step (rows without labels, another domain) is one more that is trained on
                    stream.name, stream.length = f"`{found.name}`", found.rows
        return stream

    def _whole_set(self, seen: torch.Tensor, stream: Stream) -> Holder | None:
        """What the rows come from. A batch has a name too: what is many batches large, or comes again at a later step, is a
        whole set by itself."""
        own, larger = holders(seen)
        if own is None:
            return larger
        mark = (own.memory, own.rows, fingerprint([seen]))  # a later batch may lie where an earlier one was
        known = (
            mark[2] is not None and mark in stream.seen
        )  # one number may be made anew, where the last one lay
        stream.seen.add(mark)
        if own.rows > len(seen) or known or 0 < 4 * self._largest <= len(seen):
            return own
        return larger

    def _introduce(self, stream: Stream, key: int) -> None:
        stream.from_loader = True
        loader = self.session.loaders.object(key)
        # What a sampler draws comes in no order; of an iterable dataset, and of a sequential one, it is that of the files.
        stream.shuffled = not isinstance(
            getattr(loader, "sampler", None), (SequentialSampler, _InfiniteConstantSampler)
        )
        dataset = getattr(loader, "dataset", None)
        stream.length = length(dataset) if dataset is not None else None
        while dataset is not None and getattr(dataset, "dataset", None) is not None:
            indices = getattr(dataset, "indices", None)
            if stream.indices is None and indices is not None and (length(indices) or 0) <= 1 << 22:
                stream.indices = frozenset(int(i) for i in indices)
            dataset = dataset.dataset
            stream.total = length(dataset)
        stream.origins.add(id(dataset))

    def _name(self, key: int) -> str:
        loader = self.session.loaders.object(key)
        name = user_name(loader) if loader is not None else None
        return f"`{name}`" if name else f"loader {key}"

    # -- telling --------------------------------------------------------------------------

    def _broke(self, *, training: bool) -> bool:
        """The time for it is spent, for now. What training took beyond its part (one summary may take as long as all looks before it)
        is not taken from the evaluation."""
        budget = _FREE + _SHARE * (time.perf_counter() - self._began)
        trained, judged = self._spent[True], self._spent[False]
        if training:
            return trained + judged > _TRAINING * budget
        part = 1.0 if self.session.step else _BEFORE
        return judged + min(trained, _TRAINING * budget) > part * budget

    def _tell_if_due(self) -> None:
        streams = [stream for stream in self._streams.values() if stream.main is None]
        trained = sum(stream.sample.rows for stream in streams if stream.training)
        judged = sum(stream.visits for stream in streams if not stream.training)
        whole = [s for s in streams if s.training and not s.whole and s.came_often]
        if self._told < _TOLD and (
            trained >= self._next or whole or (judged and self._told < 2 and trained >= _FIRST // 8)
        ):
            for stream in whole:
                stream.whole = True
            self._next = 8 * max(trained, self._next)
            self._told += 1
            self.tell()

    def drain(self) -> None:
        if self._open is not None or self._held:
            self._close()
        if self._streams and not self._over:
            self._over = True
            self.tell()

    def tell(self) -> None:
        streams = [stream for stream in self._streams.values() if stream.sample.rows]
        if streams:
            self.session.emit(
                DataProfiled(
                    step=self.session.step,
                    profiles=tuple(
                        without_known(stream.profile(self.session.step))._replace(
                            is_part=stream.model in self._left_out
                        )
                        for stream in streams
                    ),
                    overlaps=tuple(self._overlaps(streams)),
                    relations=tuple(self._relations(streams)),
                )
            )

    def _relations(self, streams: list[Stream]) -> Iterator[tuple[str, str, Unrelated]]:
        for trained in (s for s in streams if s.training and s.main is None and s.kind == "table"):
            for judged in streams:
                if judged.training or judged.main is not None or judged.model != trained.model:
                    continue
                if judged.kind == "table" and judged.judges(self.session.step):
                    found = unrelated(trained.sample, judged.sample)
                    if found is not None:
                        yield trained.name, judged.name, found

    def _overlaps(self, streams: list[Stream]) -> list[Overlap]:
        found = []
        for judged in streams:
            for trained in streams:
                if judged.training or not trained.training or judged.names != trained.names:
                    continue
                if judged.main is not None or trained.main is not None:
                    continue
                if judged.model != trained.model:
                    continue
                if not judged.judges(self.session.step) or (
                    judged.kind == "tokens" and not judged.from_loader
                ):
                    continue
                if not judged.from_loader and judged.largest > (judged.length or judged.largest):
                    continue  # several sets in one evaluation: queries, and what they are looked up in
                if apart(judged, trained) and (
                    both := overlap(trained.sample, judged.sample, (trained.name, judged.name))
                ):
                    found.append(both)
        return found


def apart(one: Stream, two: Stream) -> bool:
    """Not one and the same data: that is a look at the training accuracy."""
    if not one.origins or not two.origins:
        return False  # where its rows come from is unknown
    if not one.origins & two.origins:
        return True
    return one.indices is not None and two.indices is not None and not one.indices & two.indices
