"""What is written about a file rather than into it."""

import os
import shutil
from pathlib import Path

from tests.scriptrun.operations import operation, read


@operation
def touch_new():
    Path("LOCK").touch()
    return os.path.exists("LOCK")


@operation
def touch_old():
    Path("log.txt").touch()
    return os.stat("log.txt").st_mtime > 1.6e9


@operation
def change_mode():
    os.chmod("log.txt", 0o755)
    return oct(os.stat("log.txt").st_mode)


@operation
def change_mode_of_folder():
    Path("runs").chmod(0o700)
    return oct(os.stat("runs").st_mode)


@operation
def change_mode_of_descriptor():
    with open("log.txt") as file:
        os.fchmod(file.fileno(), 0o711)
    return oct(os.stat("log.txt").st_mode)


@operation
def change_times():
    os.utime("log.txt", (5, 6))
    return os.stat("log.txt").st_mtime


@operation
def change_owner():
    os.chown("log.txt", os.getuid(), os.getgid())
    return [os.stat("log.txt").st_uid, os.stat("log.txt").st_gid]


@operation
def set_attribute():
    os.setxattr("log.txt", "user.k", b"v")
    return os.getxattr("log.txt", "user.k").decode()


@operation
def truncate_path():
    os.truncate("big.bin", 10)
    return os.path.getsize("big.bin")


@operation
def truncate_open():
    with open("big.bin", "r+b") as file:
        file.truncate(10)
    return os.path.getsize("big.bin")


@operation
def reserve_space():
    with open("fa", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 4096)
    return os.path.getsize("fa")


@operation
def free_space():
    status = os.statvfs(".")
    return [status.f_bavail > 0, status.f_namemax, shutil.disk_usage(".").free > 0]


@operation
def copied_metadata():
    shutil.copystat("config.json", "log.txt")
    return [os.stat("log.txt").st_mtime_ns == os.stat("config.json").st_mtime_ns, read("log.txt")]


@operation
def truth_after_write():
    Path("size.txt").write_text("12345")
    status = os.stat("size.txt")
    return [status.st_size, status.st_nlink, Path("size.txt").stat().st_uid == os.getuid()]
