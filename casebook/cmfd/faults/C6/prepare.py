"""The project becomes a clone; its origin is one commit ahead."""

import os
import subprocess
from pathlib import Path

who = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
who |= {f"GIT_{role}_{what}": "team" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(*words):
    subprocess.run(["git", *words], check=True, env={**os.environ, **who})


origin = Path("../origin.git").resolve()
Path(".gitignore").write_text("data\n")
git("init", "--quiet", "--initial-branch", "main")
git("add", ".")
git("commit", "--quiet", "--message", "first light")
git("clone", "--quiet", "--bare", ".", str(origin))
git("remote", "add", "origin", str(origin))

model = Path("model.py")
before = model.read_text()
line = "        return self.decoder(image, matched)\n"
assert before.count(line) == 1
model.write_text(before.replace(line, "        return self.decoder(image, matched).clamp(-15, 15)\n"))
git("commit", "--quiet", "--all", "--message", "Keep the logits in bounds")
git("push", "--quiet", "--set-upstream", "origin", "main")
git("reset", "--quiet", "--hard", "HEAD~1")
