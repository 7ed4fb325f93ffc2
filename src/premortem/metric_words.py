"""The words by which scripts call what they measure and count: one list for every room that reads names or lines."""

import functools
import re


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- what is measured -------------------------------------------------------------------------

# Better when lower. Shares of errors (wer, cer) are among them; they behave like scores otherwise.
_RATES_OF_ERROR = _set("wer cer eer")
LOWER = _RATES_OF_ERROR | _set(
    "loss losses err error errors l1 l2 mse mae rmse mape smape nmse nll bce ce xent kl ppl perplexity cost fid lpips"
)
# Better when higher, whoever prints them.
ACCURACIES = _set("acc accs accuracy accuracies bacc acc@1 acc@5 top1 top5")
HIGHER = ACCURACIES | _set(
    "f1 auc auroc auprc psnr ssim iou miou dice precision recall r2 bleu rouge kappa mcc map50"
)
# A loss can take any value, so that it is never the same twice; a score is a share, or stays still for other reasons.
# The evidence lower bound is printed with either sign, a score of unknown meaning may be better when lower.
LOSSES = (LOWER - _RATES_OF_ERROR) | _set("elbo")
SCORES = HIGHER | _RATES_OF_ERROR | _set("map score hit correct")
METRICS = LOSSES | SCORES

# --- on which data ----------------------------------------------------------------------------

SPLITS = {
    **dict.fromkeys(("train", "training", "trn"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "val"),
    **dict.fromkeys(("test", "testing", "tst"), "test"),
    **dict.fromkeys(("eval", "evaluation"), "eval"),
    **dict.fromkeys(("holdout", "heldout"), "holdout"),
}
TRAINED = frozenset(word for word, split in SPLITS.items() if split == "train")
EVALUATED = frozenset(SPLITS) - TRAINED

# --- not of now -------------------------------------------------------------------------------

# A record of the past stays the same while nothing beats it, and begins at infinity; a reference is no measurement.
RECORDS = _set(
    "best min minimum max maximum lowest highest record previous prev last old initial reference ref baseline naive "
    "chance majority threshold limit"
)

# --- what ends --------------------------------------------------------------------------------

# An episode that ends by itself: behind it there is nothing.
TERMINAL = _set("terminal terminals terminated termination")

# --- of all that came so far -------------------------------------------------------------------

CUMULATIVE = _set("cumulative cumul cum prequential online lifetime far")

# --- what is counted --------------------------------------------------------------------------

EPOCHS = _set("epoch epochs ep")
ITERATIONS = _set("iter iters iteration iterations it")
STEPS = ITERATIONS | _set("step steps")
# How many samples one step is made of: batch size, accumulation, number of processes.
BATCHES = _set("batchsize bs bsz")
ACCUMULATED = _set("accum accumulate accumulation accumulated")
PROCESSES = _set("world worldsize nproc gpus ngpus ranks")
COUNTERS = EPOCHS | STEPS | _set("batch batches round rounds fold folds")

_WORD = re.compile(r"[^\W\d_][^\W_]*(?:@\d+)?")
_HUMP = re.compile(r"(?<=[^\W\d_A-Z]{2})(?=[A-Z])")  # between the words of valLoss, not in mAP


@functools.lru_cache(maxsize=4096)  # a script prints the same names in every line
def words(name: str) -> frozenset[str]:
    """`bestValLoss_ema` as best, val, loss, ema; `acc@5` and `f1` are words too."""
    return frozenset(_WORD.findall(_HUMP.sub(" ", name).lower()))


def direction(name: str) -> int:
    """Whether what has this name should rise (1) or fall (-1); 0 when it does not say."""
    found = words(name)
    return bool(found & HIGHER) - bool(found & LOWER)


def counts(name: str) -> str:
    """What this counter counts: "epoch", "step", or "" when its name does not say."""
    found = words(name.rpartition(".")[2])
    return "epoch" if found & EPOCHS else "step" if found & STEPS else ""


def sizes_a_step(name: str) -> str:
    """Which part of the number of samples in a step has this name: "batch", "accumulated", "processes", or ""."""
    found = words(name)
    if found & EVALUATED:
        return ""
    if found & ACCUMULATED:
        return "accumulated"
    if found & PROCESSES:
        return "processes"
    return "batch" if found & BATCHES or found >= {"batch", "size"} else ""


def speaks_of_epochs(code: str) -> bool:
    """Whether a piece of code names epochs, by whatever name: `num_epochs`, `nepoch`, `args.epochs`."""
    return "epoch" in code.lower()
