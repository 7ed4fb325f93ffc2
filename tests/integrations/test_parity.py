"""One fault, every door: the same finding. Its healthy twin: none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import premortem
from premortem.findings import Finding
from premortem.run.watcher import watched
from tests.integrations import doors

FAULTS = {
    "healthy": [],
    "head in no optimizer": ["PM103"],
    "softmax before cross entropy": ["PM401"],
    "loss not finite": ["PM442"],
}


@pytest.fixture(autouse=True)
def others_may_warn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    for name in ("PYTORCH_NVML_BASED_CUDA_CHECK", "ACCELERATE_USE_CPU"):  # Lightning and Accelerate set them
        monkeypatch.setenv(name, "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # frameworks warn about each other
        yield


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("door", doors.ALL, ids=lambda door: door.__name__)
def test_the_same_fault_gives_the_same_finding(door: Callable[[str], list[Finding]], fault: str) -> None:
    assert [finding.code for finding in door(fault)] == FAULTS[fault]


@pytest.mark.parametrize(
    "fault",
    [
        "head in no optimizer",
        *(pytest.param(f, marks=pytest.mark.exhaustive) for f in FAULTS if "head" not in f),
    ],
)
def test_the_command_finds_what_the_doors_find(fault: str) -> None:
    assert [finding.code for finding in doors.command(fault)] == FAULTS[fault]


@pytest.mark.parametrize("door", doors.INSIDE, ids=lambda door: door.__name__)
def test_where_the_process_is_watched_already_a_door_stays_shut(door: Callable[[str], list[Finding]]) -> None:
    with premortem.watch(quiet=True) as around:
        assert door("head in no optimizer") == []
    assert [finding.code for finding in around.findings] == ["PM103"]


def test_a_crash_passes_through_and_closes_the_door() -> None:
    framework = pytest.importorskip("accelerate", reason="accelerate is not installed")
    from premortem.integrations.accelerate import watch

    with pytest.raises(KeyError, match="mine"), watch(framework.Accelerator(cpu=True), quiet=True):
        raise KeyError("mine")
    assert not watched()


def test_a_trainer_that_crashes_is_closed_by_the_next_training() -> None:
    framework = pytest.importorskip("transformers", reason="transformers is not installed")
    from premortem.integrations.transformers import Premortem

    callback, state = Premortem(quiet=True), framework.TrainerState()
    callback.on_train_begin(None, state, None)  # and an exception: the Trainer calls nothing more
    assert watched()
    callback.on_train_begin(None, state, None)
    callback.on_train_end(None, state, None)
    assert not watched()
    assert callback.findings == []
