"""Programs that a script starts, and code that is not Python."""

import ctypes
import multiprocessing
import os
import subprocess
import sys
from multiprocessing import shared_memory

from tests.scriptrun.operations import operation, read, shell, write


@operation
def shell_reads():
    return shell("cat config.json ../data/x.csv")


@operation
def shell_writes():
    return shell("echo hi > s.txt && cat s.txt && ls | sort | head -40")


@operation
def shell_sees_python():
    write("p.txt", "py")
    return shell("cat p.txt; mv p.txt q.txt; cat q.txt")


@operation
def python_sees_shell():
    shell("mkdir -p so && echo 1 > so/f")
    return [read("so/f"), os.listdir("so")]


@operation
def shell_edits_in_place():
    return [shell("sed -i s/line/LINE/ log.txt"), read("log.txt")]


@operation
def shell_removes_tree():
    return [shell("rm -rf runs"), os.path.exists("runs")]


@operation
def shell_moves_folder():
    return [shell("mv runs moved && ls moved/old"), os.path.exists("runs")]


@operation
def shell_changes_mode():
    return [shell("chmod 711 log.txt; touch -d @5 log.txt"), int(os.stat("log.txt").st_mtime)]


@operation
def python_child_writes():
    code = "open('c.txt', 'w').write('1'); open('log.txt', 'a').write('2')"
    subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, check=False)
    return [os.path.exists("c.txt"), read("log.txt")[-1]]


@operation
def exit_codes():
    ended = [subprocess.run(["sh", "-c", line], check=False) for line in ("exit 9", "kill -TERM $$")]
    return [each.returncode for each in ended]


@operation
def fork_writes():
    pid = os.fork()
    if not pid:
        write("ff", "child")
        os._exit(0)
    os.waitpid(pid, 0)
    return read("ff")


def _work(number):
    write(f"worker{number}", str(number))
    return number


@operation
def pool_of_forks():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(_work, range(4))
    return sorted(name for name in os.listdir(".") if name.startswith("worker"))


@operation
def shared_memory_block():
    block = shared_memory.SharedMemory(create=True, size=64)
    block.buf[0] = 5
    other = shared_memory.SharedMemory(block.name)
    value = other.buf[0]
    other.close()
    block.close()
    block.unlink()
    return value


@operation
def c_code_writes():
    library = ctypes.CDLL(None)
    descriptor = library.open(b"log.txt", os.O_WRONLY | os.O_TRUNC)
    library.write(descriptor, b"C", 1)
    library.close(descriptor)
    return read("log.txt")


@operation
def c_code_changes_mode():
    ctypes.CDLL(None).chmod(b"log.txt", 0o711)
    return oct(os.stat("log.txt").st_mode)
