"""What the numbers of a printed line are."""

from __future__ import annotations

import pytest

from premortem.detectors.metric_not_finite import broken
from premortem.detectors.shared.printed import columns
from premortem.metric_words import (
    ACCURACIES,
    EVALUATED,
    LOSSES,
    METRICS,
    RECORDS,
    SCORES,
    counts,
    direction,
    words,
)
from premortem.terminal.printed_lines import parse


@pytest.mark.parametrize(
    "line",
    [
        "Validation loss decreased (inf --> 4.608).  Saving model ...",
        "val_loss improved from inf to 0.52310, saving model to best.pt",
        "Validation loss: inf -> 4.608",
        "val loss inf => 4.6",
        "dev loss went from inf to 4.6",
        "valid loss 4.608 (best inf)",
        "val loss 4.608 < inf: saved",
        "Eval loss 4.6 beats inf",
        "val_loss 4.6 (was inf)",
        "test loss fell by inf to 4.6",
        "minValLoss inf, valLoss 4.6",
        "val loss: 4.6 (previous: inf)",
    ],
)
def test_what_was_before_is_no_metric_of_now(line: str) -> None:
    parsed = parse(line)
    assert parsed is not None
    assert broken(parsed, LOSSES) is None


@pytest.mark.parametrize(
    "line",
    [
        "Validation loss decreased (4.608 --> nan).",
        "val_loss changed from 0.52 to inf",
        "val loss nan",
        "Epoch 3 | train loss 0.3 | val loss inf",
        "valLoss: nan",
        "validation: mse inf",
        "val loss nan (best 0.31)",
    ],
)
def test_what_is_now_is_a_metric(line: str) -> None:
    parsed = parse(line)
    assert parsed is not None
    assert broken(parsed, LOSSES) is not None


@pytest.mark.parametrize(
    ("line", "about"),
    [
        ("epoch 1 loss 0.56 macro-F1 nan best -1.0", True),
        ("epoch 1 train acc nan loss 0.5", False),
        ("epoch 1 loss 0.56 best acc nan", False),
    ],
)
def test_a_score_need_not_be_called_the_evaluations_own(line: str, about: bool) -> None:
    parsed = parse(line)
    assert parsed is not None
    assert (broken(parsed, SCORES) is not None) is about


def test_what_follows_an_arrow_is_what_stands_before_it() -> None:
    parsed = parse("Validation loss decreased (0.7 --> 0.6)")
    assert parsed is not None
    before, after = columns(parsed)
    assert {"previous", "loss", "validation"} <= before
    assert {"loss", "validation"} <= after
    assert not after & RECORDS


def test_a_word_is_not_found_inside_another() -> None:
    for name in ("accumulated_loss", "accum", "vaccine", "account"):
        assert not words(name) & ACCURACIES, name
    for name in ("acc", "val_acc", "valAcc", "test/accuracy", "acc@1"):
        assert words(name) & ACCURACIES, name
    assert "map" in words("mAP")
    assert words("bestValLoss_ema") == {"best", "val", "loss", "ema"}


def test_the_lists_agree_with_each_other() -> None:
    assert not METRICS & (EVALUATED | RECORDS)
    assert [direction(name) for name in ("val_acc", "val_loss", "wer", "score")] == [1, -1, -1, 0]
    assert not {name for name in LOSSES if direction(name) > 0}
    assert [counts(name) for name in ("self.epoch", "n_iter", "ep", "epoch_loop.total")] == [
        "epoch",
        "step",
        "epoch",
        "",
    ]
