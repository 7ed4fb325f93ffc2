"""Files that are opened for writing, in every way there is."""

import os
from pathlib import Path

from tests.scriptrun.operations import operation, read, write


@operation
def open_new():
    write("new.txt", "a")
    return read("new.txt")


@operation
def open_over():
    write("log.txt", "z")
    return read("log.txt")


@operation
def open_append():
    write("log.txt", "more", "a")
    return read("log.txt")


@operation
def open_in_place():
    with open("log.txt", "r+") as file:
        file.seek(2)
        file.write("XX")
    return read("log.txt")


@operation
def open_exclusive():
    write("only.txt", "1", "x")
    return read("only.txt")


@operation
def open_exclusive_exists():
    try:
        write("log.txt", "1", "x")
    except FileExistsError:
        return "exists"


@operation
def open_without_folder():
    try:
        write("no/such/dir/f.txt", "1")
    except FileNotFoundError:
        return "missing"


@operation
def open_absolute():
    write(os.environ["TREE"] + "/other/n.bin", b"1", "wb")
    return sorted(os.listdir("../other"))


@operation
def open_parent():
    write("../data/new.csv", "q")
    return sorted(os.listdir("../data"))


@operation
def open_through_link():
    write("data_link/new.csv", "q")
    return [read("../data/new.csv"), sorted(os.listdir("../data"))]


@operation
def open_home():
    write(os.path.expanduser("~/.settings"), "changed")
    return read(os.path.expanduser("~/.settings"))


@operation
def open_in_folder_descriptor():
    folder = os.open("runs", os.O_RDONLY)
    descriptor = os.open("f", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=folder)
    os.write(descriptor, b"k")
    os.close(descriptor)
    return read("runs/f")


@operation
def open_with_opener():
    with open("o.txt", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write("1")
    return [read("o.txt"), oct(os.stat("o.txt").st_mode)]


@operation
def descriptor_new():
    descriptor = os.open("f1", os.O_CREAT | os.O_EXCL | os.O_RDWR)
    os.write(descriptor, b"1")
    os.close(descriptor)
    return read("f1")


@operation
def descriptor_truncate():
    os.close(os.open("log.txt", os.O_WRONLY | os.O_TRUNC))
    return read("log.txt")


@operation
def descriptor_append():
    descriptor = os.open("log.txt", os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, b"1")
    os.close(descriptor)
    return read("log.txt")


@operation
def descriptor_write_at():
    descriptor = os.open("log.txt", os.O_RDWR)
    os.pwrite(descriptor, b"PP", 1)
    os.close(descriptor)
    return read("log.txt")


@operation
def descriptor_exclusive_exists():
    try:
        os.open("log.txt", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return "exists"


@operation
def descriptor_without_name():
    descriptor = os.open(".", os.O_TMPFILE | os.O_RDWR)
    os.write(descriptor, b"1")
    return os.pread(descriptor, 1, 0).decode()


@operation
def path_write_text():
    Path("a.txt").write_text("n")
    Path("a.txt").open("a").write("m")
    return [Path("a.txt").exists(), Path("a.txt").is_file()]


@operation
def read_only_file():
    try:
        write("ro.txt", "1")
    except PermissionError:
        return "refused"
    return "written" if os.getuid() == 0 else "leak"


@operation
def lock_file():
    descriptor = os.open("run.lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.close(descriptor)
    try:
        os.open("run.lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        os.unlink("run.lock")
    return os.path.exists("run.lock")
