"""Actions: the only room with effects on a run."""
