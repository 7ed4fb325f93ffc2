"""To add a check: write its file and add its name here."""

from premortem.preflight.rehearsal.checks.accumulation_not_as_stated import AccumulationNotAsStated
from premortem.preflight.rehearsal.checks.autocast_not_in_force import AutocastNotInForce
from premortem.preflight.rehearsal.checks.cache_lost_with_workers import CacheLostWithWorkers
from premortem.preflight.rehearsal.checks.channels_last_not_in_force import ChannelsLastNotInForce
from premortem.preflight.rehearsal.checks.compile_fails import CompileFails
from premortem.preflight.rehearsal.checks.compile_not_in_force import CompileNotInForce
from premortem.preflight.rehearsal.checks.loss_does_not_fall_on_one_batch import LossDoesNotFallOnOneBatch
from premortem.preflight.rehearsal.checks.resume_is_another_run import ResumeIsAnotherRun
from premortem.preflight.rehearsal.checks.scaler_not_in_force import ScalerNotInForce
from premortem.preflight.rehearsal.checks.schedule_ends_before_the_run import ScheduleEndsBeforeTheRun
from premortem.preflight.rehearsal.checks.script_asks_for_arguments import ScriptAsksForArguments
from premortem.preflight.rehearsal.checks.script_crashes import ScriptCrashes
from premortem.preflight.rehearsal.checks.waits_for_data import WaitsForData
from premortem.preflight.rehearsal.checks.workers_not_in_force import WorkersNotInForce
from premortem.preflight.unit import Check

ALL: tuple[type[Check], ...] = (
    ScriptAsksForArguments,  # PM680
    ScriptCrashes,  # PM681
    LossDoesNotFallOnOneBatch,  # PM682
    ResumeIsAnotherRun,  # PM683
    WaitsForData,  # PM684
    AutocastNotInForce,  # PM685
    ChannelsLastNotInForce,  # PM686
    CompileNotInForce,  # PM687
    WorkersNotInForce,  # PM688
    CacheLostWithWorkers,  # PM689
    AccumulationNotAsStated,  # PM690
    ScalerNotInForce,  # PM691
    ScheduleEndsBeforeTheRun,  # PM692
    CompileFails,  # PM693
)

__all__ = ["ALL"]
