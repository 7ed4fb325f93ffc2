"""Install premortem with these extras into the environment of this Python, with the versions of constraints.txt.

    .venv/bin/python tools/install.py torch,dev

By uv, which needs a third of pip's processor time; by pip where uv is not to be had or does not succeed. uv does not read
pip's settings, so it gets them here. Neither compiles what it has installed: Python does that for what is imported.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
# A setting of pip -> the variable by which uv reads the same.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}
PARTED_BY_COMMAS = {"UV_FIND_LINKS"}


def settings_for_uv(listed: str) -> dict[str, str]:
    """What `pip config list` says, as variables for uv. Variables come first in that list; what came first counts."""
    # As pip does: of all indexes the best version, not the first index that has any.
    found = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        variable = SETTINGS.get(name.rpartition(".")[2])
        if variable is not None:
            comma = "," if variable in PARTED_BY_COMMAS else " "
            found.setdefault(variable, comma.join(ast.literal_eval(value).split()))
    return found


def by_uv(wanted: list[str]) -> bool:
    if subprocess.call([*PIP, "install", "-q", "-c", "constraints.txt", "uv"], cwd=ROOT):
        return False
    listed = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=False).stdout
    environment = {**settings_for_uv(listed), **os.environ}  # who has set uv's own variables knows better
    uv = str(Path(sys.executable).with_name("uv"))
    return not subprocess.call(
        [uv, "pip", "install", "--python", sys.executable, *wanted], cwd=ROOT, env=environment
    )


def main() -> int:
    extras = sys.argv[1] if len(sys.argv) > 1 else "torch,dev"
    wanted = ["-c", "constraints.txt", "-e", f".[{extras}]"]
    return 0 if by_uv(wanted) else subprocess.call([*PIP, "install", "--no-compile", *wanted], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
