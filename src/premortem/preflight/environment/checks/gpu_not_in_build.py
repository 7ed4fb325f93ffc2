import re
from collections.abc import Sequence

from premortem.preflight.environment.machine_facts import Facts
from premortem.preflight.unit import Card, Check, Findings, Severity

_ARCHITECTURE = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)")


class GpuNotInBuild(Check):
    """torch was built without code for this kind of GPU.

    ## Why it matters
    The first operation on the GPU ends with `no kernel image is available for execution on the device`.

    ## Usual causes
    The GPU is newer than this torch, or so old that its builds have dropped it.

    ## What to do
    For a new GPU install a newer torch, built for a newer CUDA. For an old one, install the last torch that has it.
    """

    card = Card("PM603", "gpu-not-in-build", "environment", Severity.ERROR)

    def look(self, facts: Facts) -> Findings:
        torch = facts.torch
        if torch is None or not torch.architectures:
            return
        for gpu in facts.gpus:
            if gpu.capability is None or runs(gpu.capability, torch.architectures):
                continue
            shown = ".".join(map(str, gpu.capability))
            known = [found for found in map(_ARCHITECTURE.fullmatch, torch.architectures) if found]
            newest = max((int(one[2]), int(one[3])) for one in known)
            newer = gpu.capability > newest
            yield self.finding(
                f"torch {torch.version} has no code for {gpu.name} (compute capability {shown})",
                cause=f"It was built for {', '.join(torch.architectures)}.",
                remedy=f"Install a {'newer torch' if newer else 'torch that still has this GPU'}, built for a CUDA that knows it.",
                capability=shown,
                built_for=list(torch.architectures),
            )
            return


def runs(capability: tuple[int, int], architectures: Sequence[str]) -> bool:
    """Code for a GPU runs on later ones of its major version; PTX (`compute_`) is translated for all later ones."""
    known = [found for found in map(_ARCHITECTURE.fullmatch, architectures) if found]
    if not known:
        return True  # nothing that could be read
    for one in known:
        kind, built, special = one[1], (int(one[2]), int(one[3])), one[4]
        if special == "a":
            fits = built == capability
        elif kind == "sm" or special == "f":
            fits = built[0] == capability[0] and built[1] <= capability[1]
        else:
            fits = built <= capability
        if fits:
            return True
    return False
