"""`premortem why train.py`: differential diagnosis by experiment.

The user's script runs as it is under several seeds, which shows how much chance matters, then again with one thing
changed at a time. What makes it learn by more than chance, and again under another seed, is the cause.

    director.py       the script as it is, and one trial after the other; one process each (`scriptrun/`)
    rounds.py         which trials, in which order; sets.py: two changes at once
      tried_script.py   seeds, what is measured, premortem, the change, then the script
      measuring.py      losses, and how well predictions follow targets
      facts.py          what the script does: which changes can matter at all
    yardsticks.py     pure: what is compared between two trials, and how much of it is chance
    questions.py      pure: the tree of questions, which changes answer them
    verdict.py        pure: what follows from all trials
    source.py         what a change is in the user's source: a diff, its file and line
    proposals.py      fixes and settings from outside
    page.py           for people; record.py: as JSON
"""
