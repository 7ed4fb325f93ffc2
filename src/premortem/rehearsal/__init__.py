"""The user's own script, unchanged, for a few real steps, an evaluation and a save, in a sandbox.

director.py          starts it, as often as needed, and reads what it reported
checked_script.py    the script's process: `premortem run`'s supervision first, then the same loop unwatched
loop.py              the loop, watched and then unwatched
loop_calls.py        what of the loop is seen: batches, forwards, backward passes, steps, saves
parameter_audit.py   what became of each parameter group, from events
looks.py             what is in force and not merely configured
overfit.py           one batch again and again
twice.py             one evaluation twice
script_settings.py   what the script's own variables say
openings.py          which files the script's own process reads
observations.py      what was seen, as plain numbers
"""
