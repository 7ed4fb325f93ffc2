"""`premortem drill train.py`: a mutation score for training code.

The user's script runs once as it is, once watched, and once for each mutant: the same script with one mistake in it,
made at run time around torch's own functions. A mutant counts only where an independent witness saw that the training
became another one; then premortem must have reported it.

    director.py   launches, one process each (`scriptrun/`); what they write is thrown away
      mutated_script.py   witness, premortem, the change, then the script
      true_counts.py      fingerprints of the weights, counts, times; ends the run at the limit
    scoring.py    pure: what was heard -> took effect? caught? family right?
    page.py       for people and as JSON
"""
