"""`python -m premortem`: the same door as the `premortem` command."""

import sys

# The folder that Python puts first for `-m` is the user's: nothing of ours is looked for there. `run` sets it anew.
if not getattr(sys.flags, "safe_path", False):
    sys.path[0] = sys.prefix

from premortem.cli import main

if __name__ == "__main__":
    sys.exit(main())
