"""git clone, run once more from inside the clone, as a notebook does when its cells are run again."""

import os
import subprocess
from pathlib import Path

who = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
who |= {f"GIT_{role}_{what}": "team" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(*words):
    subprocess.run(["git", *words], check=True, env={**os.environ, **who})


Path(".gitignore").write_text("data\n")
git("init", "--quiet", "--initial-branch", "main")
git("add", ".")
git("commit", "--quiet", "--message", "first light")
git("clone", "--quiet", ".", "luc-cmfd")
