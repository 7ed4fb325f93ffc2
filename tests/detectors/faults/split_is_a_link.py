from premortem.events import FileFacts, FilesRead


def read(*files):
    return [FilesRead(step=1, files=tuple(FileFacts(path, real) for path, real in files))]


EVENTS = read(("/d/train/x.npy", ""), ("/d/val/x.npy", "/d/train/x.npy"))
FOLDER = read(("/d/train/a/07.png", ""), ("/d/val/a/01.png", "/d/train/a/01.png"))
BOTH_LINKED = read(("/d/train.csv", "/blob/17"), ("/d/valid.csv", "/blob/17"))
HEALTHY = [
    read(("/d/train/x.npy", ""), ("/d/val/x.npy", "")),
    read(("/d/train/x.npy", "/blob/17"), ("/d/val/x.npy", "/blob/18")),  # a store of blobs, all in one folder
    read(("/d/train.csv", "/blob/a.csv"), ("/d/val.csv", "/blob/b.csv")),
    read(("/d/train/x.npy", ""), ("/d/train_again/x.npy", "/d/train/x.npy")),
    read(("/d/val/x.npy", "/elsewhere/x.npy")),
]
