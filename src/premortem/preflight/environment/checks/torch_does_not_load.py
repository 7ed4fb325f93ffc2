from premortem.preflight.environment.machine_facts import Facts
from premortem.preflight.unit import Card, Certainty, Check, Findings, Severity


class TorchDoesNotLoad(Check):
    """`import torch` fails in a fresh process.

    ## Why it matters
    Nothing of the script runs.

    ## Usual causes
    Libraries of CUDA that are missing or belong to another version; `LD_LIBRARY_PATH` with another CUDA in it; a torch
    that was installed half; a NumPy that is too new for it.

    ## What to do
    Read the message: it names the library. Often a fresh environment is the quickest way out.
    """

    card = Card("PM604", "torch-does-not-load", "environment", Severity.ERROR).explaining("script-crashes")

    def look(self, facts: Facts) -> Findings:
        torch = facts.torch
        if torch is not None and torch.problem:
            yield self.finding(
                f"torch {torch.version} cannot be imported: {torch.problem}",
                remedy="Put the named library right, or install torch in a fresh environment.",
                certainty=Certainty.PROVED,
            )
