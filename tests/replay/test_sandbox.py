"""A replayed script reads the user's files and writes to a folder that is thrown away."""

import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import premortem

SRC = str(Path(premortem.__file__).parents[1])


def test_nothing_of_the_users_is_written_moved_or_deleted(tmp_path):
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    for folder in (home, scratch):
        folder.mkdir()
    (home / "data.txt").write_text("data")
    (home / "log.txt").write_text("old\n")
    (home / "latest").symlink_to(home / "folder")
    (home / "folder").mkdir()
    (home / "folder" / "kept.txt").write_text("kept")
    code = f"""
        import os, shutil
        from pathlib import Path
        from premortem.replay.sandbox import Sandbox
        sandbox = Sandbox(Path({str(scratch)!r}))
        sandbox.install()
        import torch
        sandbox.cover_torch()
        assert open("data.txt").read() == "data"
        open("new.txt", "w").write("new")
        assert open("new.txt").read() == "new"
        with open("log.txt", "a") as file:
            file.write("more\\n")
        assert Path("log.txt").read_text() == "old\\nmore\\n"
        Path("data.txt").write_text("over")
        os.makedirs("runs/a", exist_ok=True)
        Path("runs/b").mkdir(parents=True, exist_ok=True)
        Path("runs/b/x.csv").write_text("1")
        os.remove("data.txt")
        os.replace("log.txt", "log.old")
        Path("folder/kept.txt").unlink()
        shutil.rmtree("folder")
        os.makedirs({str(scratch)!r} + "/own/inner")
        Path({str(scratch)!r}, "own", "inner", "x").write_text("1")
        shutil.rmtree({str(scratch)!r} + "/own")
        assert not os.path.exists({str(scratch)!r} + "/own")
        os.remove("latest")
        os.symlink("new.txt", "latest")
        assert Path("latest").read_text() == "new"
        torch.save({{"w": torch.ones(2)}}, "model.pt")
        assert torch.load("model.pt")["w"].sum() == 2
        torch.save(torch.ones(1), Path("folder") / "kept.txt")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=home,
        env={"PYTHONPATH": SRC, "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (home / "latest").readlink() == home / "folder"
    left = {str(path.relative_to(home)): path.read_text() for path in home.rglob("*") if path.is_file()}
    assert left == {"data.txt": "data", "log.txt": "old\n", "folder/kept.txt": "kept"}
    assert sorted(path.name for path in home.iterdir()) == ["data.txt", "folder", "latest", "log.txt"]


def test_what_the_workers_of_a_loader_send_comes_through(tmp_path, request):
    """They bind a socket in the temporary folder, whose name must not be long."""
    scratch = Path(tempfile.mkdtemp(prefix="premortem-"))
    request.addfinalizer(lambda: shutil.rmtree(scratch))
    code = f"""
        from pathlib import Path
        import tempfile
        from premortem.replay.sandbox import Sandbox
        Sandbox(Path({str(scratch)!r})).install()
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        data = TensorDataset(torch.arange(64.0).reshape(16, 4))
        assert sum(len(x) for x, in DataLoader(data, batch_size=4, num_workers=2)) == 16
        assert tempfile.mkdtemp().startswith({str(scratch)!r})
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=tmp_path,
        env={"PYTHONPATH": SRC, "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
