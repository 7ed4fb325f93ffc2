import pytest
import torch

torch.__version__ == "2.4"


def tried(a, b):
    with pytest.raises(RuntimeError):
        a == b
    try:
        a == b
    except RuntimeError:
        return False
    return a.shape == b.shape
