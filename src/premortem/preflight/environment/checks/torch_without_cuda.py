from premortem.preflight.environment.machine_facts import Facts
from premortem.preflight.unit import Card, Check, Findings, Severity


class TorchWithoutCuda(Check):
    """The machine has an NVIDIA GPU, and the torch that is installed cannot use it.

    ## Why it matters
    The script stops at its first `.cuda()`, or trains on the CPU without a word, at a hundredth of the speed, while the
    GPU is paid for.

    ## Usual causes
    `pip install torch` from an index for CPUs; an environment that was made on a laptop; a lock file with `+cpu`.

    ## What to do
    Install a build for CUDA: https://pytorch.org/get-started/locally/ writes the command. To train on the CPU on
    purpose, set `CUDA_VISIBLE_DEVICES=""`.

    ## When it stays silent
    When the code never speaks of CUDA and no framework chooses the device for it.
    """

    card = Card("PM601", "torch-without-cuda", "environment", Severity.ERROR)

    def look(self, facts: Facts) -> Findings:
        torch = facts.torch
        if not facts.gpus or torch is None or torch.cuda or torch.rocm:
            return
        if facts.use.cuda is None and not facts.use.framework:
            return
        yield self.finding(
            f"torch {torch.version} was built for the CPU only, and this machine has {facts.gpus[0].name}",
            cause="The installed build has no CUDA in it.",
            remedy="Install a build for CUDA (pytorch.org/get-started/locally), or hide the GPU with "
            'CUDA_VISIBLE_DEVICES="".',
            where=facts.use.cuda,
            severity=Severity.ERROR if facts.use.cuda else Severity.WARNING,
            torch=torch.version,
            gpus=len(facts.gpus),
        )
