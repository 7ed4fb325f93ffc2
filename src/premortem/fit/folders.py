"""A script that looks for the folder it made, or the file it wrote, finds it where the sandbox put it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from premortem.points import Subscriptions
from premortem.replay.sandbox import Sandbox


def cover_folders(points: Subscriptions, sandbox: Sandbox) -> None:
    listed, looked, scanned, save = os.listdir, os.stat, os.scandir, torch.save

    def stat(path: Any, *args: Any, **kwargs: Any) -> Any:
        return looked(_place(sandbox, path, kwargs), *args, **kwargs)

    def listdir(path: Any = ".") -> Any:
        place = _place(sandbox, path, {})
        if place is path:
            return listed(path)
        here = listed(path) if _is_there(looked, path) else []
        return sorted({*here, *listed(place)})

    def scandir(path: Any = ".") -> Any:
        return scanned(path if _is_there(looked, path) else _place(sandbox, path, {}))

    def saved(thing: Any, f: Any, *args: Any, **kwargs: Any) -> None:
        save(thing, f, *args, **kwargs)
        if isinstance(f, (str, os.PathLike)):
            Path(sandbox.instead(f)).touch()  # there is such a file from now on

    points.replace(os, "stat", stat)
    points.replace(os, "listdir", listdir)
    points.replace(os, "scandir", scandir)
    points.replace(torch, "save", saved)


def _place(sandbox: Sandbox, path: Any, kwargs: dict[str, Any]) -> Any:
    return path if kwargs.get("dir_fd") is not None or isinstance(path, bytes) else sandbox.reading(path)


def _is_there(looked: Any, path: Any) -> bool:
    try:
        looked(path)
    except (OSError, ValueError):
        return False
    return True
