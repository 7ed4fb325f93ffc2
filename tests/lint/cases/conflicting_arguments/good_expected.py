import unittest

import pytest
from torch.utils.data import DataLoader


def test_both_raise(dataset, sampler):
    with pytest.raises(ValueError):
        DataLoader(dataset, sampler=sampler, shuffle=True)


class Loaders(unittest.TestCase):
    def test_both_raise(self):
        with self.assertRaisesRegex(ValueError, "shuffle"):
            DataLoader([1, 2], batch_sampler=[[0]], shuffle=True)
