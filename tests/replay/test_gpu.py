"""A step that failed on a GPU, again on that GPU and on a machine that has none. Run by hand: `pytest -m gpu`."""

from pathlib import Path
from typing import NamedTuple

import pytest
import torch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

SCRIPTS = Path(__file__).parent / "gpu"


class Case(NamedTuple):
    script: str
    op: str
    line: str  # part of the line to blame
    samples: list[int] | None = None  # of the batch, without which it is finite


CASES = [
    Case("log_of_nothing.py", "log", "torch.log(y)"),
    Case("fused_norm_at_zero.py", "sqrt", "torch.sqrt("),
    Case("scaler_and_overflow.py", "mul", "out * out", [2]),
    Case("bf16_attention.py", "softmax", "torch.softmax("),
    Case("conv_batchnorm.py", "div", "(high - low)", [4]),
    Case("recurrent_division.py", "div", "/ volume"),
    Case("accumulated_arccos.py", "acos", "torch.acos("),
    # Compiles for each size that is tried. That takes minutes, so it is the last.
    Case("compiled_ratio.py", "div", "x.abs().sum(", [10]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.script.removesuffix(".py"))
def test_a_step_that_failed_on_the_gpu_is_reproduced_there_and_without_one(case, scene):
    place = scene(str(SCRIPTS / case.script))
    ran = place.watch()
    assert place.capsules, ran.stderr
    done, found = place.replay()
    assert done.returncode == 0, done.stdout + done.stderr
    assert found["reproduced"]
    assert found["bitwise"]
    assert found["certificate"]["op"] == case.op
    assert case.line in place.line(found["certificate"]["line"])
    if case.samples is not None:
        assert found["smallest"]["evidence"]["samples"] == case.samples, done.stdout

    done, found = place.replay("--device", "cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    assert found["reproduced"]
    assert "device" in " ".join(map(str, found["differences"]))
    assert found["certificate"]["op"] == case.op
    assert case.line in place.line(found["certificate"]["line"])
