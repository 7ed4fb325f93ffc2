import textwrap

import pytest

from premortem.events import Site
from premortem.probes.session import is_user_code
from premortem.probes.source import under_modulo

SCRIPT = """
def plain(loader):
    for i, batch in enumerate(loader):
        backward(batch)
        step()  # no

def every_kth(loader, k):
    for i, batch in enumerate(loader):
        backward(batch)
        if (i + 1) % k == 0 or i + 1 == len(loader):
            step()  # yes

def named(loader, k):
    for i, batch in enumerate(loader):
        last = (i + 1) % k == 0
        backward(batch)
        if last:
            step()  # yes

def guarded(loader, k):
    for i, batch in enumerate(loader):
        backward(batch)
        if (i + 1) % k:
            continue
        step()  # yes

def talking(loader):
    for i, batch in enumerate(loader):
        if batch is None:
            print("batch %d is empty" % i)
        step()  # no

def logging(loader):
    for i, batch in enumerate(loader):
        if i % 100 == 0:
            print(i)
        step()  # no
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(SCRIPT))
    return path


def test_a_step_under_a_remainder_is_one_that_waits(script):
    lines = script.read_text().splitlines()
    marked = {number: "# yes" in text for number, text in enumerate(lines, 1) if "step()" in text}
    assert {number: under_modulo(Site(str(script), number)) for number in marked} == marked


@pytest.mark.parametrize("content", ["def broken(:\n", ""])
def test_a_source_that_cannot_be_read_says_nothing(tmp_path, content):
    path = tmp_path / "notebook.py"
    path.write_text(content)
    assert not under_modulo(Site(str(path), 1))
    assert not under_modulo(Site(str(tmp_path / "gone.py"), 1))
    assert not under_modulo(None)


def test_packages_of_another_place_are_not_the_users_own():
    for folder in ("/home/me/.local/lib/python3.11/site-packages", "/usr/lib/python3/dist-packages"):
        assert not is_user_code(f"{folder}/timm/models.py")
    assert is_user_code("/home/me/packages/train.py")
