"""The user's program, run in this process as Python would run it."""
