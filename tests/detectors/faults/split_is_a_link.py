from premortem.events import FileFacts, FilesRead


def read(*files, rows=0):
    made = (
        FileFacts(path, real, folder=folder[0] if folder else "", rows=rows) for path, real, *folder in files
    )
    return [FilesRead(step=1, files=tuple(made))]


EVENTS = read(("/d/train/x.npy", ""), ("/d/val/x.npy", "/d/train/x.npy"))
FOLDER = read(("/d/train/a/07.png", ""), ("/d/val/a/01.png", "/d/train/a/01.png", "/d/train/a"))
BOTH_LINKED = read(("/d/train.csv", "/blob/17"), ("/d/valid.csv", "/blob/17"))
LINKS = [(f"/d/train/shard-{n:02d}.npz", "/d/train/shard-00.npz" if n else "") for n in range(8)]
SHARDS = read(*LINKS, rows=60)
HEALTHY = [
    read(*LINKS),  # one sample each: an empty mask
    read(*((f"/d/train/shard-{n:02d}.npz", f"/blob/{n}") for n in range(8)), rows=60),
    read(("/d/train/part-0.npz", ""), ("/d/train/part-1.npz", "/d/train/part-0.npz")),
    read(("/d/train/x.npy", ""), ("/d/val/x.npy", "")),
    read(("/d/train/x.npy", "/blob/17"), ("/d/val/x.npy", "/blob/18")),  # a store of blobs, all in one folder
    read(("/d/train/a.png", "/pool/a.png"), ("/d/val/b.png", "/pool/b.png")),
    read(
        ("/m/train/a.png", "/d/train/a.png", "/d/train"), ("/m/val/b.png", "/d/val/b.png", "/d/val")
    ),  # a linked dataset
    read(("/d/train.csv", "/blob/a.csv"), ("/d/val.csv", "/blob/b.csv")),
    read(("/d/train/x.npy", ""), ("/d/train_again/x.npy", "/d/train/x.npy")),
    read(("/d/val/x.npy", "/elsewhere/x.npy")),
]
