"""File operations as scripts make them. Each is a function without arguments that returns what a script would see.

They run in a folder like this one, bare to learn the right answer and then in a sandbox: `tree.py` plants it.

    tree/proj      the working folder: config.json log.txt ro.txt big.bin arr.bin old.db helper.py runs/old/ empty/
    tree/data      x.csv m.npy img/0.bin … ; proj/data_link points here
    tree/other     empty
    tree/home      $HOME
"""

import subprocess

ALL = {}


def operation(function):
    ALL[function.__name__] = function
    return function


def read(path, mode="r"):
    with open(path, mode) as file:
        return file.read()


def write(path, text, mode="w"):
    with open(path, mode) as file:
        file.write(text)


def shell(line):
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    return [done.returncode, done.stdout]


def load():
    """All of them, by name."""
    from tests.scriptrun.operations import (  # noqa: F401
        folders,
        libraries,
        metadata,
        names,
        opening,
        processes,
        reading,
        special,
    )

    return ALL
