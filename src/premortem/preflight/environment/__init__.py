"""The machine and the folders, without running anything."""

from __future__ import annotations

from premortem.preflight.environment.checks.cache_larger_than_memory import CacheLargerThanMemory
from premortem.preflight.environment.checks.deadline_too_close import DeadlineTooClose
from premortem.preflight.environment.checks.disk_smaller_than_checkpoints import DiskSmallerThanCheckpoints
from premortem.preflight.environment.checks.driver_too_old import DriverTooOld
from premortem.preflight.environment.checks.gpu_not_in_build import GpuNotInBuild
from premortem.preflight.environment.checks.gpus_left_idle import GpusLeftIdle
from premortem.preflight.environment.checks.imports_another_copy import ImportsAnotherCopy
from premortem.preflight.environment.checks.nested_clone import NestedClone
from premortem.preflight.environment.checks.output_will_be_wiped import OutputWillBeWiped
from premortem.preflight.environment.checks.quota_too_small import QuotaTooSmall
from premortem.preflight.environment.checks.source_changed_since_import import SourceChangedSinceImport
from premortem.preflight.environment.checks.torch_does_not_load import TorchDoesNotLoad
from premortem.preflight.environment.checks.torch_without_cuda import TorchWithoutCuda
from premortem.preflight.environment.checks.two_copies_of_a_package import TwoCopiesOfAPackage
from premortem.preflight.project import Part, Project, Tell
from premortem.preflight.unit import Check

# What is known before anything runs.
STATIC: tuple[type[Check], ...] = (
    TorchDoesNotLoad,
    TorchWithoutCuda,
    DriverTooOld,
    GpuNotInBuild,
    GpusLeftIdle,
    DiskSmallerThanCheckpoints,
    CacheLargerThanMemory,
    OutputWillBeWiped,
    NestedClone,
    ImportsAnotherCopy,
    TwoCopiesOfAPackage,
)
# What waits for the rehearsal to say how long the run takes.
TIME: tuple[type[Check], ...] = (DeadlineTooClose, QuotaTooSmall)
ALL: tuple[type[Check], ...] = (*STATIC, *TIME, SourceChangedSinceImport)


def survey(project: Project, tell: Tell) -> Part:
    from premortem.preflight.environment import gathering

    facts, read = gathering.gather(project, tell)
    part = Part(title="Environment", facts=gathering.lines(facts, read), record=gathering.record(facts))
    part.judge(STATIC, facts)
    return part
