"""Reading works as without a sandbox."""

import glob
import hashlib
import mmap
import os
from pathlib import Path

from tests.scriptrun.operations import operation, read


@operation
def read_relative():
    return read("config.json")


@operation
def read_parent():
    return read("../data/x.csv")


@operation
def read_absolute():
    return read(os.environ["TREE"] + "/data/x.csv")


@operation
def read_through_link():
    return [read("data_link/x.csv"), os.readlink("data_link"), sorted(os.listdir("data_link"))]


@operation
def read_home():
    return read(os.path.expanduser("~/.settings"))


@operation
def read_system():
    return len(read("/etc/passwd")) > 0


@operation
def working_folder():
    return [os.getcwd(), str(Path.cwd()), os.path.abspath("x")]


@operation
def resolved_paths():
    return [os.path.realpath("."), str(Path("..").resolve()), os.path.samefile("data_link", "../data")]


@operation
def walk_everything():
    return sorted(os.path.join(here, name) for here, _, files in os.walk("..") for name in files)


@operation
def glob_parent():
    return sorted(glob.glob("../data/img/*.bin"))


@operation
def stat_fields():
    status = os.stat("config.json")
    return [
        oct(status.st_mode),
        status.st_uid,
        status.st_gid,
        status.st_size,
        status.st_mtime_ns,
        status.st_nlink,
    ]


@operation
def memory_map_read():
    with open("big.bin", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return hashlib.sha256(mapped[:]).hexdigest()


@operation
def missing_file():
    try:
        read("nope/none.txt")
    except OSError as error:
        return error.errno


@operation
def missing_file_asked():
    return [os.path.exists("nope"), os.access("nope", os.R_OK), Path("nope").is_file()]


@operation
def identity():
    return [os.getuid(), os.getgid(), os.access("config.json", os.W_OK), os.path.expanduser("~")]


@operation
def device_files():
    with open("/dev/null", "w") as nothing:
        nothing.write("x")
    return [len(read("/dev/urandom", "rb") if False else os.urandom(4)), os.path.exists("/proc/self/status")]
