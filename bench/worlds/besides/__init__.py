"""Worlds whose trouble is not in the first input of a model: a second input, targets of several columns, targets of one file or of
the evaluation alone, words that the vocabulary does not know, an evaluation before the first step. Written before a look at how
the detectors would see them.
"""

from bench.worlds.besides import made

__all__ = ["made"]
