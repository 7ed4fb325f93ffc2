"""What follows from the events alone: phases, accumulation windows, failures, and which finding explains which."""
