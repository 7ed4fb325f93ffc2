"""An overlay does not rename folders that were there before it (EXDEV). `mv` then copies, and so does this."""

import errno
import os
import shutil
from typing import Any


def install() -> None:
    os.rename, os.replace = _by_copying(os.rename), _by_copying(os.replace)


def _by_copying(original: Any) -> Any:
    def call(source: Any, target: Any, **options: Any) -> None:
        try:
            original(source, target, **options)
        except OSError as error:
            if error.errno != errno.EXDEV or options or os.path.islink(source) or not os.path.isdir(source):
                raise
        else:
            return
        if os.path.isdir(target):
            os.rmdir(target)
        shutil.copytree(source, target, symlinks=True)
        shutil.rmtree(source)

    return call
