"""What a project says about every call of premortem: `[tool.premortem]` in its pyproject.toml.

    [tool.premortem]
    ignore = ["PM131", "gan"]                         # codes, beginnings of codes, names, families
    per-file-ignores = {"experiments/*" = ["PM548"]}
    severity = {"PM548" = "info"}

    [tool.premortem.run]                              # defaults for the options of a verb
    policy = "strict"

The command line goes before the file. `premortem config` shows each setting and where it comes from. A comment
`# premortem: ignore[PM131]` silences a finding on its line.
"""

from premortem.settings.project import Shared, asked, defaults, shared
from premortem.settings.silence import Silence, shown

__all__ = ["Shared", "Silence", "asked", "defaults", "shared", "shown"]
