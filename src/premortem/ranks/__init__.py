"""Runs of several processes: ranks of one training, and processes that the script has started."""
