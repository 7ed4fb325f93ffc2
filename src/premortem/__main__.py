"""`python -m premortem`: the same door as the `premortem` command."""

import sys

from premortem.cli import main

if __name__ == "__main__":
    sys.exit(main())
