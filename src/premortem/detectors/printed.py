"""What the numbers in a printed line are: a counter, a metric of the evaluation, something else."""

from __future__ import annotations

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
    for label, text, value in line.values:
        if label in COUNTERS and text.isdigit() and value < 1e6:
            return label, int(value)
    return None


def counted(line: LogLine) -> int | None:
    """Likewise, or a whole number that the line begins with ("[03] loss 0.5"): whoever asks sees whether it counts."""
    named = counter(line)
    if named is not None:
        return named[1]
    for label, text, value in line.values[:1]:
        if not label and text.isdigit() and value < 1e6:
            return int(value)
    return None


def kind_of(line: LogLine) -> str:
    """What lines of one `print` have in common; padding differs with the width of the numbers."""
    return " ".join(line.template.split())


def evaluates(line: LogLine) -> bool:
    """Whether the line tells the result of an evaluation, so that there was one before it."""
    return any(names & (EVALUATED | SCORES) for names in columns(line))


def held_out(line: LogLine) -> bool:
    """Whether it tells a result on data that is not trained on."""
    return any(names & EVALUATED for names in columns(line))


def digits(text: str) -> int:
    """Significant digits, as printed: 4 in "0.4410", 1 in "0.1000" (its zeros say nothing)."""
    mantissa = text.lower().partition("e")[0].lstrip("+-")
    whole = mantissa.replace(".", "").replace(",", "").lstrip("0")
    return len(whole) if "." in mantissa and len(whole.rstrip("0")) >= 2 else len(whole.rstrip("0"))
