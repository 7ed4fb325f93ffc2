"""Checkpoints that cannot be written, do not stay where they are, or should not be written."""

from premortem.amounts import count, some
from premortem.detectors.base import Card, Certainty, Detector, Findings, Severity
from premortem.events import DeadlineMet, MirrorSeen, RoomShort, SaveChecked, StorageSeen


class PoisonedCheckpoint(Detector):
    """A checkpoint was saved whose trained weights or running statistics are not finite, or are all zero.

    ## Why it matters
    A model that is resumed or deployed from it answers NaN. Where it overwrites the only good checkpoint,
    everything that was learnt is lost.

    ## Usual causes
    Training had diverged before the save; a metric that is NaN was taken for the best; weights were cast to a type
    that is too small for them; an average of models divided by zero. A batch with NaN or infinity went through batch norm
    in train mode, also under `no_grad`: the weights stay sound, the running statistics do not.

    ## What to do
    Check that loss and weights are finite before saving. Under `premortem run` a good file is not overwritten by such
    a save: it goes to the run's `quarantine` folder, and `torch.load` of that path still gives what was saved as long
    as the run lasts. After the run, the path holds the last good version.

    ## When it stays silent
    Frozen parameters, masks of infinities and tensors that belong to no model of the run may hold anything. Of
    buffers only the running statistics of norm layers count, and NaN where an earlier save of the run had numbers.
    """

    card = Card("PM320", "poisoned-checkpoint", "checkpoint", Severity.ERROR, subject="path")
    listens = (SaveChecked,)

    def observe(self, event: SaveChecked) -> Findings:
        if not event.poisoned or not self.once(event.path):
            return
        zero = event.poisoned == ("all of them",)
        what = f"weights that are not finite: {some(event.poisoned)} of {count(event.weights, 'weight')}"
        if zero:
            what = "nothing but zeros"
        if event.buffers:
            what = f"buffers that are not finite: {some(event.poisoned)}; the trained weights are finite"
        yield self.finding(
            event,
            f"`{event.path}` was saved with {what}",
            cause=self._cause(event),
            remedy="Collect the statistics anew from clean batches (`reset_running_stats()`), or load an earlier file."
            if event.buffers
            else "Look for the first step that was not finite; save only what is finite.",
            parameter=None if zero else event.poisoned[0],
            path=event.path,
            quarantined=event.quarantined or None,
        )

    def _cause(self, event: SaveChecked) -> str:
        if event.quarantined:
            return "The model was broken before it was saved. The file went to quarantine; the good version stays in place."
        if event.overwrote:
            return "The model was broken before it was saved, and a good file was overwritten with it."
        return "The model was broken before it was saved. There was no earlier version at this path."


class CheckpointDoesNotReadBack(Detector):
    """A checkpoint was read back after it was saved, and differed from what was written, twice in a row.

    ## Why it matters
    The file would load without an error, with other weights in it: `torch.load` does not check its checksums.

    ## Usual causes
    A failing disk or cable; a network drive that lost its connection; broken memory.

    ## What to do
    Save to another disk, and have this one examined. The old file at that path was not touched.
    """

    card = Card("PM324", "checkpoint-does-not-read-back", "persistence", Severity.ERROR, subject="path")
    listens = (SaveChecked,)

    def observe(self, event: SaveChecked) -> Findings:
        if event.damaged and self.once(event.path):
            yield self.finding(
                event,
                f"`{event.path}` was written twice, and the file was damaged each time: {event.damaged}",
                cause="The bytes that were read back differ from those that were written.",
                remedy="Save to another disk. The file that was at this path before is still there.",
                path=event.path,
            )


class EphemeralStorage(Detector):
    """Checkpoints are saved in a place that is wiped when the session ends, and nowhere else.

    ## Why it matters
    Hours of training are gone when the session times out, the container is removed or the machine is taken back.

    ## Usual causes
    A notebook service (Kaggle, Colab) without its lasting folder; the scratch folder of a batch job; the local disk
    of a rented machine; the inside of a container.

    ## What to do
    Save to a folder that lasts, or give the run a mirror: `premortem run --mirror URL`, where URL is a mounted drive,
    s3://, gs://, ssh:// or hf://.

    ## When it stays silent
    There is a mirror, or no sign that the place will be wiped. A temporary folder is a choice.
    A place that may or may not last (memory, a container) is `info`, after ten minutes of training.
    """

    card = Card("PM325", "ephemeral-storage", "persistence", Severity.WARNING, subject="path")
    listens = (StorageSeen,)

    def observe(self, event: StorageSeen) -> Findings:
        if event.mirrored:
            return
        will = "will be wiped with" if event.certain else "may be wiped with"
        yield self.last_word(
            event,
            f"the checkpoints in {event.path} {will} their place: {event.kind}",
            cause="Nothing copies the checkpoints to a place that lasts.",
            remedy="Start it with `premortem run --mirror URL`, or save to a folder that lasts.",
            severity=Severity.WARNING if event.certain else Severity.INFO,
            certainty=Certainty.MEASURED if event.certain else Certainty.SUSPECTED,
            path=event.path,
        )


class DiskTooFull(Detector):
    """The disk has no room left for a checkpoint beside the one it replaces.

    ## Why it matters
    A checkpoint is written beside the old one, so that one of the two is always whole. Without room for two, a run that is
    killed while it saves loses both.

    ## Usual causes
    Checkpoints of every epoch that are never removed; a quota; a disk shared with a dataset or a cache.

    ## What to do
    Remove old checkpoints, save fewer of them, or save to another disk.
    """

    card = Card("PM326", "disk-too-full", "persistence", Severity.WARNING, subject="path")
    listens = (RoomShort,)

    def observe(self, event: RoomShort) -> Findings:
        if event.failed or not self.once((event.path, event.in_place)):
            return
        yield self.finding(
            event,
            self._what(event),
            cause="There is no room left on the disk.",
            remedy="Make room, save less often, or save to another disk.",
            path=event.path,
            given_up=event.given_up,
        )

    def _what(self, event: RoomShort) -> str:
        versions = [count(event.given_up, "earlier version")] if event.given_up else []
        gone = " and ".join([*versions, *event.ours])
        if event.in_place:
            removed = f"; premortem removed {gone} to make room" if gone else ""
            return f"`{event.path}` was written over the old file, for lack of room: a kill during the save loses both{removed}"
        return f"premortem removed {gone} to make room for `{event.path}`"


class MirrorBehind(Detector):
    """The mirror does not get the checkpoints: attempt after attempt fails, or the run ended before all were sent.

    ## Why it matters
    A checkpoint that is not on the mirror when the session ends is lost.

    ## Usual causes
    Wrong or expired credentials; a bucket or host that does not exist; no network; checkpoints that are larger than
    the line can carry.

    ## What to do
    Repair what the message names. Nothing is lost so far: the missing checkpoints wait in the run's `mirror` folder, and
    the next run in this folder with the same `--mirror` sends them.
    """

    card = Card("PM327", "mirror-behind", "persistence", Severity.WARNING)
    listens = (MirrorSeen,)

    def observe(self, event: MirrorSeen) -> Findings:
        if not event.pending or not self.once(event.ended):
            return
        missing = f"{count(event.pending, 'checkpoint')} not sent"
        if event.ended:
            what = f"the run is over, and the mirror {event.url} is behind: {missing}"
        else:
            what = f"the mirror {event.url} failed {event.failures} times in a row: {missing}"
        yield self.finding(
            event,
            what,
            cause=event.problem or "There was not enough time.",
            remedy="The missing checkpoints are kept; the next run with the same `--mirror` sends them.",
            pending=event.pending,
            minutes=round(event.minutes, 1),
        )


class DeadlineReached(Detector):
    """The time given with `--deadline` is nearly over: the run was saved, and is stopped.

    ## Why it matters
    A session that ends while a step or a save is under way takes with it everything since the last checkpoint.

    ## Usual causes
    The run was started with `--deadline`.

    ## What to do
    Start again from the state that was saved, or from the script's own last checkpoint. `last_good.pt` holds models,
    optimizers, schedulers and the scaler: once they are made, and before the first step,
    `report = premortem.resume("runs/…/last_good.pt", model=model, optimizer=optimizer)` fills them; `report.step` is how
    many steps were done. `torch.load` reads the file too.
    """

    card = Card("PM328", "deadline-reached", "persistence", Severity.INFO)
    listens = (DeadlineMet,)

    def observe(self, event: DeadlineMet) -> Findings:
        saved = f"the state of the training is in {event.path}" if event.path else "it could not be saved"
        when = f"{event.left:.0f} seconds before the deadline" if event.left >= 0 else "after the deadline"
        mirror = {None: "", True: ", and on the mirror", False: ", but not on the mirror yet"}[event.mirrored]
        work = (
            "One more step and a save" if event.mirrored is None else "One more step, a save and the mirror"
        )
        again = f'To go on, call premortem.resume("{event.path}", model=model, optimizer=optimizer) before the first step.'
        yield self.last_word(
            event,
            f"premortem stopped the run {when}: {saved}{mirror}",
            cause=f"{work} need {event.needed:.0f} seconds.",
            remedy=again if event.path else "Start again from the script's own last checkpoint.",
            left=round(event.left, 1),
            needed=round(event.needed, 1),
        )


class CheckpointNotSaved(Detector):
    """A checkpoint could not be saved, because the disk is full.

    ## Why it matters
    From here on no checkpoint is kept. A script that catches the exception trains on and saves nothing.

    ## Usual causes
    Checkpoints of every epoch that are never removed; a quota; a checkpoint that grows with the run.

    ## What to do
    Make room, or save to another disk. The old file at that path is untouched.
    """

    card = Card("PM329", "checkpoint-not-saved", "persistence", Severity.ERROR, subject="path").explaining(
        "disk-too-full"
    )
    listens = (RoomShort,)

    def observe(self, event: RoomShort) -> Findings:
        if not event.failed or not self.once(event.path):
            return
        yield self.finding(
            event,
            f"`{event.path}` could not be saved; the old file is untouched",
            cause="There is no room left on the disk.",
            remedy="Make room, or save to another disk.",
            path=event.path,
            error=event.failed,
        )
