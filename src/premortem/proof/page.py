"""What a proof says, for a person and as JSON."""

from dataclasses import asdict

from rich.console import Console as Terminal
from rich.table import Table
from rich.text import Text

from premortem import __version__
from premortem.files.plain import dumps
from premortem.proof.compare import KEPT, LOST
from premortem.proof.prove import Proof

_STYLES = {KEPT: "green", LOST: "bold red"}


def show(proof: Proof, terminal: Terminal) -> None:
    terminal.print(Text(verdict(proof), "bold"))
    if proof.comparison.pieces:
        table = Table(box=None, pad_edge=False, show_header=False)
        for piece in proof.comparison.pieces:
            table.add_row(Text(piece.verdict, _STYLES.get(piece.verdict, "yellow")), piece.name, piece.detail)
        terminal.print(table)
    if proof.tail and proof.problem:
        terminal.print(Text("the last lines of the script:", "dim"), Text(proof.tail, "dim"), sep="\n")
    if note := proof.sandbox.get("note"):
        terminal.print(Text(f"{note}.", "dim"))


def verdict(proof: Proof) -> str:
    done = proof.comparison
    if proof.problem:
        return f"nothing is proved: {proof.problem}"
    place = f"saved at step {proof.step} in {proof.saved}, resumed with {proof.entrance}"
    if proof.exact:
        return f"the resumed run is the same run, bit for bit, over {done.steps} steps ({place})"
    if done.lost:
        lost = ", ".join(piece.name for piece in done.lost)
        return f"the resumed run differs: {lost} lost ({place})"
    where = f"it departs at step {done.equal + 1} of {done.steps}"
    if proof.repeats is False:
        return f"{where}, but two fresh runs differ as well: the script is not seeded ({place})"
    return f"no state is lost that premortem can name, and {where} ({place})"


def record(proof: Proof) -> str:
    done = proof.comparison
    return (
        dumps(
            {
                "premortem": __version__,
                "exact": proof.exact,
                "verdict": verdict(proof),
                "saved": proof.saved,
                "step": proof.step,
                "resumed_with": proof.entrance,
                "tried": proof.tried,
                "steps": done.steps,
                "equal_steps": done.equal,
                "pieces": [asdict(piece) for piece in done.pieces],
                "repeats": proof.repeats,
                "problem": proof.problem,
                "sandbox": proof.sandbox,
            },
            indent=2,
        )
        + "\n"
    )
