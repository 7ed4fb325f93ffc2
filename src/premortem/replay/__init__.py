"""After a bad step: run it again, op by op, then with one change at a time (`changes/`), until its cause is proved.

capsule_writer.py   while the run is watched: a refused step becomes a capsule
capsule.py          the folder: strict JSON and safetensors, never a pickle; whole or not at all
rank_capsules.py    which capsules belong to a step: one of every rank that made it
director.py         launches the user's own script again, as often as the plan needs
launches.py         one launch: a process, or one for each rank; none is left behind
rank_results.py     results of several ranks as one, by one pure rule
repeated_step.py    in that process: restores, substitutes, refuses every step, judges each trial
step_reach.py       how a change reaches into the repeated step
page.py             the one page that a person reads
"""
