"""The example of CONTRIBUTING.md is a detector that works."""

import re
import textwrap
from pathlib import Path

from premortem.events import OptimizerStep

ROOT = Path(__file__).parent.parent


def example():
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    names = {"__name__": "example"}
    exec(textwrap.dedent(block), names)
    return names["StepWithoutGradient"]


def test_the_example_finds_its_fault_once():
    detector = example()()
    step = OptimizerStep(step=1, optimizer=1, kind="SGD", lrs=(0.1,), parameters=4, with_grad=0)
    (finding,) = [*detector.observe(step), *detector.observe(step)]
    assert finding.message == "the optimizer stepped and none of its 4 parameters has a gradient"
    assert (finding.code, finding.step, finding.evidence) == ("U901", 1, {"parameters": 4})


def test_the_example_is_silent_on_a_healthy_step():
    step = OptimizerStep(step=1, optimizer=1, kind="SGD", lrs=(0.1,), parameters=4, with_grad=4)
    assert list(example()().observe(step)) == []


def test_every_make_target_is_in_the_help_and_every_named_one_exists():
    makefile = (ROOT / "Makefile").read_text()
    documented = set(re.findall(r"^([a-z]+):.*##", makefile, re.MULTILINE))
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert documented == set(phony.split())
    named = set(re.findall(r"\bmake ([a-z]+)", (ROOT / "CONTRIBUTING.md").read_text()))
    assert named <= documented
