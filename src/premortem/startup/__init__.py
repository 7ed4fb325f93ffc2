"""What runs first: following an import, and the processes that a watched run starts.

`import_hook.py` and `children.py` use the standard library alone, and little of it: every Python that a watched script starts
reads them, also one that lives for a few milliseconds. `path/sitecustomize.py` is how they get there.
"""
