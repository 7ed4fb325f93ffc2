"""Rules: a source in, diagnostics out. To add one, write its file and add two lines here."""

from premortem.lint.rule import ConfigRule, Rule
from premortem.lint.rules.accumulate_the_graph import AccumulateTheGraph
from premortem.lint.rules.amp_clip_before_unscale import AmpClipBeforeUnscale
from premortem.lint.rules.amp_step_without_update import AmpStepWithoutUpdate
from premortem.lint.rules.anomaly_mode_left_on import AnomalyModeLeftOn
from premortem.lint.rules.backward_in_no_grad import BackwardInNoGrad
from premortem.lint.rules.backward_only_on_the_last_batch import BackwardOnlyOnTheLastBatch
from premortem.lint.rules.call_without_parentheses import CallWithoutParentheses
from premortem.lint.rules.checkpoint_lambda_late import CheckpointLambdaLate
from premortem.lint.rules.checkpoint_load_ignored import CheckpointLoadIgnored
from premortem.lint.rules.clip_at_the_wrong_time import ClipAtTheWrongTime
from premortem.lint.rules.config_unknown_keyword import ConfigUnknownKeyword
from premortem.lint.rules.conflicting_arguments import ConflictingArguments
from premortem.lint.rules.conflicting_switches import ConflictingSwitches
from premortem.lint.rules.context_manager_not_entered import ContextManagerNotEntered
from premortem.lint.rules.data_parallel_unwrapped_call import DataParallelUnwrappedCall
from premortem.lint.rules.detached_zero_loss import DetachedZeroLoss
from premortem.lint.rules.dinov2_permute import Dinov2Permute
from premortem.lint.rules.dropped_function_result import DroppedFunctionResult
from premortem.lint.rules.dropped_tensor_result import DroppedTensorResult
from premortem.lint.rules.ephemeral_output_path import EphemeralOutputPath
from premortem.lint.rules.evaluation_keeps_graph import EvaluationKeepsGraph
from premortem.lint.rules.evaluation_without_eval import EvaluationWithoutEval
from premortem.lint.rules.evaluation_without_no_grad import EvaluationWithoutNoGrad
from premortem.lint.rules.failed_step_skipped import FailedStepSkipped
from premortem.lint.rules.failure_becomes_metric import FailureBecomesMetric
from premortem.lint.rules.fill_beyond_dtype import FillBeyondDtype
from premortem.lint.rules.gone_before_all import GoneBeforeAll
from premortem.lint.rules.loss_class_given_tensors import LossClassGivenTensors
from premortem.lint.rules.loss_made_a_leaf import LossMadeALeaf
from premortem.lint.rules.loss_scaled_only_in_condition import LossScaledOnlyInCondition
from premortem.lint.rules.missing_super_init import MissingSuperInit
from premortem.lint.rules.modules_in_plain_container import ModulesInPlainContainer
from premortem.lint.rules.nan_to_num_on_loss import NanToNumOnLoss
from premortem.lint.rules.neighbours_do_not_fit import NeighboursDoNotFit
from premortem.lint.rules.no_zero_grad import NoZeroGrad
from premortem.lint.rules.number_read_as_string import NumberReadAsString
from premortem.lint.rules.one_layer_repeated import OneLayerRepeated
from premortem.lint.rules.optimizer_before_model_change import OptimizerBeforeModelChange
from premortem.lint.rules.optimizer_built_in_the_loop import OptimizerBuiltInTheLoop
from premortem.lint.rules.partial_load_unchecked import PartialLoadUnchecked
from premortem.lint.rules.plateau_watches_the_wrong_way import PlateauWatchesTheWrongWay
from premortem.lint.rules.plateau_without_metric import PlateauWithoutMetric
from premortem.lint.rules.reentrant_checkpoint import ReentrantCheckpoint
from premortem.lint.rules.removed_function import RemovedFunction
from premortem.lint.rules.require_grad_typo import RequireGradTypo
from premortem.lint.rules.requires_grad_on_module import RequiresGradOnModule
from premortem.lint.rules.sample_substituted import SampleSubstituted
from premortem.lint.rules.sampler_without_set_epoch import SamplerWithoutSetEpoch
from premortem.lint.rules.scheduler_scope import SchedulerScope
from premortem.lint.rules.seed_set_in_the_loop import SeedSetInTheLoop
from premortem.lint.rules.sigmoid_into_bce_with_logits import SigmoidIntoBceWithLogits
from premortem.lint.rules.softmax_into_cross_entropy import SoftmaxIntoCrossEntropy
from premortem.lint.rules.softmax_without_dim import SoftmaxWithoutDim
from premortem.lint.rules.stale_batch import StaleBatch
from premortem.lint.rules.step_outside_the_batch_loop import StepOutsideTheBatchLoop
from premortem.lint.rules.suppress_errors import SuppressErrors
from premortem.lint.rules.too_new_for_oldest import TooNewForOldest
from premortem.lint.rules.too_new_for_target import TooNewForTarget
from premortem.lint.rules.torch_load_hazards import TorchLoadHazards
from premortem.lint.rules.train_mode_not_restored import TrainModeNotRestored
from premortem.lint.rules.unknown_keyword import UnknownKeyword
from premortem.lint.rules.unshuffled_training_loader import UnshuffledTrainingLoader
from premortem.lint.rules.zero_grad_before_step import ZeroGradBeforeStep

ALL: tuple[type[Rule | ConfigRule], ...] = (
    DroppedTensorResult,  # PM501
    FillBeyondDtype,  # PM502
    NanToNumOnLoss,  # PM503
    DetachedZeroLoss,  # PM504
    FailureBecomesMetric,  # PM505
    FailedStepSkipped,  # PM506
    SampleSubstituted,  # PM507
    CheckpointLoadIgnored,  # PM508
    PartialLoadUnchecked,  # PM509
    Dinov2Permute,  # PM510
    SuppressErrors,  # PM511
    AnomalyModeLeftOn,  # PM512
    RequireGradTypo,  # PM513
    RequiresGradOnModule,  # PM514
    MissingSuperInit,  # PM515
    ReentrantCheckpoint,  # PM516
    SoftmaxIntoCrossEntropy,  # PM517
    SigmoidIntoBceWithLogits,  # PM518
    ModulesInPlainContainer,  # PM519
    OneLayerRepeated,  # PM520
    CallWithoutParentheses,  # PM521
    ConflictingArguments,  # PM522
    LossClassGivenTensors,  # PM523
    SoftmaxWithoutDim,  # PM524
    ContextManagerNotEntered,  # PM525
    AmpClipBeforeUnscale,  # PM530
    AmpStepWithoutUpdate,  # PM531
    ZeroGradBeforeStep,  # PM532
    NoZeroGrad,  # PM533
    SchedulerScope,  # PM534
    PlateauWithoutMetric,  # PM535
    EvaluationWithoutNoGrad,  # PM536
    EvaluationWithoutEval,  # PM537
    TrainModeNotRestored,  # PM538
    OptimizerBeforeModelChange,  # PM539
    OptimizerBuiltInTheLoop,  # PM540
    LossScaledOnlyInCondition,  # PM541
    BackwardOnlyOnTheLastBatch,  # PM542
    AccumulateTheGraph,  # PM543
    EphemeralOutputPath,  # PM544
    DataParallelUnwrappedCall,  # PM545
    SamplerWithoutSetEpoch,  # PM546
    SeedSetInTheLoop,  # PM547
    UnshuffledTrainingLoader,  # PM548
    BackwardInNoGrad,  # PM549
    ClipAtTheWrongTime,  # PM550
    PlateauWatchesTheWrongWay,  # PM551
    StepOutsideTheBatchLoop,  # PM552
    LossMadeALeaf,  # PM553
    StaleBatch,  # PM554
    CheckpointLambdaLate,  # PM555
    DroppedFunctionResult,  # PM556
    EvaluationKeepsGraph,  # PM557
    NeighboursDoNotFit,  # PM558
    NumberReadAsString,  # PM560
    ConflictingSwitches,  # PM561
    UnknownKeyword,  # PM580
    RemovedFunction,  # PM581
    TooNewForTarget,  # PM582
    TorchLoadHazards,  # PM583
    TooNewForOldest,  # PM584
    ConfigUnknownKeyword,  # PM585
    GoneBeforeAll,  # PM586
)

__all__ = ["ALL", "ConfigRule", "Rule"]
