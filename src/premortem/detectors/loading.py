"""What was loaded is damaged, incomplete, in the wrong place, or was overwritten afterwards."""

from premortem.amounts import some
from premortem.detectors.base import Card, Certainty, Detector, Finding, Findings, Severity
from premortem.events import (
    Event,
    LoadChecked,
    LoadedWeightsChanged,
    Site,
    StateLoaded,
    StateMisplaced,
    UnsavedStateUsed,
)


class CheckpointNonFinite(Detector):
    """The weights, or the optimizer's moments, that are loaded already hold NaN or infinity.

    ## Why it matters
    The first forward pass gives NaN, whatever the data, the learning rate and the precision are.

    ## Usual causes
    The file was written after an earlier run had died; a merge or an average of checkpoints divided by zero.

    ## What to do
    Go back to an older checkpoint, and look why that run died.
    """

    card = Card("PM314", "checkpoint-non-finite", "checkpoint", Severity.ERROR, sudden=True).explaining(
        "non-finite-training",
        "non-finite-input",
        "weights-stay-non-finite",
        "masked-non-finite",
        "overflow",
        "poisoned-checkpoint",
    )
    listens = (StateLoaded,)

    def observe(self, event: StateLoaded) -> Findings:
        if event.nonfinite and self.once((event.target, event.key)):
            what = "weights" if event.target == "module" else "moments"
            yield self.finding(
                event,
                f"`{event.name}` was loaded with non-finite {what}: {some(event.nonfinite)}",
                cause="The state dict itself holds NaN or infinity; nothing after it can be finite.",
                remedy="Load an older checkpoint, and look why the run that wrote this one died.",
                module=event.name,
                parameter=event.nonfinite[0],
                nonfinite=list(event.nonfinite),
            )


class LoadedWeightsOverwritten(Detector):
    """Weights that were loaded are replaced by others before the first step: all of them, or tied ones.

    ## Why it matters
    Training starts from random weights while the log says that a checkpoint was loaded.

    ## Usual causes
    `model.apply(init_weights)` or `reset_parameters()` after `load_state_dict`; initialising the "missing" output
    layer whose weight is tied to the embedding that was just loaded.

    ## What to do
    Initialise first, load last.

    ## When it stays silent
    Some layers keep what was loaded (a new head), or the weights are only scaled, pruned, averaged or perturbed.
    """

    card = Card("PM315", "loaded-weights-overwritten", "checkpoint", Severity.ERROR)
    listens = (LoadedWeightsChanged, StateLoaded)

    def __init__(self) -> None:
        self._sites: dict[int, Site | None] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, StateLoaded):
            self._sites[event.key] = event.at
        elif isinstance(event, LoadedWeightsChanged):
            if event.tied or len(event.changed) == event.loaded:
                yield self._found(event)

    def _found(self, event: LoadedWeightsChanged) -> Finding:
        first = event.changed[0]
        cause = (
            "The script initialised the model after the checkpoint was loaded: training starts from scratch."
        )
        if event.tied:
            cause = f"Two modules share it (`{event.tied[0]}`): initialising one of them overwrote what the other had loaded."
        return self.last_word(
            event,
            f"{len(event.changed)} of {event.loaded} weight matrices loaded into `{event.name}` were replaced by "
            f"unrelated values before the first step, first `{first}`",
            cause=cause,
            remedy="Initialise first and load last; leave tied weights alone.",
            at=self._sites.get(event.model),
            module=event.name,
            parameter=first,
            changed=list(event.changed[:8]),
        )


class StateNotInCheckpoint(Detector):
    """A restored model is used in eval mode with state of its own that the checkpoint does not hold.

    ## Why it matters
    The weights are those of the trained model, and the rest is as random as at construction. The output is not that of
    the model that was saved.

    ## Usual causes
    `register_buffer(..., persistent=False)` for something that training changes (the vectors of a spectral norm's
    power iteration, running statistics), and a model that goes straight to `eval()` after loading, where it is never
    updated.

    ## What to do
    Make the buffers persistent, or run the model in train mode on a few batches before it is used.
    """

    card = Card("PM316", "state-not-in-checkpoint", "persistence", Severity.ERROR)
    listens = (UnsavedStateUsed,)

    def observe(self, event: UnsavedStateUsed) -> Findings:
        if self.once(event.model):
            yield self.finding(
                event,
                f"`{event.name}` was restored without {some(event.buffers)}, and is used in eval mode",
                cause="These buffers are not persistent: the checkpoint does not hold them, they are as random as at "
                "construction, and eval mode does not update them.",
                remedy="Register them with `persistent=True`, or run the model in train mode before using it.",
                module=event.name,
                buffers=list(event.buffers),
            )


class OptimizerStateMisplaced(Detector):
    """The optimizer's moments were loaded for other parameters than those they were saved for.

    ## Why it matters
    An optimizer's state dict has no names: the third entry goes to the third parameter, whichever that is. Moments of
    one layer then drive another. Where the shapes agree nothing is raised, and the loss jumps or never recovers.

    ## Usual causes
    Layers were registered in another order, or one was added in the middle, since the checkpoint was written; the
    parameter groups are built in another order (a set, weight decay groups, a changed filter).

    ## What to do
    Register the layers in the old order, or map the state by name:
    `torch.distributed.checkpoint.state_dict.set_optimizer_state_dict`, or `premortem.Vault`, which does.
    """

    card = Card("PM335", "optimizer-state-misplaced", "checkpoint", Severity.ERROR)
    listens = (StateMisplaced,)

    def observe(self, event: StateMisplaced) -> Findings:
        if self.once(event.optimizer):
            first = event.pairs[0]
            yield self.finding(
                event,
                f"{event.kind} was loaded with the state of other parameters: that of `{first.saved}` went to "
                f"`{first.now}`",
                cause=self._cause(event),
                remedy="Build the model and the parameter groups in the order of the run that was saved, or map the "
                "state by name (`torch.distributed.checkpoint.state_dict`, `premortem.Vault`).",
                parameter=first.now.split(" ")[0],
                certainty=Certainty.PROVED if event.known_by == "names" else Certainty.MEASURED,
                known_by=event.known_by,
                pairs=[list(pair) for pair in event.pairs],
            )

    def _cause(self, event: StateMisplaced) -> str:
        how = {
            "names": "The names in the state are in another order than those of the optimizer",
            "order": "The weights in the file are in another order than those of the model",
            "shapes": "The shapes of the moments are not those of the parameters",
        }[event.known_by]
        return f"{how}. torch maps an optimizer's state by position, without a message."


class DamagedCheckpointLoaded(Detector):
    """A file that the script loads is damaged: its bytes do not match their checksums.

    ## Why it matters
    `torch.load` and safetensors do not check checksums. One flipped bit on the disk becomes a weight of 1e38, or a wrong
    one that goes unnoticed, and the training goes on from it.

    ## Usual causes
    A failing disk, cable or memory; a download or an upload that was cut off; a save that was killed half-way.

    ## What to do
    Take an earlier version. Where a run under premortem has kept one, the finding names the newest that is whole;
    `premortem ckpt list` shows all, and `premortem ckpt restore` brings one back. Have the disk examined.

    ## When it stays silent
    There is no checksum to compare the bytes with: the old format of torch, safetensors, and files that were saved
    with `torch.serialization.set_crc32_options(False)`, unless they were saved in a run under premortem and have not
    changed since. What is read from memory (`io.BytesIO`), from an address, or with `safetensors.safe_open` is
    not looked at. Of thousands of small files, only some are.
    """

    card = Card("PM343", "damaged-checkpoint-loaded", "checkpoint", Severity.ERROR, subject="path")
    listens = (LoadChecked,)

    def observe(self, event: LoadChecked) -> Findings:
        if not self.once(event.path):
            return
        loaded = "does not load" if event.raised else "was loaded"
        yield self.finding(
            event,
            f"`{event.path}` {loaded}, and it is damaged: {event.damaged}",
            cause="The file on the disk is not the one that was saved there.",
            remedy=_remedy(event),
            path=event.path,
            damaged=event.damaged,
            kept=event.kept,
        )


def _remedy(event: LoadChecked) -> str:
    if event.kept:
        which = "an earlier version" if event.kept_step is None else f"the version of step {event.kept_step}"
        return f"`premortem ckpt restore {event.kept} --force` brings back {which}, which is intact."
    if event.mirror:
        return f"Take an earlier version: `premortem ckpt list {event.mirror}` shows what was sent there."
    return "Load an earlier checkpoint, and have the disk examined; no earlier version of this file was kept."
