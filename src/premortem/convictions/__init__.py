"""What lint suspects, judged by what the run does: a suspicion and its effect are an error that is proved.

    table.py     every rule of lint, with the effect that convicts it, or why a run cannot show one
    effects/     one file for each kind of effect: events in, a sentence out
    court.py     joins both: hears the events, and speaks when an effect was seen
    pairs.py     one cause, one finding: reports of lint and findings of the run that are about the same

A suspicion without its effect stays lint's: the run says nothing.
"""
