"""How far a loop is, read from the frames that are running."""

import textwrap

import pytest

from premortem.probes.loop_counters import loop_counters, used, user_frames

LOOPS = {
    "for epoch in range(3, 5):\n    look()": (("epoch", 3),),
    "for epoch, data in enumerate('ab', start=7):\n    look()": (("epoch", 7),),
    "step = 4\nwhile step < 5:\n    look()\n    step += 1": (("step", 4),),
    "class At:\n    epoch = 0\nat = At()\nat.epoch = 6\nwhile at.epoch < 7:\n    look()\n    at.epoch += 1": (
        ("epoch", 6),
    ),
    "class At:\n    @property\n    def epoch(self):\n        return 6\nat = At()\nwhile at.epoch < 7:\n    look()\n    break": (),
    "n = 9\nwhile True:\n    look()\n    n += 1\n    break": (("n", 9),),
    "for epoch in range(2, 3):\n    for i in range(1):\n        if i == 0:\n            look()": (
        ("epoch", 2),
        ("i", 0),
    ),
    "total = 0.5\nfor x in [0.1]:\n    look()\n    total += 1": (),
    "for a in range(5):\n    pass\nlook()": (),
}


def run(tmp_path, source):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(source))
    seen = []

    def look():
        mine = [frame for frame in user_frames() if frame.f_code.co_filename == str(script)]
        seen.append(loop_counters(mine))

    exec(compile(script.read_text(), str(script), "exec"), {"look": look})
    return seen[0]


@pytest.mark.parametrize("source", LOOPS)
def test_the_counters_of_the_running_loops(tmp_path, source):
    assert run(tmp_path, source) == LOOPS[source]


def test_a_loop_around_the_call_of_a_function_counts_too(tmp_path):
    source = """
    def train(model):
        for i in range(1):
            look()

    for epoch in range(6, 7):
        train(None)
    """
    assert run(tmp_path, source) == (("epoch", 6), ("i", 0))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("start = 5\nfor e in range(start, 9): pass", True),
        ("start = 5\nprint(start)", False),
        ("start = 5\nprint(f'{start + 1}')", False),
        ("start = 5\nlog.info('from %d', start)", False),
        ("start = 5\ne = start + 1", True),
        ("start = 5", False),
    ],
)
def test_whether_a_variable_is_used_for_more_than_a_message(tmp_path, source, expected):
    script = tmp_path / "script.py"
    script.write_text(source)
    assert used(str(script), "start") is expected
