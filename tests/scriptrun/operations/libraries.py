"""Libraries that scripts write with. What is heavy is imported by whoever forks the operations."""

import gzip
import logging
import logging.handlers
import mmap
import os
import pickle
import shelve
import sqlite3
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tests.scriptrun.operations import operation, read, write


@operation
def sqlite_new():
    with sqlite3.connect("new.db") as connection:
        connection.execute("create table t(a)")
        connection.execute("insert into t values(1)")
    return [sqlite3.connect("new.db").execute("select * from t").fetchall(), os.path.exists("new.db")]


@operation
def sqlite_old():
    connection = sqlite3.connect("old.db")
    connection.execute("insert into t values(7)")
    connection.commit()
    return sqlite3.connect("old.db").execute("select a from t").fetchall()


@operation
def sqlite_journal():
    connection = sqlite3.connect("old.db")
    mode = connection.execute("pragma journal_mode=wal").fetchone()
    connection.execute("insert into t values(2)")
    connection.commit()
    seen = sqlite3.connect("old.db").execute("select count(*) from t").fetchone()
    return [mode, connection.execute("select a from t").fetchall(), seen, os.path.exists("old.db-wal")]


@operation
def numpy_save():
    import numpy as np

    np.save("n.npy", np.arange(5))
    np.savez("n.npz", a=np.ones(2))
    return [np.load("n.npy").sum().item(), np.load("n.npz")["a"].sum().item()]


@operation
def numpy_map_read():
    import numpy as np

    return np.load("../data/m.npy", mmap_mode="r").sum().item()


@operation
def numpy_map_in_place():
    import numpy as np

    mapped = np.memmap("arr.bin", dtype="u1", mode="r+")
    mapped[:3] = 9
    mapped.flush()
    return np.fromfile("arr.bin", dtype="u1")[:4].tolist()


@operation
def numpy_map_new():
    import numpy as np

    mapped = np.lib.format.open_memmap("nm.npy", "w+", dtype="f4", shape=(4,))
    mapped[:] = 2
    mapped.flush()
    return np.load("nm.npy").sum().item()


@operation
def numpy_to_file():
    import numpy as np

    np.arange(4, dtype="u1").tofile("tf.bin")
    return np.fromfile("tf.bin", dtype="u1").tolist()


@operation
def numpy_text():
    import numpy as np

    np.savetxt("t.csv", np.eye(2))
    return np.loadtxt("t.csv").sum().item()


@operation
def torch_save_and_load():
    import torch

    os.makedirs("ck", exist_ok=True)
    torch.save({"a": torch.ones(3)}, "ck/m.pt")
    return [torch.load("ck/m.pt")["a"].sum().item(), os.listdir("ck"), os.path.getsize("ck/m.pt") > 0]


@operation
def torch_save_path_and_file():
    import torch

    torch.save(torch.ones(2), Path("p.pt"))
    with open("f.pt", "wb") as file:
        torch.save(torch.ones(2), file)
    return [torch.load(Path("p.pt")).sum().item(), torch.load("f.pt").sum().item()]


@operation
def torch_save_without_folder():
    import torch

    try:
        torch.save(torch.ones(2), "none/p.pt")
    except RuntimeError as error:
        return "does not exist" in str(error)


@operation
def torch_load_mapped():
    import torch

    torch.save({"a": torch.ones(3)}, "m2.pt")
    return torch.load("m2.pt", mmap=True)["a"].sum().item()


@operation
def torch_from_file():
    import torch

    tensor = torch.from_file("arr.bin", shared=True, size=8, dtype=torch.uint8)
    tensor[0] = 7
    return read("arr.bin", "rb")[0]


@operation
def loader_with_workers():
    import torch
    from torch.utils.data import DataLoader

    return sum(batch.sum().item() for batch in DataLoader(torch.arange(64.0), batch_size=8, num_workers=2))


@operation
def hdf5_new_and_append():
    import h5py
    import numpy as np

    with h5py.File("d.h5", "w") as file:
        file["a"] = np.arange(4)
    with h5py.File("d.h5", "a") as file:
        file["b"] = np.arange(3)
    with h5py.File("d.h5", "r") as file:
        return [sorted(file), int(file["a"][:].sum())]


@operation
def safetensors_save():
    import numpy as np
    from safetensors.numpy import load_file, save_file

    save_file({"a": np.ones(3)}, "s.safetensors")
    return load_file("s.safetensors")["a"].sum().item()


@operation
def map_in_place():
    with open("big.bin", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:3] = b"abc"
        mapped.flush()
    return read("big.bin", "rb")[:4].decode("latin-1")


@operation
def map_sees_write():
    with open("log.txt", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        with open("log.txt", "r+") as other:
            other.write("LINE")
        return mapped[:4].decode()


@operation
def zip_write():
    with zipfile.ZipFile("z.zip", "w") as archive:
        archive.write("config.json")
    return zipfile.ZipFile("z.zip").namelist()


@operation
def gzip_pickle():
    with gzip.open("p.gz", "wb") as file:
        pickle.dump({"a": 1}, file)
    with gzip.open("p.gz") as file:
        return pickle.load(file)


@operation
def tar_extract():
    with tarfile.open("t.tar", "w") as archive:
        archive.add("runs")
    with tarfile.open("t.tar") as archive:
        archive.extractall("ex")
    return sorted(os.listdir("ex/runs/old"))


@operation
def log_rotates():
    handler = logging.handlers.RotatingFileHandler("r.log", maxBytes=20, backupCount=2)
    logger = logging.getLogger("x")
    logger.addHandler(handler)
    for number in range(4):
        logger.warning("message %d", number)
    return sorted(name for name in os.listdir(".") if name.startswith("r.log"))


@operation
def log_appends():
    logging.basicConfig(filename="log.txt", format="%(message)s", force=True)
    logging.warning("w")
    return read("log.txt")


@operation
def shelf():
    with shelve.open("sh") as store:
        store["k"] = [1]
    with shelve.open("sh") as store:
        return store["k"]


@operation
def temporary_file_beside():
    with tempfile.NamedTemporaryFile("w", dir=".", suffix=".tmp", delete=False) as file:
        file.write("q")
    os.replace(file.name, "final")
    return read("final")


@operation
def temporary_folder():
    with tempfile.TemporaryDirectory() as folder:
        write(folder + "/f", "1")
        names = os.listdir(folder)
    return [names, os.path.exists(folder)]


@operation
def import_written_module():
    write("mod_a.py", "V = 4\n")
    sys.path.insert(0, ".")
    import mod_a

    return mod_a.V


@operation
def import_old_module():
    sys.path.insert(0, ".")
    import helper

    return helper.V


@operation
def cache_in_home():
    folder = Path.home() / ".cache/hub"
    folder.mkdir(parents=True)
    (folder / "w").write_text("1")
    return [path.name for path in folder.iterdir()]
