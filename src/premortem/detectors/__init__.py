"""Detectors: events in, findings out. To add one, write its file and add its name here."""

from premortem.detectors.accumulation_divided_sometimes import AccumulationDividedSometimes
from premortem.detectors.accumulation_not_divided import AccumulationNotDivided
from premortem.detectors.accumulation_window_broken import AccumulationWindowBroken
from premortem.detectors.adversarial_labels import AdversarialLabels
from premortem.detectors.attention_over_wrong_dimension import AttentionOverWrongDimension
from premortem.detectors.average_not_restored import AverageNotRestored
from premortem.detectors.base import Detector
from premortem.detectors.batch_split import BatchSplit
from premortem.detectors.batch_taken_for_time import BatchTakenForTime
from premortem.detectors.better_loss_worse_score import BetterLossWorseScore
from premortem.detectors.broadcast_in_loss import BroadcastInLoss
from premortem.detectors.changed_before_backward import ChangedBeforeBackward
from premortem.detectors.checkpoint_did_not_match import CheckpointDidNotMatch
from premortem.detectors.checkpoint_does_not_read_back import CheckpointDoesNotReadBack
from premortem.detectors.checkpoint_non_finite import CheckpointNonFinite
from premortem.detectors.checkpoint_not_saved import CheckpointNotSaved
from premortem.detectors.class_sorted_batches import ClassSortedBatches
from premortem.detectors.clipped_after_step import ClippedAfterStep
from premortem.detectors.clipped_before_more_gradients import ClippedBeforeMoreGradients
from premortem.detectors.clipped_hard_every_step import ClippedHardEveryStep
from premortem.detectors.clipping_reaches_nothing import ClippingReachesNothing
from premortem.detectors.collectives_out_of_order import CollectivesOutOfOrder
from premortem.detectors.compared_with_itself import ComparedWithItself
from premortem.detectors.constant_labels import ConstantLabels
from premortem.detectors.counter_restarts import CounterRestarts
from premortem.detectors.damaged_checkpoint_loaded import DamagedCheckpointLoaded
from premortem.detectors.data_changed_in_place import DataChangedInPlace
from premortem.detectors.dead_units import DeadUnits
from premortem.detectors.deadline_reached import DeadlineReached
from premortem.detectors.detached_from_loss import DetachedFromLoss
from premortem.detectors.discriminator_loss_in_generator import DiscriminatorLossInGenerator
from premortem.detectors.disk_too_full import DiskTooFull
from premortem.detectors.dropout_near_one import DropoutNearOne
from premortem.detectors.ephemeral_storage import EphemeralStorage
from premortem.detectors.evaluated_copy_never_changes import EvaluatedCopyNeverChanges
from premortem.detectors.evaluated_in_train_mode import EvaluatedInTrainMode
from premortem.detectors.evaluated_with_gradients import EvaluatedWithGradients
from premortem.detectors.exploding_gradients import ExplodingGradients
from premortem.detectors.fewer_samples_than_expected import FewerSamplesThanExpected
from premortem.detectors.frozen_by_leftover import FrozenByLeftover
from premortem.detectors.frozen_only_in_name import FrozenOnlyInName
from premortem.detectors.generator_gets_no_gradient import GeneratorGetsNoGradient
from premortem.detectors.gradients_cleared_before_step import GradientsClearedBeforeStep
from premortem.detectors.gradients_never_cleared import GradientsNeverCleared
from premortem.detectors.gradients_thrown_away import GradientsThrownAway
from premortem.detectors.graph_used_twice import GraphUsedTwice
from premortem.detectors.graphs_kept_alive import GraphsKeptAlive
from premortem.detectors.hidden_submodules import HiddenSubmodules
from premortem.detectors.input_without_effect import InputWithoutEffect
from premortem.detectors.kept_by_reference import KeptByReference
from premortem.detectors.kept_the_worst import KeptTheWorst
from premortem.detectors.kl_arguments import KlArguments
from premortem.detectors.labels_numbered_differently import LabelsNumberedDifferently
from premortem.detectors.labels_outside_the_loss import LabelsOutsideTheLoss
from premortem.detectors.learned_then_blew_up import LearnedThenBlewUp
from premortem.detectors.learning_rate_not_a_number import LearningRateNotANumber
from premortem.detectors.learning_rate_set_nowhere import LearningRateSetNowhere
from premortem.detectors.learning_rate_stuck import LearningRateStuck
from premortem.detectors.learning_rate_zero import LearningRateZero
from premortem.detectors.little_headroom import LittleHeadroom
from premortem.detectors.loaded_weights_overwritten import LoadedWeightsOverwritten
from premortem.detectors.loader_exhausted import LoaderExhausted
from premortem.detectors.loss_not_finite import LossNotFinite
from premortem.detectors.loss_without_graph import LossWithoutGraph
from premortem.detectors.loss_without_lower_bound import LossWithoutLowerBound
from premortem.detectors.masked_non_finite import MaskedNonFinite
from premortem.detectors.memory_format_of_other_rank import MemoryFormatOfOtherRank
from premortem.detectors.metric_frozen import MetricFrozen
from premortem.detectors.metric_not_finite import MetricNotFinite
from premortem.detectors.mirror_behind import MirrorBehind
from premortem.detectors.nll_without_log_probabilities import NllWithoutLogProbabilities
from premortem.detectors.no_batches import NoBatches
from premortem.detectors.non_finite_input import NonFiniteInput
from premortem.detectors.non_finite_training import NonFiniteTraining
from premortem.detectors.normalised_over_one_value import NormalisedOverOneValue
from premortem.detectors.optimizer_holds_other_parameters import OptimizerHoldsOtherParameters
from premortem.detectors.optimizer_rebuilt_every_step import OptimizerRebuiltEveryStep
from premortem.detectors.optimizer_refused_parameters import OptimizerRefusedParameters
from premortem.detectors.optimizer_state_misplaced import OptimizerStateMisplaced
from premortem.detectors.optimizer_state_not_restored import OptimizerStateNotRestored
from premortem.detectors.out_of_memory import OutOfMemory
from premortem.detectors.over_the_batch_dimension import OverTheBatchDimension
from premortem.detectors.overflow import Overflow
from premortem.detectors.padding_in_the_loss import PaddingInTheLoss
from premortem.detectors.parameter_without_optimizer import ParameterWithoutOptimizer
from premortem.detectors.plateau_fed_non_finite import PlateauFedNonFinite
from premortem.detectors.plateau_wrong_mode import PlateauWrongMode
from premortem.detectors.poisoned_checkpoint import PoisonedCheckpoint
from premortem.detectors.rank_lags_behind import RankLagsBehind
from premortem.detectors.ranks_apart import RanksApart
from premortem.detectors.ranks_out_of_step import RanksOutOfStep
from premortem.detectors.rate_goes_up_and_down import RateGoesUpAndDown
from premortem.detectors.raw_scores_in_bce import RawScoresInBce
from premortem.detectors.reconstruction_ignores_input import ReconstructionIgnoresInput
from premortem.detectors.refused_too_often import RefusedTooOften
from premortem.detectors.reseeded_every_step import ReseededEveryStep
from premortem.detectors.reshape_as_transpose import ReshapeAsTranspose
from premortem.detectors.restored_own_live_weights import RestoredOwnLiveWeights
from premortem.detectors.rounded_away import RoundedAway
from premortem.detectors.rows_treated_differently import RowsTreatedDifferently
from premortem.detectors.same_batch_every_step import SameBatchEveryStep
from premortem.detectors.same_data_on_every_rank import SameDataOnEveryRank
from premortem.detectors.sample_depends_on_batch import SampleDependsOnBatch
from premortem.detectors.saturated_activations import SaturatedActivations
from premortem.detectors.saved_weights_never_change import SavedWeightsNeverChange
from premortem.detectors.scaled_gradients_stepped import ScaledGradientsStepped
from premortem.detectors.scaler_collapses import ScalerCollapses
from premortem.detectors.scaler_not_restored import ScalerNotRestored
from premortem.detectors.schedule_restarts import ScheduleRestarts
from premortem.detectors.scheduler_before_optimizer import SchedulerBeforeOptimizer
from premortem.detectors.scheduler_drives_other_optimizer import SchedulerDrivesOtherOptimizer
from premortem.detectors.scheduler_never_stepped import SchedulerNeverStepped
from premortem.detectors.scheduler_past_horizon import SchedulerPastHorizon
from premortem.detectors.scheduler_stepped_per_batch import SchedulerSteppedPerBatch
from premortem.detectors.scheduler_stepped_per_epoch import SchedulerSteppedPerEpoch
from premortem.detectors.scheduler_stepped_per_micro_batch import SchedulerSteppedPerMicroBatch
from premortem.detectors.scheduler_stepped_twice import SchedulerSteppedTwice
from premortem.detectors.sees_its_own_target import SeesItsOwnTarget
from premortem.detectors.settings_overwritten_by_file import SettingsOverwrittenByFile
from premortem.detectors.shapes_do_not_fit import ShapesDoNotFit
from premortem.detectors.shuffle_repeats_every_epoch import ShuffleRepeatsEveryEpoch
from premortem.detectors.sigmoid_before_bce_with_logits import SigmoidBeforeBceWithLogits
from premortem.detectors.soft_labels_no_probabilities import SoftLabelsNoProbabilities
from premortem.detectors.softmax_before_cross_entropy import SoftmaxBeforeCrossEntropy
from premortem.detectors.softmax_over_one_class import SoftmaxOverOneClass
from premortem.detectors.state_not_in_checkpoint import StateNotInCheckpoint
from premortem.detectors.statistics_apart import StatisticsApart
from premortem.detectors.statistics_never_collected import StatisticsNeverCollected
from premortem.detectors.statistics_not_finite import StatisticsNotFinite
from premortem.detectors.step_never_called import StepNeverCalled
from premortem.detectors.step_once_per_epoch import StepOncePerEpoch
from premortem.detectors.step_without_new_gradients import StepWithoutNewGradients
from premortem.detectors.stepped_but_not_moved import SteppedButNotMoved
from premortem.detectors.stepped_twice_on_one_gradient import SteppedTwiceOnOneGradient
from premortem.detectors.sudden_jump import SuddenJump
from premortem.detectors.symmetric_initialisation import SymmetricInitialisation
from premortem.detectors.target_never_updated import TargetNeverUpdated
from premortem.detectors.target_out_of_reach import TargetOutOfReach
from premortem.detectors.train_and_eval_inputs_differ import TrainAndEvalInputsDiffer
from premortem.detectors.train_and_val_on_different_scales import TrainAndValOnDifferentScales
from premortem.detectors.trained_in_eval_mode import TrainedInEvalMode
from premortem.detectors.unequal_batches import UnequalBatches
from premortem.detectors.uninformative_labels import UninformativeLabels
from premortem.detectors.unnormalised_inputs import UnnormalisedInputs
from premortem.detectors.unscaled_targets import UnscaledTargets
from premortem.detectors.update_refused import UpdateRefused
from premortem.detectors.updates_too_large import UpdatesTooLarge
from premortem.detectors.updates_too_small import UpdatesTooSmall
from premortem.detectors.vanishing_gradients import VanishingGradients
from premortem.detectors.weight_decay_collapse import WeightDecayCollapse
from premortem.detectors.weights_stay_non_finite import WeightsStayNonFinite
from premortem.detectors.workers_share_generator import WorkersShareGenerator
from premortem.detectors.wrong_sign import WrongSign

ALL: tuple[type[Detector], ...] = (
    OptimizerHoldsOtherParameters,  # PM101
    HiddenSubmodules,  # PM102
    ParameterWithoutOptimizer,  # PM103
    SteppedTwiceOnOneGradient,  # PM104
    OptimizerRefusedParameters,  # PM105
    OptimizerRebuiltEveryStep,  # PM106
    SteppedButNotMoved,  # PM107
    DetachedFromLoss,  # PM111
    FrozenByLeftover,  # PM112
    LossWithoutGraph,  # PM113
    GraphUsedTwice,  # PM114
    ChangedBeforeBackward,  # PM115
    FrozenOnlyInName,  # PM116
    InputWithoutEffect,  # PM117
    GradientsClearedBeforeStep,  # PM121
    GradientsNeverCleared,  # PM122
    StepNeverCalled,  # PM123
    StepWithoutNewGradients,  # PM124
    GradientsThrownAway,  # PM125
    ScaledGradientsStepped,  # PM126
    StepOncePerEpoch,  # PM127
    AccumulationNotDivided,  # PM131
    AccumulationDividedSometimes,  # PM132
    AccumulationWindowBroken,  # PM133
    GeneratorGetsNoGradient,  # PM141
    DiscriminatorLossInGenerator,  # PM142
    AdversarialLabels,  # PM143
    SchedulerSteppedPerBatch,  # PM201
    SchedulerSteppedPerEpoch,  # PM202
    SchedulerNeverStepped,  # PM203
    SchedulerPastHorizon,  # PM204
    PlateauWrongMode,  # PM205
    PlateauFedNonFinite,  # PM206
    SchedulerBeforeOptimizer,  # PM207
    SchedulerDrivesOtherOptimizer,  # PM208
    SchedulerSteppedTwice,  # PM209
    SchedulerSteppedPerMicroBatch,  # PM210
    LearningRateZero,  # PM211
    UpdatesTooSmall,  # PM212
    UpdatesTooLarge,  # PM213
    LearningRateNotANumber,  # PM214
    LearningRateStuck,  # PM215
    LearningRateSetNowhere,  # PM216
    RateGoesUpAndDown,  # PM217
    ClippedHardEveryStep,  # PM221
    ClippedAfterStep,  # PM222
    ClippingReachesNothing,  # PM223
    ClippedBeforeMoreGradients,  # PM224
    WeightDecayCollapse,  # PM231
    SaturatedActivations,  # PM241
    DeadUnits,  # PM242
    SymmetricInitialisation,  # PM243
    VanishingGradients,  # PM244
    ExplodingGradients,  # PM245
    DropoutNearOne,  # PM246
    GraphsKeptAlive,  # PM251
    EvaluatedInTrainMode,  # PM301
    TrainedInEvalMode,  # PM302
    EvaluatedCopyNeverChanges,  # PM303
    MetricFrozen,  # PM304
    TrainAndValOnDifferentScales,  # PM305
    EvaluatedWithGradients,  # PM306
    StatisticsNeverCollected,  # PM307
    TargetNeverUpdated,  # PM308
    CheckpointDidNotMatch,  # PM311
    OptimizerStateNotRestored,  # PM312
    RestoredOwnLiveWeights,  # PM313
    CheckpointNonFinite,  # PM314
    LoadedWeightsOverwritten,  # PM315
    StateNotInCheckpoint,  # PM316
    SavedWeightsNeverChange,  # PM317
    KeptByReference,  # PM318
    PoisonedCheckpoint,  # PM320
    NoBatches,  # PM321
    FewerSamplesThanExpected,  # PM322
    LoaderExhausted,  # PM323
    CheckpointDoesNotReadBack,  # PM324
    EphemeralStorage,  # PM325
    DiskTooFull,  # PM326
    MirrorBehind,  # PM327
    DeadlineReached,  # PM328
    CheckpointNotSaved,  # PM329
    ClassSortedBatches,  # PM331
    SameBatchEveryStep,  # PM332
    ReseededEveryStep,  # PM333
    OptimizerStateMisplaced,  # PM335
    ScheduleRestarts,  # PM336
    SettingsOverwrittenByFile,  # PM337
    ScalerNotRestored,  # PM338
    CounterRestarts,  # PM339
    AverageNotRestored,  # PM340
    DataChangedInPlace,  # PM341
    WorkersShareGenerator,  # PM342
    DamagedCheckpointLoaded,  # PM343
    KeptTheWorst,  # PM344
    OutOfMemory,  # PM360
    BatchSplit,  # PM361
    SoftmaxBeforeCrossEntropy,  # PM401
    SigmoidBeforeBceWithLogits,  # PM402
    NllWithoutLogProbabilities,  # PM403
    KlArguments,  # PM404
    WrongSign,  # PM405
    TargetOutOfReach,  # PM406
    LossWithoutLowerBound,  # PM407
    SoftLabelsNoProbabilities,  # PM408
    SoftmaxOverOneClass,  # PM409
    RawScoresInBce,  # PM410
    BroadcastInLoss,  # PM411
    ReshapeAsTranspose,  # PM412
    OverTheBatchDimension,  # PM413
    BatchTakenForTime,  # PM414
    ShapesDoNotFit,  # PM415
    AttentionOverWrongDimension,  # PM416
    MemoryFormatOfOtherRank,  # PM417
    PaddingInTheLoss,  # PM418
    RowsTreatedDifferently,  # PM419
    SampleDependsOnBatch,  # PM420
    ConstantLabels,  # PM421
    UninformativeLabels,  # PM422
    LabelsOutsideTheLoss,  # PM423
    LabelsNumberedDifferently,  # PM424
    NormalisedOverOneValue,  # PM425
    SeesItsOwnTarget,  # PM426
    ReconstructionIgnoresInput,  # PM427
    BetterLossWorseScore,  # PM428
    UnnormalisedInputs,  # PM431
    UnscaledTargets,  # PM432
    TrainAndEvalInputsDiffer,  # PM433
    NonFiniteInput,  # PM441
    NonFiniteTraining,  # PM442
    MaskedNonFinite,  # PM443
    WeightsStayNonFinite,  # PM444
    Overflow,  # PM445
    RoundedAway,  # PM446
    UpdateRefused,  # PM447
    RefusedTooOften,  # PM448
    SuddenJump,  # PM449
    ScalerCollapses,  # PM450
    LittleHeadroom,  # PM451
    LossNotFinite,  # PM452
    StatisticsNotFinite,  # PM453
    MetricNotFinite,  # PM454
    ComparedWithItself,  # PM455
    LearnedThenBlewUp,  # PM456
    RanksApart,  # PM481
    RanksOutOfStep,  # PM482
    SameDataOnEveryRank,  # PM483
    ShuffleRepeatsEveryEpoch,  # PM484
    UnequalBatches,  # PM485
    StatisticsApart,  # PM486
    RankLagsBehind,  # PM487
    CollectivesOutOfOrder,  # PM488
)

__all__ = ["ALL", "Detector"]
