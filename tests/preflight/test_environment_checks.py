"""Judgements about machines that are not at hand: the facts are written down."""

from pathlib import Path

import pytest

from premortem.findings import Severity, Where
from premortem.preflight.environment import ALL, STATIC
from premortem.preflight.environment.budget import Budget, span
from premortem.preflight.environment.checks.deadline_too_close import DeadlineTooClose
from premortem.preflight.environment.checks.gpu_not_in_build import runs
from premortem.preflight.environment.checks.quota_too_small import QuotaTooSmall
from premortem.preflight.environment.machine_facts import (
    Booking,
    Caching,
    Clone,
    Copy,
    Facts,
    Gpu,
    Output,
    Saving,
    Torch,
    Use,
)
from premortem.preflight.project import Part

GIB = 1 << 30
HERE = Where("train.py", 4)
T4 = Gpu(name="Tesla T4", capability=(7, 5), memory=15 * GIB)
BUILT = ("sm_75", "sm_80", "sm_86", "sm_90", "compute_90")
CUDA = Torch(version="2.9.0+cu128", cuda="12.8", architectures=BUILT, sees_gpu=True)
ONE = Use(devices=1, sign="one device", where=HERE, cuda=HERE)


def codes(facts):
    part = Part(title="x")
    part.judge(STATIC, facts)
    return {finding.code: finding.severity.value for finding in part.findings}


def machine(**changes):
    """A healthy machine with one GPU."""
    whole = {"gpus": [T4], "driver": "570.86.15", "torch": CUDA, "booking": Booking(devices=1), "use": ONE}
    return Facts(**{**whole, **changes})


def test_a_healthy_machine_is_left_alone():
    assert codes(machine()) == {}


def test_a_machine_without_a_gpu_is_left_alone():
    assert codes(Facts(torch=Torch(version="2.9.0+cpu"), use=ONE)) == {}
    assert codes(Facts(torch=CUDA, use=ONE)) == {}


@pytest.mark.parametrize(
    ("use", "said"),
    [(ONE, {"PM601": "error"}), (Use(framework="lightning"), {"PM601": "warning"}), (Use(), {})],
)
def test_a_build_for_the_cpu_on_a_machine_with_a_gpu(use, said):
    assert codes(machine(torch=Torch(version="2.9.0+cpu"), use=use)) == said


def test_rocm_is_no_build_for_the_cpu():
    assert codes(machine(torch=Torch(version="2.9.0+rocm6.4", rocm="6.4"))) == {}


@pytest.mark.parametrize(
    ("driver", "cuda", "sees", "said"),
    [
        ("470.57.02", "12.8", False, {"PM602": "error"}),
        ("470.57.02", "12.8", True, {}),  # a compatibility package bridges it
        ("470.57.02", "12.8", None, {}),  # torch was not asked
        ("470.57.02", "11.8", False, {}),
        ("525.60.13", "12.1", False, {}),
        ("570.86.15", "13.0", False, {"PM602": "error"}),
        ("580.65.06", "13.0", False, {}),
    ],
)
def test_a_driver_that_is_too_old(driver, cuda, sees, said):
    torch = Torch(version="2.9.0", cuda=cuda, sees_gpu=sees)
    assert codes(machine(driver=driver, torch=torch)) == said


@pytest.mark.parametrize(
    ("capability", "architectures", "fits"),
    [
        ((7, 5), BUILT, True),
        ((8, 9), BUILT, True),  # code for 8.6 runs on 8.9
        ((12, 0), BUILT, True),  # translated from PTX
        ((12, 0), BUILT[:-1], False),
        ((6, 1), BUILT, False),
        ((7, 0), ("sm_75",), False),
        ((9, 0), ("sm_90a",), True),
        ((10, 0), ("sm_90a",), False),
        ((10, 3), ("sm_100", "sm_120"), True),
        ((12, 1), ("sm_120f",), True),
        ((8, 0), ("gfx90a",), True),  # nothing that can be read accuses nobody
    ],
)
def test_which_gpus_a_build_has_code_for(capability, architectures, fits):
    assert runs(capability, architectures) is fits


def test_a_gpu_that_the_build_does_not_know():
    old = Gpu(name="GeForce GTX 1080", capability=(6, 1))
    assert codes(machine(gpus=[old])) == {"PM603": "error"}


def test_a_torch_that_does_not_load():
    torch = Torch(version="2.9.0", cuda="12.8", problem="ImportError: libcudnn.so.9: cannot open")
    assert codes(machine(torch=torch)) == {"PM604": "error"}


@pytest.mark.parametrize(
    ("booking", "use", "said"),
    [
        (Booking(devices=2, said_by="Kaggle"), ONE, {"PM605": "warning"}),
        (Booking(devices=4), ONE, {"PM605": "info"}),  # a workstation: nobody has booked it
        (Booking(devices=2, said_by="SLURM"), Use(cuda=HERE), {}),  # may spread the work
        (Booking(devices=1, said_by="SLURM"), ONE, {}),
    ],
)
def test_gpus_that_are_booked_and_not_used(booking, use, said):
    assert codes(machine(gpus=[T4] * booking.devices, booking=booking, use=use)) == said


@pytest.mark.parametrize(
    ("free", "size", "count", "said"),
    [
        (100 * GIB, 2 * GIB, 40, {}),
        (50 * GIB, 2 * GIB, 40, {"PM606": "warning"}),
        (1 * GIB, 2 * GIB, 1, {"PM606": "error"}),
        (0, 2 * GIB, 0, {}),  # all of them are there already and are written over
    ],
)
def test_checkpoints_against_the_disk(free, size, count, said):
    saving = Saving(where=HERE, pattern="ckpt/*.pt", free=free, size=size, count=count)
    assert codes(Facts(savings=[saving])) == said


@pytest.mark.parametrize(("workers", "said"), [(8, {"PM607": "warning"}), (3, {})])
def test_caches_of_all_workers_against_the_memory(workers, said):
    kept = Caching(where=HERE, size=4 * GIB, workers=workers, available=16 * GIB, folder=Path("images"))
    assert codes(Facts(caching=[kept])) == said


@pytest.mark.parametrize(
    ("wiped", "certain", "said"),
    [
        ("", False, {}),
        ("a Colab session", True, {"PM608": "warning"}),
        ("the inside of a container", False, {"PM608": "info"}),
    ],
)
def test_places_that_are_wiped(wiped, certain, said):
    assert codes(Facts(outputs=[Output(path=Path("out"), where=HERE, wiped=wiped, certain=certain)])) == said


def test_clones_and_copies():
    clone = Clone(inner=Path("a/a"), outer=Path("a"), sign="both come from x", inside=False)
    assert codes(Facts(clones=[clone])) == {"PM609": "warning"}
    for same, outside, said in (
        (False, True, {"PM610": "warning"}),
        (True, True, {"PM610": "info"}),
        (False, False, {"PM611": "warning"}),
        (True, False, {}),
    ):
        copy = Copy(name="kit", used=Path("u"), other=Path("o"), same=same, outside=outside, where=HERE)
        assert codes(Facts(copies=[copy])) == said


@pytest.mark.parametrize(
    ("eta", "deadline", "severity"), [(3600, 7200, None), (7300, 7200, "warning"), (20000, 7200, "error")]
)
def test_a_deadline(eta, deadline, severity):
    found = [f.severity.value for f in DeadlineTooClose().look(Budget(eta=eta, deadline=deadline))]
    assert found == ([severity] if severity else [])


def test_a_quota_is_charged_for_every_device_that_is_booked():
    assert list(QuotaTooSmall().look(Budget(eta=3600, quota=5000, booked=1))) == []
    (finding,) = QuotaTooSmall().look(Budget(eta=3600, quota=5000, booked=2, used=1))
    assert finding.severity is Severity.WARNING
    assert finding.remedy == "Book fewer devices."
    assert list(DeadlineTooClose().look(Budget(eta=1e9))) == list(QuotaTooSmall().look(Budget(eta=1e9))) == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(20, "20 s"), (90, "2 min"), (3600, "1 h"), (34200, "9 h 30 min"), (200000, "2 d 7 h")],
)
def test_spans_read_as_people_say_them(seconds, text):
    assert span(seconds) == text


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.card.code)
def test_every_check_has_its_page(check):
    for head in ("## Why it matters", "## Usual causes", "## What to do"):
        assert head in (check.__doc__ or "")
    assert 601 <= int(check.card.code[2:]) <= 629
