"""Folders: made, listed, copied, removed."""

import glob
import os
import shutil
import zipfile
from pathlib import Path

from tests.scriptrun.operations import operation, read, write


@operation
def make_folder():
    os.mkdir("d")
    return [os.path.isdir("d"), os.listdir("d"), "d" in os.listdir(".")]


@operation
def make_folder_exists():
    try:
        os.mkdir("runs")
    except FileExistsError:
        return "exists"


@operation
def make_folder_again():
    os.makedirs("runs/old", exist_ok=True)
    Path("runs/old").mkdir(exist_ok=True)
    return sorted(os.listdir("runs/old"))


@operation
def make_deep():
    os.makedirs("a/b/c")
    write("a/b/c/f", "1")
    return [read("a/b/c/f"), sorted(os.listdir("a/b"))]


@operation
def next_run_number():
    number = 0
    while os.path.exists(f"runs/v{number}"):
        number += 1
    os.mkdir(f"runs/v{number}")
    return [number, sorted(os.listdir("runs"))]


@operation
def remove_empty():
    os.rmdir("empty")
    return os.path.exists("empty")


@operation
def remove_full():
    try:
        os.rmdir("runs")
    except OSError as error:
        return error.errno


@operation
def remove_tree():
    shutil.rmtree("runs")
    return os.path.exists("runs")


@operation
def remove_tree_and_make_again():
    shutil.rmtree("runs")
    os.makedirs("runs/n")
    return [sorted(os.listdir("runs")), os.path.exists("runs/old")]


@operation
def copy_into_run_folder():
    os.makedirs("out")
    shutil.copy("config.json", "out")
    return [sorted(os.listdir("out")), read("out/config.json")]


@operation
def copy_over():
    shutil.copy2("config.json", "log.txt")
    return [read("log.txt"), os.stat("log.txt").st_mtime_ns == os.stat("config.json").st_mtime_ns]


@operation
def copy_from_data():
    shutil.copyfile("../data/x.csv", "x.csv")
    return read("x.csv")


@operation
def copy_tree():
    shutil.copytree("runs", "runs_copy")
    return [sorted(os.listdir("runs_copy/old")), read("runs_copy/old/a.txt")]


@operation
def copy_tree_into_old():
    shutil.copytree("../data", "runs", dirs_exist_ok=True)
    return sorted(os.listdir("runs"))


@operation
def make_archive():
    shutil.make_archive("bundle", "zip", "runs")
    return sorted(zipfile.ZipFile("bundle.zip").namelist())


@operation
def list_new_and_old():
    write("zz.txt", "1")
    return sorted(os.listdir("."))


@operation
def scan_folder():
    write("runs/zz", "1")
    return sorted((entry.name, entry.is_dir(), entry.is_file(), entry.path) for entry in os.scandir("runs"))


@operation
def glob_new():
    write("runs/old/c.txt", "1")
    return sorted(glob.glob("runs/**/*.txt", recursive=True))


@operation
def path_glob():
    Path("runs/m").mkdir()
    Path("runs/m/x.ckpt").write_text("1")
    return sorted(map(str, Path("runs").rglob("*")))


@operation
def path_iterdir():
    Path("runs/m").mkdir()
    return sorted(path.name for path in Path("runs").iterdir() if path.is_dir())


@operation
def walk_new():
    os.makedirs("w/x")
    write("w/x/f", "1")
    return list(os.walk("w"))


@operation
def work_in_new_folder():
    os.makedirs("runs/exp")
    os.chdir("runs/exp")
    write("f", "1")
    return [os.path.basename(os.getcwd()), os.listdir("."), read("../../config.json")]


@operation
def work_in_data():
    os.chdir("../data")
    write("idx", "1")
    return [os.getcwd(), sorted(os.listdir("."))]
