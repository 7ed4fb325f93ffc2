"""A test suite of the user's with unittest, one test failing."""
import sys
import unittest
import torch
class Shapes(unittest.TestCase):
    def test_right(self):
        self.assertEqual(torch.nn.Linear(2, 3)(torch.ones(1, 2)).shape, (1, 3))
    def test_wrong(self):
        with self.assertRaises(RuntimeError):
            torch.nn.Linear(2, 3)(torch.ones(1, 4))
if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Shapes)
    result = unittest.TextTestRunner(stream=open("log", "w")).run(suite)
    print(result.testsRun, result.wasSuccessful())
    sys.exit(not result.wasSuccessful())
