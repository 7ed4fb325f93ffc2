"""The user's own script, unchanged, for a few real steps, an evaluation and a save, in a sandbox.

director.py   starts it, as often as needed, and reads what it told
child.py      the script's process: `premortem run`'s supervision first, then the same loop unwatched
stage.py      what of the loop is seen: batches, forwards, backward passes, steps, saves
custody.py    the chain of custody of each parameter group, from events
looks.py      what is in force and not merely configured
overfit.py    one batch again and again
twice.py      one evaluation twice
stated.py     what the script's own variables say
openings.py   which files the script's own process reads
facts.py      what was seen, as plain numbers
"""
