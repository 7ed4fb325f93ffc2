"""Files that premortem reads and writes: as plain JSON, private to their owner, and trusted only with a reason."""
