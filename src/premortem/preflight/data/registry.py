"""All checks of data, in the order of their codes."""

from __future__ import annotations

from premortem.preflight.data.checks.category_only_in_one_split import CategoryOnlyInOneSplit
from premortem.preflight.data.checks.classes_differ_between_splits import ClassesDifferBetweenSplits
from premortem.preflight.data.checks.codes_differ import CodesDifferBetweenSplits
from premortem.preflight.data.checks.columns_differ_between_files import ColumnsDifferBetweenFiles
from premortem.preflight.data.checks.constant_column import ConstantColumn
from premortem.preflight.data.checks.constant_label import ConstantLabel
from premortem.preflight.data.checks.copies_contradict import CopiesContradict
from premortem.preflight.data.checks.copies_within_split import CopiesWithinSplit
from premortem.preflight.data.checks.damaged_samples import DamagedSamples
from premortem.preflight.data.checks.empty_class import EmptyClass
from premortem.preflight.data.checks.encodings_differ import EncodingsDiffer
from premortem.preflight.data.checks.few_of_many_files import FewOfManyFiles
from premortem.preflight.data.checks.folder_lacks_role import FolderLacksRole
from premortem.preflight.data.checks.folder_nearly_named import FolderNearlyNamed
from premortem.preflight.data.checks.kept_file_is_stale import KeptFileIsStale
from premortem.preflight.data.checks.no_samples import NoSamples
from premortem.preflight.data.checks.non_finite_samples import NonFiniteSamples
from premortem.preflight.data.checks.odd_label import OddLabel
from premortem.preflight.data.checks.odd_range import OddRange
from premortem.preflight.data.checks.odd_sample import OddSample
from premortem.preflight.data.checks.one_class_dominates import OneClassDominates
from premortem.preflight.data.checks.pair_shapes_differ import PairShapesDiffer
from premortem.preflight.data.checks.partner_missing import PartnerMissing
from premortem.preflight.data.checks.pattern_fits_nothing import PatternFitsNothing
from premortem.preflight.data.checks.placeholder_in_a_column import PlaceholderInAColumn
from premortem.preflight.data.checks.sequence_counts_differ import SequenceCountsDiffer
from premortem.preflight.data.checks.sequences_too_short import SequencesTooShort
from premortem.preflight.data.checks.shard_comes_twice import ShardComesTwice
from premortem.preflight.data.checks.sizes_out_of_proportion import SizesOutOfProportion
from premortem.preflight.data.checks.split_is_a_linked_folder import SplitIsALinkedFolder
from premortem.preflight.data.checks.splits_look_alike import SplitsLookAlike
from premortem.preflight.data.checks.splits_overlap import SplitsOverlap
from premortem.preflight.data.checks.statistics_of_other_data import StatisticsOfOtherData
from premortem.preflight.data.checks.stored_differently import StoredDifferently
from premortem.preflight.data.checks.stored_in_few_bits import StoredInFewBits
from premortem.preflight.data.checks.table_names_missing_files import TableNamesMissingFiles
from premortem.preflight.data.checks.tar_sample_incomplete import TarSampleIncomplete
from premortem.preflight.data.checks.times_differ import TimesDoNotFit
from premortem.preflight.unit import Check

ALL: tuple[type[Check], ...] = (
    NoSamples,
    FolderNearlyNamed,
    PatternFitsNothing,
    FewOfManyFiles,
    SequencesTooShort,
    DamagedSamples,
    PartnerMissing,
    SequenceCountsDiffer,
    FolderLacksRole,
    PairShapesDiffer,
    OddSample,
    OddRange,
    NonFiniteSamples,
    SplitsOverlap,
    SplitsLookAlike,
    CopiesWithinSplit,
    CopiesContradict,
    EmptyClass,
    OneClassDominates,
    ClassesDifferBetweenSplits,
    TableNamesMissingFiles,
    OddLabel,
    ConstantLabel,
    TarSampleIncomplete,
    PlaceholderInAColumn,
    ColumnsDifferBetweenFiles,
    CategoryOnlyInOneSplit,
    SizesOutOfProportion,
    StatisticsOfOtherData,
    ConstantColumn,
    SplitIsALinkedFolder,
    KeptFileIsStale,
    EncodingsDiffer,
    StoredDifferently,
    TimesDoNotFit,
    CodesDifferBetweenSplits,
    ShardComesTwice,
    StoredInFewBits,
)
