"""Runs the cells of a file in IPython: a cell begins at the start, and where a line begins with `%%`."""

import re
import sys
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_cell("from given import *")
for cell in re.split(r"\n(?=%%)", Path(sys.argv[1]).read_text(encoding="utf-8")):
    done = shell.run_cell(cell)
    if not done.success:
        sys.exit(f"this cell failed:\n{cell}")
