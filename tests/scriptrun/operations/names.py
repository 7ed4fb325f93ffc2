"""Files that get another name, a second one, or none."""

import os
import shutil
from pathlib import Path

from tests.scriptrun.operations import operation, read, write


@operation
def rename_file():
    os.rename("log.txt", "log2.txt")
    return [os.path.exists("log.txt"), read("log2.txt")]


@operation
def rename_across():
    os.rename("log.txt", "../other/l.txt")
    return [os.path.exists("log.txt"), read("../other/l.txt")]


@operation
def rename_old_folder():
    os.rename("runs/old", "runs/older")
    return [sorted(os.listdir("runs")), read("runs/older/a.txt")]


@operation
def rename_new_folder():
    os.mkdir("nd")
    write("nd/f", "1")
    os.rename("nd", "nd2")
    return read("nd2/f")


@operation
def replace_file():
    write("ck.tmp", "new")
    os.replace("ck.tmp", "config.json")
    return [read("config.json"), os.path.exists("ck.tmp")]


@operation
def path_replace():
    Path("a.tmp").write_text("n")
    Path("a.tmp").replace("log.txt")
    return Path("log.txt").read_text()


@operation
def path_rename_with_backup():
    Path("config.json").rename("config.json.bak")
    Path("config.json").write_text("{}")
    return [read("config.json"), read("config.json.bak")]


@operation
def hard_link():
    os.link("log.txt", "hl")
    return [read("hl"), os.path.samefile("hl", "log.txt"), os.stat("hl").st_nlink]


@operation
def link_new():
    write("e3.pt", "3")
    os.symlink("e3.pt", "last.pt")
    return [os.readlink("last.pt"), read("last.pt"), os.path.islink("last.pt")]


@operation
def link_swapped():
    os.unlink("data_link")
    os.symlink("../other", "data_link")
    return [os.readlink("data_link"), os.listdir("data_link")]


@operation
def link_replaced_whole():
    os.symlink("../other", "new_link")
    os.replace("new_link", "data_link")
    return os.readlink("data_link")


@operation
def write_through_new_link():
    os.symlink("../other", "out")
    write("out/f", "1")
    return [read("../other/f"), os.path.realpath("out/f")]


@operation
def delete_old():
    os.unlink("log.txt")
    return [os.path.exists("log.txt"), "log.txt" in os.listdir(".")]


@operation
def delete_then_make():
    Path("log.txt").unlink()
    write("log.txt", "fresh", "a")
    return read("log.txt")


@operation
def delete_missing():
    Path("nope").unlink(missing_ok=True)
    try:
        os.remove("nope")
    except FileNotFoundError:
        return "missing"


@operation
def delete_twice():
    os.remove("log.txt")
    try:
        os.remove("log.txt")
    except FileNotFoundError:
        return "missing"


@operation
def keep_newest_checkpoints():
    os.mkdir("ck")
    for number in range(4):
        write(f"ck/{number}.pt", str(number))
        for old in sorted(os.listdir("ck"))[:-2]:
            os.remove(f"ck/{old}")
    return sorted(os.listdir("ck"))


@operation
def move_file():
    shutil.move("log.txt", "../other/")
    return [sorted(os.listdir("../other")), os.path.exists("log.txt")]


@operation
def move_old_folder():
    shutil.move("runs", "../other/runs")
    return [sorted(os.listdir("../other/runs")), os.path.exists("runs")]
