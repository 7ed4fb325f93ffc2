"""`premortem lint`: reads training code and configs the way a careful colleague would. Never imports torch.

Which file does what:

    verb.py         from options to exit code; server.py, live.py: the same for editors; watch.py: again and again
    project.py      all files of a run: cache.py, workers.py, and the second pass that knows the facts
    engine.py       one file through the rules
    source.py       one Python file and the questions to it: names.py, kinds.py, flow.py (on placed.py, buckets.py,
                    tree.py, parsing.py); notebooks.py joins cells into a source; configs.py for YAML, TOML, JSON
    project_facts.py  the facts of the whole project, joined from summaries.py
    target.py       which torch a file must run with, as pinned.py reads it; signatures.py: what each release accepts
    fixes.py        edits that are made only if the file still parses
    rules/          one file each; output/: one file for each format

ARCHITECTURE.md has the flow and how to add a rule.
"""
