"""The examples in the parts' pages run and print what they say; the room keeps its promises."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

from premortem import parts

MODULES = [importlib.import_module("premortem.configs.loading")]
MODULES += [
    importlib.import_module(f"premortem.parts.{found.name}") for found in pkgutil.iter_modules(parts.__path__)
]


@pytest.mark.filterwarnings("ignore:the metric psnr was refused")
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_examples_are_true(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    "name",
    "GuardedLoss Charbonnier MSSSIM safe_clip AdaptiveClip Metrics RamCache Evaluation PSNR SSIM "
    "channels_last pad_to_multiple unpad needed_multiple load_config".split(),
)
def test_every_part_says_why_and_shows_how(name):
    page = getattr(parts, name).__doc__
    assert "## Why it matters" in page
    assert ">>> from premortem." in page


def test_without_torch_the_room_says_what_to_install():
    code = "import sys; sys.modules['torch'] = None; import premortem.parts"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stderr.strip().splitlines()[-1] == (
        "premortem.errors.MissingExtra: premortem.parts needs more than the base package: pip install 'premortem[torch]'"
    )


def test_torchmetrics_is_loaded_only_for_what_needs_it():
    code = "import sys, premortem.parts; sys.exit('torchmetrics' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
