"""The parts of bench/checkpoints.py."""
