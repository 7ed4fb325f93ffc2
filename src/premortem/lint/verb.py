"""`premortem lint`: from options to exit code."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from premortem.errors import UsageError
from premortem.findings import Severity
from premortem.lint import engine, files
from premortem.lint.output import FORMATS


def run(options: argparse.Namespace) -> int:
    """0: clean or only remarks; 1: an error or a warning was found."""
    if options.format not in FORMATS:
        raise UsageError(f"`--format {options.format}`: there are {', '.join(FORMATS)}")
    rules = [rule for rule in engine.all_rules() if not rule.card.preview]
    found = engine.lint(files.find(options.paths or ["."]), Path.cwd(), rules)
    sys.stdout.write(FORMATS[options.format](found))
    return int(any(one.severity is not Severity.INFO for one in found))
