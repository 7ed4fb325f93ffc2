"""A disk without locks, as machines often share one: below a folder no lock is given, to Python's code or to C's."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int below(int fd) {
    char link[64], path[4096];
    const char *folder = getenv("WITHOUT_LOCKS");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!folder || length < 0) return 0;
    path[length] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

static int answer(const char *name, int fd, int command, void *rest) {
    int lock = command == F_SETLK || command == F_SETLKW || command == F_GETLK;
    if (lock && below(fd)) { errno = ENOLCK; return -1; }
    int (*real)(int, int, ...) = dlsym(RTLD_NEXT, name);
    return real(fd, command, rest);
}

#define PASS(name) int name(int fd, int command, ...) { \
    va_list list; va_start(list, command); void *rest = va_arg(list, void *); va_end(list); \
    return answer(#name, fd, command, rest); }
PASS(fcntl)
PASS(fcntl64)

int flock(int fd, int operation) {
    if (below(fd)) { errno = ENOLCK; return -1; }
    int (*real)(int, int) = dlsym(RTLD_NEXT, "flock");
    return real(fd, operation);
}
"""


def environment(disk: Path, scratch: Path) -> dict[str, str]:
    """What a process needs for `disk` to be one for it and for those that it starts."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: a disk without locks cannot be played")
    source, library = scratch / "without_locks.c", scratch / "without_locks.so"
    source.write_text(SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "WITHOUT_LOCKS": str(disk)}
