from premortem.amounts import count, some
from premortem.detectors.base import Card, Certainty, Detector, Finding, Findings, Severity
from premortem.events import Event, FileLoaded, OptimizerStep, RunEnded, StateLoaded

_MOST = 0.5  # of the weights have another shape in the file: a new head is a part of them
_MANY = 12  # times as many keys on either side: then a few equal names are a coincidence


class CheckpointDidNotMatch(Detector):
    """`load_state_dict` loaded none or hardly any of the weights it was given, without a message.

    ## Why it matters
    With `strict=False`, or with a dict that was filtered first, keys that do not match are dropped without a message, and
    training starts from random weights.

    ## Usual causes
    The keys carry the prefix of a wrapper (`module.` of DataParallel, `_orig_mod.` of `torch.compile`) or lack one;
    layers were renamed; the state dict sits one level deeper in the file; an `except` around the load hides the error.

    ## What to do
    Make the keys agree and load with `strict=True`.

    ## When it stays silent
    Loading a backbone under a new head, part of a larger file, or a few layers on purpose: most of what is given or
    most of what is wanted fits.
    """

    card = Card("PM311", "checkpoint-did-not-match", "checkpoint", Severity.ERROR).explaining(
        "optimizer-state-not-restored"
    )
    listens = (StateLoaded, FileLoaded, OptimizerStep, RunEnded)

    def __init__(self) -> None:
        self._file: FileLoaded | None = None  # read, and nothing loaded from it yet
        self._failed: dict[int, StateLoaded] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, FileLoaded):
            self._file = event
        elif isinstance(event, StateLoaded) and event.target == "module":
            yield from self._loaded(event)
        elif isinstance(event, OptimizerStep):
            for failed in self._failed.values():
                yield self._swallowed(failed)
            self._failed.clear()
        elif isinstance(event, RunEnded):
            for failed in self._failed.values():
                if event.reason == "crashed" and event.message and event.message == failed.error:
                    yield self._crashed(failed)

    def _loaded(self, event: StateLoaded) -> Findings:
        if event.error:
            self._failed[event.key] = event
            return
        self._failed.clear()  # whatever failed, something else was tried
        file, self._file = self._file, None
        if self.said(event.key) or not event.wanted:
            return
        few = f"only {event.matched} of its {count(event.given, 'key')} fit"
        if not event.given:
            if file is not None and file.tensors:
                yield self._nothing(event, file, "an empty dict")
        elif event.matched == 0:
            yield self._found(event, f"none of its {count(event.given, 'key')} fits")
        elif not event.strict and max(event.would_match, event.renamed) > event.matched:
            yield self._found(event, few)
        elif file is not None and event.matched - event.aliased < event.reshaped >= _MOST * event.wanted:
            yield self._reshaped(event, file)
        elif not event.strict and min(event.given, event.wanted) >= _MANY * event.matched:
            yield self._found(event, few, Severity.WARNING)
        elif (
            file is not None
            and event.aliased == event.matched == event.wanted
            and event.taken_at == event.step
        ):
            # `d = model.state_dict(); d.update(what fits); load(d)`: and nothing fitted.
            yield self._nothing(event, file, f"the model's own {count(event.wanted, 'tensor')}")

    def _found(self, event: StateLoaded, how_much: str, severity: Severity = Severity.ERROR) -> Finding:
        self.once(event.key)
        return self.finding(
            event,
            f"`{event.name}.load_state_dict(strict={event.strict})` loaded {event.matched} of {event.wanted} weights: "
            f"{how_much}",
            cause=self._cause(event),
            remedy=self._remedy(event),
            severity=severity,
            module=event.name,
            given=event.given,
            wanted=event.wanted,
            matched=event.matched,
            missing=list(event.missing[:4]),
            unexpected=list(event.unexpected[:4]),
        )

    def _reshaped(self, event: StateLoaded, file: FileLoaded) -> Finding:
        self.once(event.key)
        return self.finding(
            event,
            f"`{event.name}.load_state_dict` loaded {event.matched - event.aliased} of {event.wanted} weights: "
            f"`{file.path.rpartition('/')[2] or 'the file'}` has {event.reshaped} of the others under their names, in other shapes",
            cause="The checkpoint is that of another model (another width or another number of classes), and what does not fit was left out.",
            remedy="Build the model with the sizes of the checkpoint, and load it with `strict=True`.",
            severity=Severity.WARNING,
            module=event.name,
            wanted=event.wanted,
            matched=event.matched,
            reshaped=event.reshaped,
        )

    def _cause(self, event: StateLoaded) -> str:
        wanted, got = some(event.missing, 1), some(event.unexpected, 1)
        if not event.missing or not event.unexpected:
            return "The shapes do not fit, and what does not fit was dropped."
        return f"The file calls {got} what the model calls {wanted}; `strict=False` drops such keys without a message."

    def _remedy(self, event: StateLoaded) -> str:
        if event.entry:
            return (
                f"The weights are one level deeper: load the entry `{event.entry}` of it, with `strict=True`."
            )
        if event.would_match:
            sign, prefix = event.prefix[:1], event.prefix[1:]
            renamed = {"-": f"k.removeprefix('{prefix}')", "~": f"k.replace('{prefix}', '')"}.get(
                sign, f"'{prefix}' + k"
            )
            how = f"{{{renamed}: v for k, v in state.items()}}"
            return f"{event.would_match} keys fit with `{how}`; then load with `strict=True`."
        return "Rename the keys to those of the model (or pick the right entry of the file) and load with `strict=True`."

    def _nothing(self, event: StateLoaded, file: FileLoaded, given: str) -> Finding:
        self.once(event.key)
        return self.finding(
            event,
            f"`{event.name}.load_state_dict` was given {given}: nothing of "
            f"`{file.path.rpartition('/')[2] or 'the file'}` went in",
            cause="The script filtered the entries of the file by name or shape first, and none was left.",
            remedy="Compare the file's keys with `model.state_dict().keys()`; a prefix such as `module.` is the usual "
            "difference.",
            module=event.name,
            wanted=event.wanted,
        )

    def _swallowed(self, event: StateLoaded) -> Finding:
        return self.finding(
            event,
            f"`{event.name}.load_state_dict` raised an error, the script caught it, and training goes on without those weights",
            cause=event.error[:300],
            remedy="Let the error through, or load what fits and print what is missing.",
            severity=Severity.WARNING,
            certainty=Certainty.SUSPECTED,
            module=event.name,
        )

    def _crashed(self, event: StateLoaded) -> Finding:
        return self.finding(
            event,
            f"`{event.name}.load_state_dict` raised: {event.matched} of {event.wanted} weights fit",
            cause=event.error[:300],
            remedy=self._remedy(event),
            module=event.name,
            matched=event.matched,
            wanted=event.wanted,
        )
