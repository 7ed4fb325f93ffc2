"""State: checkpoints, what is loaded and saved, and where it is kept."""

from typing import NamedTuple

from premortem.events.base import Event, Site, event


@event
class StateLoaded(Event):
    """`load_state_dict` of a module or an optimizer returned (or raised, with `error`)."""

    target: str  # "module" or "optimizer"
    key: int  # of the model or optimizer, 0 when not known
    name: str
    strict: bool
    given: int  # keys in the state dict
    wanted: int  # keys of the target
    matched: int
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    would_match: int = 0  # keys that match after dropping or adding one prefix
    prefix: str = ""  # that prefix
    aliased: int = 0  # tensors that are the target's own memory: loading them changes nothing
    taken_at: int | None = None  # step at which this state dict was taken from the module
    rewritten: bool = False  # its memory was written since then: by a step, or by loading something else
    renamed: int = 0  # unexpected keys whose shapes are, one by one, those of the missing keys
    reshaped: int = (
        0  # weights that the file has under their names, in other shapes, and that were not loaded
    )
    empty: tuple[str, ...] = ()  # weights that end in rows of zeros
    entry: str = ""  # an entry of what was given that is itself a state dict and fits better
    parameters: tuple[int, ...] = ()  # keys of (some of) the target's parameters
    nonfinite: tuple[str, ...] = ()
    uncounted: tuple[str, ...] = ()  # batch norms with trained weights and the statistics of a new layer
    from_file: bool = False  # some of it was read by `torch.load`
    # of its layers that say it: how many are as torch makes new ones, and how many there are
    as_made: tuple[int, int] | None = None
    error: str = ""


@event
class FileLoaded(Event):
    """`torch.load` returned. `optimizer_entries` is set when the file holds an optimizer's state."""

    path: str
    keys: tuple[str, ...]
    optimizer_entries: int = 0  # parameters with state in it
    counters: tuple[tuple[str, int], ...] = ()  # whole numbers in it ("epoch", 12)
    records: tuple[tuple[str, float], ...] = ()  # other numbers in it ("best_acc", 0.93)
    written: float | None = None  # when the file was, in seconds since 1970
    tensors: int = 0  # in it, and in the state dicts it holds


@event
class CheckpointSaved(Event):
    path: str
    bytes: int | None
    weights: int | None = None  # checksum of the weights in it
    taken_at: int | None = None  # step at which the state dict in it was taken, if that is live memory
    current: bool | None = (
        None  # it holds the weights that the model has now; None when there is no such model
    )
    records: tuple[tuple[str, float], ...] = ()  # numbers in it ("best_acc", 0.93)


@event
class WeightsReplaced(Event):
    """Weights that steps had been made on were replaced by those of a file from before this run, and are still as they were
    loaded. `at` is the `load_state_dict`, `step` the last one before it; emitted at the end."""

    model: int
    name: str
    path: str
    written: float  # when the file was, in seconds since 1970
    parameters: tuple[int, ...]  # keys of (some of) the trained ones
    saved_by: Site | None  # the line of the script that would write this file
    called: bool  # a model was called between the last step and the load
    kept: bool  # weights of this run may lie in another file, or in memory


class Schedule(NamedTuple):
    """A scheduler of the run at the first step after a checkpoint was read, beside the one in the file."""

    kind: str
    position: int  # last_epoch
    horizon: int | None
    built_horizon: int | None  # what it was made for, before anything was loaded into it
    saved_position: int | None  # in the file; None when the file holds no such state
    saved_horizon: int | None
    other_kind: bool = False  # the one in the file is a schedule of another kind
    rate: float | None = None  # the largest that it gives at its position; None when unknown


class Setting(NamedTuple):
    """A value the optimizer was built with, beside the one in the file that took its place."""

    name: str  # "lr", "initial_lr", "weight_decay"
    built: float
    saved: float
    group: int


@event
class Resumed(Event):
    """The first step of an optimizer after weights were loaded from a file of an earlier run that holds more than
    weights: what of it arrived. `at` is the line that read the file."""

    path: str
    optimizer: int
    kind: str  # of the optimizer
    parameters: int  # that it holds
    restored: bool  # its state was loaded since the file was read
    entries: int  # parameters with optimizer state in the file
    saved_steps: int = 0  # that the optimizer of the file has made; 0 where it does not count them
    saved_settings: tuple[tuple[str, int], ...] = ()  # in the file: ("batch_size", 32)
    counters: tuple[tuple[str, int], ...] = ()  # in the file: ("epoch", 12)
    reached: tuple[tuple[str, int], ...] = ()  # counters of the loops that are running now, outermost first
    # variables of the script that hold a counter of the file or the number after it, and whether the script uses
    # them for more than a message
    held: tuple[tuple[str, int, bool], ...] = ()
    saved_rates: tuple[float, ...] = ()  # learning rates in the file
    rates: tuple[float, ...] = ()  # ... and now
    by_hand: bool = False  # the script itself set a rate after it loaded the state
    schedules: tuple[Schedule, ...] = ()
    overwritten: tuple[Setting, ...] = ()
    saved_scale: float | None = None  # of a gradient scaler in the file
    scale: float | None = None  # ... and of the one in use
    averaged: str = ""  # entry of the file with averaged weights ...
    average: str = ""  # ... and the variable whose average started anew from the plain ones


class Misplaced(NamedTuple):
    """Optimizer state that was saved for one parameter and loaded for another."""

    saved: str
    now: str


@event
class StateMisplaced(Event):
    """Before the first step with a loaded optimizer state: it is not that of the parameters it was put to. `at` is
    the `load_state_dict`."""

    optimizer: int
    kind: str
    pairs: tuple[Misplaced, ...]
    total: int  # parameters of the optimizer
    known_by: (
        str  # "names" that the optimizer's state holds, the "order" of the weights in the file, or "shapes"
    )


@event
class SaveChecked(Event):
    """A file or folder that the script saved was looked at. `at` is the line that saved it."""

    path: str
    poisoned: tuple[
        str, ...
    ] = ()  # trained weights in it that are not finite; all of them zero: ("all of them",)
    weights: int = 0  # trained weights in it
    buffers: bool = False  # the poisoned ones are buffers; the trained weights are finite
    damaged: str = ""  # what was read back is not what was written: in which way
    quarantined: str = ""  # it lies there instead, and the file that was at `path` before still does
    overwrote: bool = False  # a good file was at `path`, and is not there any more


@event
class LoadChecked(Event):
    """A file or folder that the script loaded is not what was saved there. `at` is the line that loaded it."""

    path: str
    damaged: str  # which part of it, and how that is known
    kept: str = ""  # the newest earlier version that was kept and is whole ...
    kept_step: int | None = None  # ... and the step of it
    mirror: str = ""  # where copies were sent to
    raised: bool = False  # the load noticed it too


@event
class RoomShort(Event):
    """The disk was too full to save in the careful way."""

    path: str
    given_up: int  # earlier versions that were removed to make room
    in_place: bool  # it still was: the file was overwritten where it lay, as the script alone would have done
    failed: str = ""  # ... or it could not be saved at all; the old file is as it was
    ours: tuple[str, ...] = ()  # what else of premortem's was removed to make room


@event
class StorageSeen(Event):
    """Where the script saves, and what becomes of that place when the machine goes."""

    path: str
    kind: (
        str  # "Kaggle session", "Colab session", "container", "instance store", "memory", "temporary folder"
    )
    certain: bool  # it is sure to be wiped when the session ends
    mirrored: bool


@event
class MirrorSeen(Event):
    """How a mirror is doing; emitted when it fails, and at the end when something is missing there."""

    url: str
    pending: int
    failures: int  # attempts in a row
    problem: str
    minutes: float  # that the oldest waiting file has been waiting
    ended: bool = False  # the run is over


@event
class DeadlineMet(Event):
    """The time that the run was given is nearly over: it was saved, and will be stopped."""

    left: float  # seconds
    needed: float  # for a save, for the mirror, and some to spare
    path: str  # what was saved; "" when that did not work
    mirrored: bool | None = None  # None: there is no mirror


@event
class AliasKept(Event):
    """A model was kept, when a record was broken, under a second name; and under both it is still being trained.
    `at` is the assignment."""

    kept: str
    source: str
    model: int


@event
class UnsavedStateUsed(Event):
    """The first call of a restored model is in eval mode, with buffers that no state dict holds, that differ from
    those of the model that was saved, and that were not written since. `at` is the `load_state_dict`."""

    model: int
    name: str
    buffers: tuple[str, ...]


@event
class InitialisedAgain(Event):
    """Between a load and the next step, a layer turned a flag of its own that no state dict holds, and wrote over weights that
    were loaded into it. `at` is where they were."""

    model: int
    name: str
    layer: str  # "transforms.0"
    flag: str  # "initialized"
    parameters: tuple[str, ...]
    layers: int = 1  # to which this happened


@event
class LoadedWeightsChanged(Event):
    """The first training forward after a `load_state_dict`: weights that are no longer what was loaded."""

    model: int
    name: str
    changed: tuple[str, ...]  # parameters
    loaded: int  # how many were loaded
    tied: tuple[
        str, ...
    ] = ()  # those of `changed` that belong to two modules, with the other name: "a.weight = b.weight"
