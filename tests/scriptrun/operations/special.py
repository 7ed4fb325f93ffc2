"""Sockets, pipes, locks, and files that are seen from two sides."""

import ctypes
import fcntl
import os
import socket
import stat
import subprocess
import tempfile

from tests.scriptrun.operations import operation, read, shell, write


@operation
def named_pipe():
    os.mkfifo("ff")
    writer = subprocess.Popen(["sh", "-c", f"echo q > {os.path.realpath('ff')}"])
    descriptor = os.open("ff", os.O_RDWR | os.O_NONBLOCK)
    writer.wait()
    return [os.read(descriptor, 9).decode(), stat.S_ISFIFO(os.stat("ff").st_mode)]


def _talk(name):
    server = socket.socket(socket.AF_UNIX)
    server.bind(name)
    server.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect(name)
    accepted, _ = server.accept()
    client.send(b"x")
    return accepted.recv(1).decode()


@operation
def socket_in_temporary_folder():
    return _talk(tempfile.mkdtemp() + "/s")


@operation
def socket_in_working_folder():
    return _talk("s.sock")


@operation
def socket_of_another_process():
    client = socket.socket(socket.AF_UNIX)
    client.connect(os.environ["OUTSIDE_SOCKET"])
    return client.recv(5).decode()


@operation
def lock_whole_file():
    with open("lock", "w") as first, open("lock", "w") as second:
        fcntl.flock(first, fcntl.LOCK_EX)
        try:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return "held"


@operation
def lock_old_file():
    with open("log.txt", "r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return "ok"


@operation
def watch_folder():
    library = ctypes.CDLL(None)
    watch = library.inotify_init()
    library.inotify_add_watch(watch, b".", 0x100)
    write("in.txt", "1")
    os.set_blocking(watch, False)
    try:
        return b"in.txt" in os.read(watch, 4096)
    except BlockingIOError:
        return False


@operation
def reader_sees_append():
    with open("log.txt") as file:
        file.read()
        write("log.txt", "APP", "a")
        return file.read()


@operation
def renamed_while_open():
    with open("log.txt", "a") as file:
        os.rename("log.txt", "was.txt")
        file.write("tail")
    return read("was.txt")


@operation
def path_of_descriptor():
    with open("log.txt") as file:
        name = f"/proc/self/fd/{file.fileno()}"
        return [os.readlink(name), read(name)]


@operation
def copy_range():
    with open("big.bin", "rb") as source, open("cp.bin", "wb") as target:
        os.copy_file_range(source.fileno(), target.fileno(), 4096)
    return os.path.getsize("cp.bin")


@operation
def flush_folder():
    write("g", "1")
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    return read("g")


@operation
def shell_locks():
    write("lock", "")
    return shell("flock -n lock true")[0]
