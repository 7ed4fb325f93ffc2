"""What holds for every change: it applies or says why not, it can be put on, has its effect, and leaves nothing behind."""

import inspect
from pathlib import Path

import pytest
import torch
from torch.optim import optimizer as hooks

from premortem import changes
from premortem.changes import RunDescription
from premortem.changes.reach import Reach
from premortem.findings import FAMILIES
from premortem.points import point as points
from tests.changes.loops import train

FOLDER = Path(inspect.getfile(changes)).parent
NOT_CHANGES = {"__init__", "base", "reach", "edits", "patches", "batches", "summands", "late", "too_late"}
NAMES = [cls.name for cls in changes.ALL]
# A run in which each of them has something to change.
EVERYTHING = RunDescription(
    device="cuda",
    optimizers=("Adam",),
    groups=({"eps": 0.0, "lr": 1e-3, "fused": False},),
    foreach=True,
    low_precision=True,
    compiled=True,
    convolutions=4,
    repeated_blocks=3,
    checkpoints=True,
    reentrant=True,
    zeroed_in_place=True,
    samples=2,
    clips=True,
    schedules=True,
    frozen=2,
    eval_with_gradients=True,
    loader=True,
    targets=True,
    augments=True,
    negative_loss=True,
    stale_gradients=True,
    missing=1,
    squashed=True,
    mismatched=True,
    odd_inputs=True,
    unshuffled=True,
    train_without_gradients=True,
    dropout=0.1,
    weight_decay=0.1,
    terms=3,
    kept_statistics=True,
    splits=True,
    own_weights=True,
    bounded=True,
    odd_scores=True,
    odd_settings=True,
    sigmoid_layers=True,
    backwards_per_step=2,
    stuck=True,
)
AS_IT_IS = RunDescription(optimizers=("Adam",), groups=({"fused": False},), convolutions=1, repeated_blocks=3)
ALWAYS = {
    "float64",
    "rate-times-ten",
    "rate-tenth",
    "without-term",
}  # there is no run without an opening for them
SETTINGS = {"some-samples": {"kept": [1]}, "without-term": {"index": 1}}
# What the loop needs besides for a change to have an effect.
NEEDS = {
    "float32": {"autocast": True},
    "eager": {"compiled": True},
    "non-reentrant-checkpoint": {"reentrant": True},
    "train-mode": {"eval_mode": True},
    "clipped-to-one": {"scale": 100.0},
    "fresh-gradients": {"stale": True},
    "everything-owned": {"owned": False},
    "no-activation-before-loss": {"squashed": True},
    "same-shapes": {"mismatched": True},
    "shuffled": {"shuffle": False},
    "eval-mode": {"left_training": True},
    "no-weight-decay": {"decay": 0.1},
    "third-term-silent": {"mismatched": True},
    "first-term-alone": {"mismatched": True},
    "second-term-alone": {"mismatched": True},
    "third-term-alone": {"mismatched": True},
    "another-split": {"split": True},
    "usual-settings": {"epsilon": 0.1},
    "no-activation-before-error": {"bounded": True},
    "relu-between-layers": {"sigmoid": True},
}
COMPUTES = {"compile", "compile-blocks", "eager"}  # the same thing, in another way


def settings_of():
    return (
        torch.get_default_dtype(),
        torch.get_deterministic_debug_mode(),
        torch.is_autocast_enabled("cpu"),
        list(hooks._global_optimizer_pre_hooks),
        list(hooks._global_optimizer_post_hooks),
        [(each.owner, each.name) for each in points.installed()],
        torch.optim.Adam,
    )


@pytest.fixture(scope="module")
def as_it_is(tmp_path_factory):
    known = {}

    def run(folder, **needs):
        key = tuple(needs)
        if key not in known:
            known[key] = train(folder=folder, **needs)
        return known[key]

    return run


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # dynamo asks for it
@pytest.mark.parametrize("cls", changes.ALL, ids=NAMES)
def test_it_is_put_on_and_taken_off(cls, as_it_is, tmp_path):
    needs = NEEDS.get(cls.name, {})
    before, seen_before = as_it_is(tmp_path, **needs)
    untouched = settings_of()
    reach = Reach()
    run = RunDescription(device="cpu", backend="eager", backwards_per_step=2, saves=2, optimizers=("Adam",))
    change = cls(reach, run, SETTINGS.get(cls.name, {}))
    ends = []
    change.die = lambda: ends.append("killed")
    with change.on():
        during, seen = train(folder=tmp_path, **needs)
    assert settings_of() == untouched
    took_effect = during != before or seen != seen_before or bool(ends)
    assert took_effect or (cls.name in COMPUTES and change.touched), "it changes nothing"
    if cls.name not in SETTINGS:
        assert change.touched or ends
    if cls.name in COMPUTES:
        torch.compiler.reset()
    assert train(folder=tmp_path, **needs) == (before, seen_before), "something of it is left"


@pytest.mark.parametrize("cls", changes.ALL, ids=NAMES)
def test_it_says_what_it_is(cls):
    roles = [cls.harm, cls.one_step, cls.memory, cls.time, cls.learning]
    assert any(roles), "nobody would use it"
    assert (cls.__doc__ or "").strip().endswith(".")
    if cls.harm is not None:
        assert cls.harm.families, "without families no finding can be right"
        assert cls.harm.families <= set(FAMILIES)
        assert cls.harm.needs
    if cls.learning is not None:
        assert not cls.learning.family or cls.learning.family in FAMILIES


@pytest.mark.parametrize("cls", changes.ALL, ids=NAMES)
def test_it_says_when_it_does_not_apply(cls):
    compiles = cls.name in {"compile", "compile-blocks", "autocast-bf16", "checkpointing"}
    failing = cls.one_step is not None and cls.name in {"epsilon", "clipped-to-one"}
    run = AS_IT_IS if compiles else EVERYTHING
    if failing:
        run = RunDescription(**{**vars(EVERYTHING), "failed_in_update": True})
    assert (cls.absent(run) or cls.prevented(run)) == ""
    if cls.harm is None and cls.name not in ALWAYS | {"compile", "autocast-bf16", "fused-optimizer"}:
        assert cls.absent(RunDescription())


def test_each_file_is_in_the_list():
    files = {path.stem for path in FOLDER.glob("*.py")} - NOT_CHANGES
    assert files == {Path(inspect.getfile(cls)).stem for cls in changes.ALL}
    for role in ("harm", "one_step", "memory", "time", "learning"):
        assert len(changes.of(role)) == sum(getattr(cls, role) is not None for cls in changes.ALL)
    assert len(set(NAMES)) == len(NAMES)
