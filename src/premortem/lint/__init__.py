"""`premortem lint`: reads training code and configs the way a careful colleague would. Never imports torch.

engine.py      files -> sources -> rules -> diagnostics; cache, processes, second pass for project facts
source.py      one file: bytes, tree, one flat walk into buckets
names.py       what a name can stand for, from the imports
flow.py        where a value comes from, and which statements can follow which
facts.py       what the whole project says, from small summaries of its files
rules/         one file each
"""
