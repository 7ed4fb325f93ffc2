"""The mistakes that are made in the user's script. To add one: write its file and add its name here."""

from __future__ import annotations

from premortem.drill.mutants.accumulation_not_divided import AccumulationNotDivided
from premortem.drill.mutants.base import Mutant as Mutant
from premortem.drill.mutants.clipped_to_nothing import ClippedToNothing
from premortem.drill.mutants.eval_mode_leak import EvalModeLeak
from premortem.drill.mutants.evaluated_in_train_mode import EvaluatedInTrainMode
from premortem.drill.mutants.killed_while_saving import KilledWhileSaving
from premortem.drill.mutants.labels_constant import LabelsConstant
from premortem.drill.mutants.labels_shuffled import LabelsShuffled
from premortem.drill.mutants.loss_detached import LossDetached
from premortem.drill.mutants.loss_sign_flipped import LossSignFlipped
from premortem.drill.mutants.module_frozen import ModuleFrozen
from premortem.drill.mutants.nan_sample import NanSample
from premortem.drill.mutants.optimizer_without_last_layer import OptimizerWithoutLastLayer
from premortem.drill.mutants.part_detached import PartDetached
from premortem.drill.mutants.rate_thousandfold import RateThousandfold
from premortem.drill.mutants.rate_zero import RateZero
from premortem.drill.mutants.reseeded_every_step import ReseededEveryStep
from premortem.drill.mutants.resume_loads_nothing import ResumeLoadsNothing
from premortem.drill.mutants.same_batch import SameBatch
from premortem.drill.mutants.scheduler_never import SchedulerNever
from premortem.drill.mutants.scheduler_per_batch import SchedulerPerBatch
from premortem.drill.mutants.stale_optimizer import StaleOptimizer
from premortem.drill.mutants.step_dropped import StepDropped
from premortem.drill.mutants.step_twice import StepTwice
from premortem.drill.mutants.torn_checkpoint import TornCheckpoint
from premortem.drill.mutants.zero_grad_before_step import ZeroGradBeforeStep
from premortem.drill.mutants.zero_grad_dropped import ZeroGradDropped

ALL: tuple[type[Mutant], ...] = (
    ZeroGradDropped,
    ZeroGradBeforeStep,
    StepDropped,
    StepTwice,
    LossDetached,
    LossSignFlipped,
    PartDetached,
    ModuleFrozen,
    StaleOptimizer,
    OptimizerWithoutLastLayer,
    RateZero,
    RateThousandfold,
    SchedulerPerBatch,
    SchedulerNever,
    EvalModeLeak,
    EvaluatedInTrainMode,
    NanSample,
    LabelsShuffled,
    LabelsConstant,
    SameBatch,
    ReseededEveryStep,
    AccumulationNotDivided,
    ClippedToNothing,
    ResumeLoadsNothing,
    TornCheckpoint,
    KilledWhileSaving,
)


def by_name(name: str) -> type[Mutant]:
    return next(each for each in ALL if each.name == name)
