"""All runs of a folder on one local page, live while they train.

It reads journals, and asks two things of a run: to save, and to stop after a step (`files/run_requests.py`).
"""
