"""Which data a script will open, read from its source: nothing is imported, nothing is run.

modules.py    the script and the local modules that it imports
binding.py    what names, attributes and settings may hold, from assignments, calls, arguments and configs
paths.py      the text of an expression, as far as it is known
mentions.py   the paths that the code speaks of, and what it does to them
opened.py     from mentions to folders on the disk: datasets, near misses, patterns that fit nothing
"""
