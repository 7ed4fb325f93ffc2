from __future__ import annotations

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import LoadChecked


class DamagedCheckpointLoaded(Detector):
    """A file that the script loads is not what was saved: its bytes contradict their own checksums.

    ## Why it matters
    `torch.load` and safetensors do not look at checksums. One bit that turned over on the disk becomes a weight of
    1e38, or a wrong one that nobody ever notices, and the training goes on from it.

    ## Usual causes
    A failing disk, cable or memory; a download or an upload that was cut off; a save that was killed half-way.

    ## What to do
    Take an earlier version. Where a run under premortem has kept one, the finding names the newest that is whole;
    `premortem ckpt list` shows all, and `premortem ckpt restore` brings one back. Have the disk examined.

    ## When it stays silent
    Nothing is known that the bytes could contradict: the old format of torch, safetensors, and files that were saved
    with `torch.serialization.set_crc32_options(False)`, unless they were saved in a run under premortem and nobody has
    touched them since. What is read from memory (`io.BytesIO`), from an address, or with `safetensors.safe_open` is
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
            cause="What is on the disk is not what was saved there.",
            remedy=_remedy(event),
            path=event.path,
            damaged=event.damaged,
            kept=event.kept,
        )


def _remedy(event: LoadChecked) -> str:
    if event.kept:
        version = (
            "an earlier version" if event.kept_step is None else f"the version of step {event.kept_step}"
        )
        return f"`premortem ckpt restore {event.kept} --force` brings {version} back, which is whole."
    if event.mirror:
        return f"Take an earlier version: `premortem ckpt list {event.mirror}` shows what was sent there."
    return "Load an earlier checkpoint, and have the disk examined; no earlier version of this file was kept."
