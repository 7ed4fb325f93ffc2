from premortem.preflight.environment.machine_facts import Facts
from premortem.preflight.unit import Card, Check, Findings, Severity

# The oldest Linux driver that runs any release of a major version of CUDA, as NVIDIA documents it.
OLDEST = {11: (450, 80), 12: (525, 60), 13: (580, 65)}


class DriverTooOld(Check):
    """The NVIDIA driver is older than the CUDA that torch was built for, and torch sees no GPU.

    ## Why it matters
    `torch.cuda.is_available()` is False. A script that asks first trains on the CPU and says nothing.

    ## Usual causes
    torch was upgraded, and the driver of the machine was not; a new container on an old host.

    ## What to do
    Install a torch that was built for an older CUDA, or have the driver upgraded.

    ## When it stays silent
    When torch does see the GPU: a compatibility package can bridge the gap.
    """

    card = Card("PM602", "driver-too-old", "environment", Severity.ERROR)

    def look(self, facts: Facts) -> Findings:
        torch = facts.torch
        if (
            not facts.gpus
            or not facts.driver
            or torch is None
            or not torch.cuda
            or torch.sees_gpu is not False
        ):
            return
        major = torch.cuda.partition(".")[0]
        oldest = OLDEST.get(int(major)) if major.isdigit() else None
        version = tuple(int(part) for part in facts.driver.split(".")[:2] if part.isdigit())
        if oldest is None or not version or version >= oldest:
            return
        wanted = ".".join(map(str, oldest))
        yield self.finding(
            f"torch {torch.version} needs CUDA {torch.cuda}, and the driver {facts.driver} is too old for it",
            cause=f"CUDA {major} needs a driver from {wanted} on.",
            remedy="Install a torch that was built for an older CUDA, or upgrade the driver.",
            driver=facts.driver,
            cuda=torch.cuda,
            oldest_driver=wanted,
        )
