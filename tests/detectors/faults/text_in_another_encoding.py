from premortem.events import FileFacts, FilesRead


def read(*files, encodings=()):
    made = tuple(FileFacts(path, encoding=encoding, line=3) for path, encoding in files)
    return [FilesRead(step=1, files=made, encodings=encodings)]


EVENTS = read(("/d/train.csv", "UTF-8"), ("/d/val.csv", "not UTF-8"))
HEALTHY = [
    read(("/d/train.csv", "UTF-8"), ("/d/val.csv", "ASCII")),
    read(("/d/train.csv", "not UTF-8"), ("/d/val.csv", "not UTF-8")),
    read(("/d/train.csv", "UTF-8"), ("/d/names.txt", "not UTF-8")),
    read(("/d/train.csv", "UTF-8"), ("/d/val.csv", "not UTF-8"), encodings=("latin-1",)),
]
