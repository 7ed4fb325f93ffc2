"""Words for a value that do not change from one process to the next, and change when the value does."""

import functools
import os
import subprocess
import sys

import pytest

from premortem.proof.described import described


class Warmup:
    def __call__(self, step):
        return step

    def rate(self, step):
        return step


def slow(by, step):
    return step / by


@pytest.mark.parametrize(
    "build",
    [
        lambda: lambda step: step / 20,
        lambda: functools.partial(lambda by, step: step / by, 20),
        Warmup,
        lambda: Warmup().rate,
        lambda: [Warmup(), {"a": (Warmup(), 1.5)}],
        lambda: lambda step: [s + 1 for s in range(step)],
    ],
)
def test_two_of_a_kind_are_described_alike(build):
    one, other = build(), build()
    assert one is not other
    assert described(one) == described(other)
    assert "0x" not in described(one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda step: step / 20, lambda step: step / 30),
        (lambda step: step / 20, lambda step: step * 20),
        (functools.partial(slow, 20), functools.partial(slow, 30)),
        (slow, Warmup().rate),
        ([0.1, 0.2], [0.1, 0.3]),
    ],
)
def test_what_differs_is_told_apart(one, other):
    assert described(one) != described(other)


def test_the_order_of_a_set_in_the_code_is_nothing():
    ask = (
        "from premortem.proof.described import described\n"
        "print(described(lambda name: name in {'bias', 'norm', 'scale', 'gain', 'shift'}))"
    )
    said = {
        subprocess.check_output([sys.executable, "-c", ask], env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
