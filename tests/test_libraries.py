"""Whose code a file is decides which line is blamed and which sources a run reads."""

import json

import pytest
import torch

from premortem.files.libraries import is_library


@pytest.mark.parametrize(
    "path",
    [
        json.__file__,
        torch.__file__,
        # Another environment's packages, put on the path by a .pth file, PYTHONPATH or a tool that layers environments.
        "/opt/shared/lib/python3.12/site-packages/torch/nn/modules/conv.py",
        "/usr/lib/python3/dist-packages/yaml/loader.py",
    ],
)
def test_what_was_installed_is_a_library(path):
    assert is_library(path)


@pytest.mark.parametrize("path", ["/home/me/project/train.py", "/srv/project/site-packages.py", __file__])
def test_the_users_own_files_are_not(path):
    assert not is_library(path)
