"""An import is followed whoever asks first, and no question is answered in another way than Python would."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import premortem

SRC = str(Path(premortem.__file__).parents[1])
# `heavy` stands for torch: a package that imports a part of itself while it is imported.
BEGIN = f"""
import sys
sys.path.insert(0, {SRC!r})
from premortem.startup.import_hook import ImportHook
hook = ImportHook("heavy", lambda: print("arrived", "late" if hook.late else "in time", sys.modules["heavy"].done))
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "heavy").mkdir()
    (tmp_path / "heavy" / "__init__.py").write_text("from heavy import part\ndone = True\n")
    (tmp_path / "heavy" / "part.py").write_text("")
    (tmp_path / "single.py").write_text("done = True\n")
    (tmp_path / "other.py").write_text("")
    return tmp_path


def said(place, code, begin=BEGIN + "hook.wait()\n"):
    command = [sys.executable, "-c", begin + textwrap.dedent(code)]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


WAYS = {
    "plain": "import heavy",
    "a part first": "import heavy.part as part",
    "a name out of it": "from heavy import part",
    "by name": "import importlib; importlib.import_module('heavy')",
    "asked before, as libraries with optional parts do": """
        import importlib.util
        for _ in range(3):
            assert importlib.util.find_spec("heavy") is not None
        import heavy
    """,
    "in a thread": """
        import threading
        thread = threading.Thread(target=__import__, args=("heavy",))
        thread.start()
        thread.join()
    """,
    "by a finder that stands before": """
        from importlib.machinery import PathFinder
        class First:
            def find_spec(self, name, path=None, target=None):
                return PathFinder.find_spec(name, path) if name == "heavy" else None
        sys.meta_path.insert(0, First())
        import heavy
    """,
    "by a finder that asks the others again": """
        import importlib.util
        class Again:
            busy = False
            def find_spec(self, name, path=None, target=None):
                if name != "heavy" or self.busy:
                    return None
                self.busy = True
                return importlib.util.find_spec(name)
        sys.meta_path.insert(0, Again())
        import heavy
    """,
    "lazily": """
        import importlib.util
        spec = importlib.util.find_spec("heavy")
        spec.loader = importlib.util.LazyLoader(spec.loader)
        heavy = sys.modules["heavy"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(heavy)
        import other
        print(type(heavy).__name__)
        heavy.part
    """,
    "after it failed once": """
        sys.modules["heavy.part"] = None
        try:
            import heavy
        except ImportError:
            print("failed")
        del sys.modules["heavy.part"]
        import heavy
    """,
}
SAID_BEFORE = {"lazily": ["_LazyModule"], "after it failed once": ["failed"]}


@pytest.mark.parametrize("way", WAYS)
def test_the_call_comes_once_and_in_time(way, place):
    code = textwrap.dedent(WAYS[way]) + "\nimport other, heavy, heavy.part\nprint(hook in sys.meta_path)\n"
    assert said(place, code) == [*SAID_BEFORE.get(way, []), "arrived in time True", "False"]


def test_a_module_that_came_by_hand_is_noticed_at_the_next_import(place):
    code = """
        import importlib.util
        spec = importlib.util.find_spec("heavy")
        heavy = sys.modules["heavy"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(heavy)
        print("executed")
        import other
    """
    assert said(place, code) == ["executed", "arrived late True"]


def test_a_module_that_is_there_already(place):
    assert said(place, "import heavy\nhook.wait()", BEGIN) == ["arrived in time True"]


def test_a_module_that_another_thread_is_importing(place):
    (place / "heavy" / "part.py").write_text("import __main__\n__main__.half.set()\n__main__.go.wait()\n")
    code = """
        import threading
        half, go = threading.Event(), threading.Event()
        thread = threading.Thread(target=__import__, args=("heavy",))
        thread.start()
        half.wait()
        hook.wait()
        print("waits", hook.waits)
        go.set()
        thread.join()
    """
    assert said(place, code, BEGIN) == ["waits True", "arrived in time True"]


def test_questions_get_the_answer_that_python_gives(place):
    code = """
        import importlib.util
        from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
        asked, plain = importlib.util.find_spec("heavy"), PathFinder.find_spec("heavy")
        print(asked == plain, vars(asked) == vars(plain), type(asked) is ModuleSpec)
        print(type(asked.loader) is SourceFileLoader, asked.origin == plain.origin)
        import heavy
        print(type(heavy.__spec__) is ModuleSpec, any("premortem" in name for name in vars(heavy.__spec__)))
        print(type(heavy.__loader__) is SourceFileLoader, heavy.__spec__._initializing)
        print(importlib.reload(heavy) is heavy)
    """
    assert said(place, code) == [
        "True True True",
        "True True",
        "arrived in time True",
        "True False",
        "True False",
        "True",
    ]


def test_several_wait_for_one_module(place):
    code = """
        hooks = [ImportHook("single", lambda n=n: print("arrived", n)) for n in range(3)]
        for each in hooks:
            each.wait()
        hooks[1].leave()
        import single
    """
    assert sorted(said(place, code, BEGIN)) == ["arrived 0", "arrived 2"]


def test_an_import_that_fails_shows_no_frame_of_ours(place):
    (place / "heavy" / "part.py").write_text("1 / 0\n")
    code = """
        import traceback
        try:
            import heavy
        except ZeroDivisionError:
            print("premortem" in traceback.format_exc(), "importlib" in traceback.format_exc())
    """
    assert said(place, code) == ["False False"]


def test_a_stand_in_for_the_module_is_left_alone(place):
    code = """
        import types
        sys.modules["heavy"] = types.SimpleNamespace(done=1)
        import other
        print(hook.waits)
    """
    assert said(place, code) == ["True"]
