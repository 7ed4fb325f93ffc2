"""Whether the data of a run comes from files: what a script makes up is meant to be as it is."""

from premortem.detectors.shared.facts import Fact
from premortem.events import Event, FilesRead

_ROWS = 50  # of a file, from which on it is data and no setting
# Files whose rows are not counted.
_TABLES = (".parquet", ".feather", ".h5", ".hdf5", ".arrow", ".pt", ".safetensors", ".pkl", ".json", ".npz")
_LARGE = 1 << 14  # bytes of such a file


class Stored(Fact):
    """Files with data in them that this run has read."""

    LISTENS = (FilesRead,)

    def __init__(self) -> None:
        self.data = False

    def observe(self, event: Event) -> None:
        if isinstance(event, FilesRead):
            self.data = self.data or any(
                file.rows >= _ROWS or (file.size >= _LARGE and file.path.lower().endswith(_TABLES))
                for file in event.files
            )
