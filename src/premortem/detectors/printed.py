"""What the numbers in a printed line are: a counter, a metric of the evaluation, something else."""

from __future__ import annotations

import math
import re

from premortem.events import LogLine

EVALUATED = frozenset("val valid validation dev test testing eval evaluation holdout heldout".split())
LOSSES = frozenset(
    "loss err error l1 l2 mse mae rmse mape nll bce ce xent ppl perplexity elbo nmse rel_l2".split()
)
SCORES = frozenset(
    "acc accuracy f1 auc auroc r2 bleu rouge iou miou map dice precision recall score psnr ssim wer cer top1 top5 "
    "acc@1 acc@5 hit correct".split()
)
# A record of the past stays the same while nothing beats it; these are no measurement of now.
RECORDS = frozenset("best min max lowest highest previous prev last baseline naive chance majority".split())
COUNTERS = frozenset("epoch epochs ep round iteration iter it".split())
WORDS = re.compile(r"[^\W\d_][^\W_]*(?:@\d+)?")


def words(label: str) -> frozenset[str]:
    return frozenset(WORDS.findall(label.lower()))


def columns(line: LogLine) -> list[frozenset[str]]:
    """The words that say what each number is: its label, and what stands between it and the number before."""
    pieces = line.template.split("#")
    if len(pieces) != len(line.values) + 1:
        return [words(label) for label, _, _ in line.values]
    return [words(label) | words(piece) for (label, _, _), piece in zip(line.values, pieces, strict=False)]


def counter(line: LogLine) -> tuple[str, int] | None:
    """The number of the epoch in this line, with the word it is called by."""
    for label, _, value in line.values:
        if label in COUNTERS and math.isfinite(value) and value == int(value) and 0 <= value < 1e6:
            return label, int(value)
    return None


def metrics(line: LogLine) -> bool:
    """Whether the line tells a measurement (and so something was measured before it)."""
    return any(names & (EVALUATED | LOSSES | SCORES) for names in columns(line))


def digits(text: str) -> int:
    """Significant digits, as printed: 4 in "0.4410", 1 in "0.1000" (its zeros say nothing)."""
    mantissa = text.lower().partition("e")[0].lstrip("+-")
    whole = mantissa.replace(".", "").replace(",", "").lstrip("0")
    return len(whole) if "." in mantissa and len(whole.rstrip("0")) >= 2 else len(whole.rstrip("0"))
