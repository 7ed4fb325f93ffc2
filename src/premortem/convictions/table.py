"""Every rule of lint: the effect at run time that convicts it, or why no run shows one."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from premortem.convictions.effect import Effect
from premortem.convictions.effects.crash import Crash
from premortem.convictions.effects.dropped_result import DroppedResult
from premortem.convictions.effects.kept_graphs import KeptGraphs
from premortem.convictions.effects.optimizer_runs import OptimizerRuns
from premortem.convictions.effects.parts_of_one_dataset import PartsOfOneDataset
from premortem.convictions.effects.rate_cut_while_better import RateCutWhileBetter
from premortem.convictions.effects.rate_gone_in_an_epoch import RateGoneInAnEpoch
from premortem.convictions.effects.repeated_layer import RepeatedLayer
from premortem.convictions.effects.same_order import SameOrder
from premortem.convictions.effects.scaled_clip import ScaledClip
from premortem.convictions.effects.stale_input import StaleInput
from premortem.convictions.effects.swallowed_failure import SwallowedFailure
from premortem.convictions.effects.untrained_forwards import UntrainedForwards
from premortem.events import Suspicion


class Charge(NamedTuple):
    """How one rule is judged."""

    code: str  # of lint's rule
    # Diagnoses of the run that are the same mistake: such a finding is proved by the report. The first one is what an
    # effect is reported as; without any, lint's own code is.
    reported_as: tuple[str, ...] = ()
    effects: tuple[Callable[[Suspicion], Effect], ...] = ()
    harmless: bool = False  # certain, but the run is not broken by it: it keeps the severity of lint
    unseen: str = ""  # why no run shows it


def _crash(*errors: str, words: tuple[str, ...] = ()) -> Callable[[Suspicion], Effect]:
    return partial(Crash, errors=errors, words=words)


_OWN_ERROR = "the exception of the run says it in the same words"
_CHARGES = (
    Charge(
        "PM501",
        effects=(
            DroppedResult,
            _crash(words=("Expected all tensors to be on the same device", "must have the same dtype")),
        ),
    ),
    Charge("PM502", ("overflow",), (_crash("RuntimeError", words=("without overflow",)),)),
    Charge("PM503", ("masked-non-finite",)),
    Charge("PM504", ("loss-without-graph",)),
    Charge(
        "PM505",
        unseen="which number took the place of the metric is not visible outside of the script's own code",
    ),
    Charge("PM506", effects=(SwallowedFailure,)),
    Charge("PM507", unseen="samples are made in workers, and a replaced one looks like any other"),
    Charge("PM508", ("checkpoint-did-not-match",)),
    Charge("PM509", ("checkpoint-did-not-match",)),
    Charge("PM510", ("shapes-do-not-fit",), (_crash("RuntimeError"),)),
    Charge("PM511", unseen="code that silently runs uncompiled computes the same"),
    Charge("PM512", unseen="it costs time, and there is no second run to compare with"),
    Charge("PM513", ("frozen-by-leftover", "frozen-only-in-name")),
    Charge("PM514", ("frozen-only-in-name", "frozen-by-leftover")),
    Charge("PM515", effects=(_crash("AttributeError", words=("before Module.__init__()",)),)),
    Charge(
        "PM516",
        unseen="which gradients a reentrant checkpoint would lose depends on inputs that no event has",
    ),
    Charge("PM517", ("softmax-before-cross-entropy",)),
    Charge("PM518", ("sigmoid-before-bce-with-logits",)),
    Charge("PM519", ("hidden-submodules", "parameter-without-optimizer")),
    Charge("PM520", effects=(RepeatedLayer,)),
    Charge(
        "PM521",
        (
            "gradients-never-cleared",
            "step-never-called",
            "scheduler-never-stepped",
            "evaluated-in-train-mode",
            "trained-in-eval-mode",
        ),
    ),
    Charge("PM522", effects=(_crash("ValueError", "RuntimeError", "TypeError"),)),
    Charge("PM523", effects=(_crash(words=("has no attribute 'backward'", "Boolean value of Tensor")),)),
    Charge("PM524", ("over-the-batch-dimension", "normalised-over-one-value")),
    Charge("PM525", ("evaluated-with-gradients",), harmless=True),
    Charge("PM530", effects=(ScaledClip,)),
    Charge("PM531", effects=(_crash("RuntimeError", words=("since the last update()",)),)),
    Charge("PM532", ("gradients-cleared-before-step", "gradients-thrown-away")),
    Charge("PM533", ("gradients-never-cleared",)),
    Charge(
        "PM534",
        ("scheduler-stepped-per-batch", "scheduler-stepped-per-epoch", "scheduler-past-horizon"),
        (RateGoneInAnEpoch,),
    ),
    Charge("PM535", effects=(_crash("TypeError"),)),
    Charge("PM536", ("evaluated-with-gradients",), harmless=True),
    Charge("PM537", ("evaluated-in-train-mode",)),
    Charge("PM538", ("trained-in-eval-mode",)),
    Charge("PM539", ("optimizer-holds-other-parameters", "parameter-without-optimizer")),
    Charge("PM540", ("optimizer-rebuilt-every-step",)),
    Charge("PM541", ("accumulation-divided-sometimes",)),
    Charge("PM542", ("gradients-thrown-away",), (UntrainedForwards,)),
    Charge("PM543", ("graphs-kept-alive",), (KeptGraphs,)),
    Charge("PM544", ("ephemeral-storage",), harmless=True),
    Charge("PM545", ("ranks-apart",)),
    Charge("PM546", ("shuffle-repeats-every-epoch",)),
    Charge("PM547", ("reseeded-every-step",)),
    Charge("PM548", ("class-sorted-batches",), (SameOrder,), harmless=True),
    Charge("PM549", ("loss-without-graph",), (_crash(words=("does not require grad",)),)),
    Charge("PM550", ("clipped-after-step", "clipping-reaches-nothing")),
    Charge("PM551", ("plateau-wrong-mode",), (RateCutWhileBetter,)),
    Charge("PM552", ("gradients-thrown-away", "step-once-per-epoch", "step-never-called")),
    Charge("PM553", ("loss-without-graph",)),
    Charge("PM554", effects=(StaleInput,)),
    Charge("PM555", unseen="the gradients are wrong and finite, and nothing says which would be right"),
    Charge("PM556", effects=(DroppedResult,)),
    Charge("PM557", ("graphs-kept-alive",)),
    Charge("PM558", ("shapes-do-not-fit",), (_crash("RuntimeError"),)),
    Charge("PM559", ("scheduler-before-optimizer",)),
    Charge("PM560", ("learning-rate-not-a-number",)),
    Charge("PM562", effects=(OptimizerRuns,)),
    Charge("PM563", effects=(PartsOfOneDataset,)),
    Charge("PM564", unseen="which weights were meant to be kept, nothing in the run says"),
    Charge("PM565", ("step-without-new-gradients",)),
    Charge("PM566", unseen="the run says itself that the first one failed, in the script's own words"),
    Charge("PM567", ("term-without-a-graph",)),
    Charge(
        "PM568", unseen="whether weights were to come from a file that is missing, nothing in the run says"
    ),
    Charge("PM561", unseen="which of two settings wins is the script's own code"),
    Charge("PM580", unseen=_OWN_ERROR),
    Charge("PM581", unseen=_OWN_ERROR),
    Charge("PM582", unseen=_OWN_ERROR),
    Charge("PM583", unseen=_OWN_ERROR),
    Charge("PM584", unseen="this run has one version, and the rule is about another"),
    Charge("PM585", unseen=_OWN_ERROR),
    Charge("PM586", unseen=_OWN_ERROR),
)
CHARGES: dict[str, Charge] = {charge.code: charge for charge in _CHARGES}
# What is worth reading for: rules that a run can convict.
READ: frozenset[str] = frozenset(charge.code for charge in _CHARGES if not charge.unseen)
