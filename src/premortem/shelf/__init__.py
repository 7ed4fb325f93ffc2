"""Runs of many machines in one place: a bucket, a server, a disk that all of them see.

    URL/runs/RUN/000001.gz …   the rows of its journal, in parts; only the last one is written again, until it is full
    URL/heads/RUN.json         how the run stands, and how many parts count; written after them, again and again
    URL/index.gz               the heads of runs that are over, collected, so that a list needs one file

A run that is killed leaves whatever its last head counts. The index is a help and may lack some: what is true stands in the heads.
"""
