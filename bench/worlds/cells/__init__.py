"""Cells of the table in docs/worlds.md: each boundary of a script, each way it can be wrong. One correct script for each boundary, one
good world, and many bad ones. Written in one go before any of them was tried; half of them are closed by the hash of their names.

Named: an error or warning that the good world does not have, whose words name the file, the column or what is wrong with it.
"""

from bench.worlds.cells import files, kept, tables, texts

__all__ = ["files", "kept", "tables", "texts"]
