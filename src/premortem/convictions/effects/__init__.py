"""The effects, one file each: what a run does when a suspicion is right."""
