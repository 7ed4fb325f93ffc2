"""Trackers and hubs that a variable alone does not silence: a script that names its server, or pushes its model."""

import functools
import sys
from typing import Any

from premortem.startup.import_hook import ImportHook

_PUSHES = (
    "create_repo create_commit create_branch create_tag delete_file delete_folder delete_repo upload_file upload_folder "
    "upload_large_folder update_repo_settings preupload_lfs_files"
).split()


def silence() -> None:
    """Each as soon as the script imports it. Reading from a hub stays possible."""
    for name, quieten in (("mlflow", _mlflow), ("huggingface_hub.hf_api", _hub)):
        sys.meta_path.insert(0, ImportHook(name, functools.partial(_arrived, name, quieten)))


def _arrived(name: str, quieten: Any) -> None:
    quieten(sys.modules[name])


def _mlflow(module: Any) -> None:
    """The one that the environment names is in a folder that is thrown away."""
    for name in ("set_tracking_uri", "set_registry_uri"):
        if hasattr(module, name):
            setattr(module, name, lambda *_, **__: None)


def _hub(module: Any) -> None:
    for name in _PUSHES:
        if hasattr(module.HfApi, name):
            setattr(module.HfApi, name, lambda *_, **__: Nothing())
        if hasattr(module, name):  # bound to the library's own instance
            setattr(module, name, lambda *_, **__: Nothing())


class Nothing(str):
    """What a push that was not made answers: an address, a commit or a future, all of them empty."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()

    def __call__(self, *_: Any, **__: Any) -> Any:
        return Nothing()
