from __future__ import annotations

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import DeadlineMet


class DeadlineReached(Detector):
    """The time given with `--deadline` is nearly over: the run was saved, and is stopped.

    ## Why it matters
    A session that ends while a step or a save is under way takes with it everything since the last checkpoint.

    ## Usual causes
    It is what was asked for.

    ## What to do
    Start again from the state that was saved, or from the script's own last checkpoint. `last_good.pt` holds models,
    optimizers, schedulers and the scaler: once they are made, and before the first step,
    `report = premortem.resume("runs/…/last_good.pt", model=model, optimizer=optimizer)` fills them; `report.step` is how
    many steps were done. `torch.load` reads the file too.
    """

    card = Card("PM328", "deadline-reached", "persistence", Severity.INFO)
    listens = (DeadlineMet,)

    def observe(self, event: DeadlineMet) -> Findings:
        self.over = True
        saved = f"the state of the training is in {event.path}" if event.path else "it could not be saved"
        when = f"{event.left:.0f} seconds before the deadline" if event.left >= 0 else "after the deadline"
        mirror = {None: "", True: ", and on the mirror", False: ", but not on the mirror yet"}[event.mirrored]
        work = (
            "One more step and a save" if event.mirrored is None else "One more step, a save and the mirror"
        )
        again = f'To go on, call premortem.resume("{event.path}", model=model, optimizer=optimizer) before the first step.'
        yield self.finding(
            event,
            f"stopped {when}: {saved}{mirror}",
            cause=f"{work} need {event.needed:.0f} seconds.",
            remedy=again if event.path else "Start again from the script's own last checkpoint.",
            left=round(event.left, 1),
            needed=round(event.needed, 1),
        )
