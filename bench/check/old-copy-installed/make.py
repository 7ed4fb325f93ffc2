"""What pip has installed lies outside of the project: an old copy here, an editable one there."""

import shutil
from pathlib import Path

shutil.move("broken/environment", "installed-broken")
Path("installed-healthy").mkdir()
Path("installed-healthy", "segkit").symlink_to(Path("healthy/src/segkit").resolve())
