"""Which files are a library's, and not the user's own."""

import os
import sysconfig

_HERE = tuple(
    {
        made(sysconfig.get_path(name)) + os.sep
        for name in ("stdlib", "purelib", "platlib")
        for made in (os.path.abspath, os.path.realpath)
    }
)
_ANYWHERE = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def is_library(path: str) -> bool:
    """Python's own files and what was installed, also in another environment whose packages are on the path."""
    return path.startswith(_HERE) or any(folder in path for folder in _ANYWHERE)
