"""A repository cannot hold repositories: the clones get their .git here."""

import shutil
from pathlib import Path

ORIGIN = """[core]
\trepositoryformatversion = 0
[remote "origin"]
\turl = https://example.com/team/forecast.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
"""


def clone(folder):
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(ORIGIN)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")


clone(Path("healthy"))
inner = Path("broken", "forecast-main")
shutil.copytree("healthy", inner, ignore=shutil.ignore_patterns(".git"))
net = inner / "forecast" / "net.py"
net.write_text(net.read_text().replace("hidden=32", "hidden=16"))
clone(inner)
clone(Path("broken"))
