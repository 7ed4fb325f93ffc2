"""`premortem sweep`: the trials of a sweep, compared: which failed of what, and which settings go with it."""
