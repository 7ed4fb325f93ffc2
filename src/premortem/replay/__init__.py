"""After a bad step: run it again, op by op, then under interventions, until its cause is proved.

capsules.py      while the run is watched: a refused step becomes a capsule
capsule.py       the folder: strict JSON and safetensors, never a pickle; whole or not at all
siblings.py      which capsules belong to a step: one of every rank that made it
director.py      launches the user's own script again, as often as the plan needs
crew.py          one launch: a process, or one for each rank; none is left behind
together.py      results of several ranks as one, by one pure rule
stage.py         in that process: restores, substitutes, refuses every step, judges each trial
interventions/   one file each: what is changed, and what it tells when the failure goes away
page.py          the one page that a person reads
"""
