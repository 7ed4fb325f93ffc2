from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Card, Certainty, Check, Findings, Severity

# What changes the training itself. Random numbers, data order and counters for messages change only its course.
_GRAVE = (
    "weights",
    "buffers",
    "optimizer state",
    "learning rate",
    "weight decay",
    "scheduler",
    "gradient scaler",
)


class ResumeIsAnotherRun(Check):
    """The script goes on from its checkpoint, but not as the run that was saved.

    ## Why it matters
    A run that loses its optimizer state or its place in the schedule when it is resumed jumps, and its curve is that of two
    trainings glued together. Most runs on shared machines are resumed.

    ## Usual causes
    Only the weights were saved; the scheduler or the scaler is not in the checkpoint, or is not loaded; the epoch starts at 0.

    ## What to do
    Save and load what is named. `premortem ckpt prove` shows the whole comparison, `premortem.vault` saves all of it.

    ## When it stays silent
    A script that has no way to resume. Random numbers and the order of the data alone are a remark, not a warning.
    """

    card = Card("PM683", "resume-is-another-run", "checkpoint", Severity.WARNING)

    def look(self, facts: Scene) -> Findings:
        proof = facts.proof
        if proof is None or proof.problem or not proof.comparison.lost or facts.broken:
            return
        lost = proof.comparison.lost
        grave = [piece for piece in lost if piece.name.startswith(_GRAVE)]
        named = ", ".join(
            f"{piece.name} ({piece.detail})" if piece.detail else piece.name for piece in lost[:4]
        )
        yield self.finding(
            f"resumed with {proof.entrance}, the run is another one: lost {named}",
            cause="These pieces of the state were not saved, or not loaded again.",
            remedy="Put them into the checkpoint and load them before training goes on.",
            severity=Severity.WARNING if grave else Severity.INFO,
            certainty=Certainty.PROVED,
            step=proof.step,
            lost=[piece.name for piece in lost],
            checkpoint=proof.saved,
        )
