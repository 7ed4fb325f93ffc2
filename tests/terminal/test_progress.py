"""What verbs say while they work: in lines where nobody watches, redrawn at a terminal (`test_status.py`)."""

import subprocess
import sys
import threading

import pytest

from premortem.terminal.progress import PERCENT, Progress, bar


def words(shown, after):
    return shown.words(shown._began + after)


def test_how_far_what_and_how_long():
    shown = Progress("drill")
    shown.say("rate-zero")
    assert words(shown, 3) == ["rate-zero", "3 s"]
    shown.count(26, "mutants")
    assert words(shown, 3)[0] == "0 of 26 mutants"
    shown.advance(7)
    assert words(shown, 70) == ["7 of 26 mutants", "rate-zero", "about 3 min left"]
    assert shown.share(0) == pytest.approx(7 / 26)


def test_never_longer_than_the_limit():
    shown = Progress("fit")
    shown.limit(shown._began + 60)
    assert words(shown, 23) == ["at most 37 s left"]
    shown.count(10)
    shown.advance(2)
    assert words(shown, 23)[-1] == "at most 37 s left", "the guess is longer than what is left"
    shown.advance(7)
    assert words(shown, 18)[-1] == "about 2 s left"
    assert shown.share(shown._began + 60) == 1.0


def test_each_thread_has_its_own_words():
    shown = Progress()
    shown.say("one")
    thread = threading.Thread(target=shown.say, args=("two",))
    thread.start()
    thread.join()
    assert words(shown, 1)[:2] == ["one", "two"]
    shown.say("")
    assert words(shown, 1)[0] == "two"


def test_shares_and_pieces_of_an_unknown_number():
    shown = Progress()
    shown.count(4096, PERCENT)
    shown.advance(1024)
    assert words(shown, 1)[0] == "25 %"
    shown.count(0, "trials")
    shown.advance()
    assert words(shown, 1)[0] == "1 trials"
    assert shown.share(0) is None


def test_the_bar_is_as_long_as_what_is_done():
    assert len(bar(0.0)) == len(bar(1.0)) == 20
    assert len(set(bar(0.0))) == len(set(bar(1.0))) == 1
    assert bar(0.5)[:10] == bar(1.0)[:10]


PROGRAM = """
import time
from premortem.terminal import progress as module
module.BEGIN = 0.5
with module.progress("fit", "rehearsing the script", quiet={quiet}) as shown:
    print("the answer")
    time.sleep({seconds})
"""


def output(quiet, seconds):
    program = PROGRAM.format(quiet=quiet, seconds=seconds)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_where_there_is_no_terminal_it_is_lines_on_stderr():
    out, err = output(quiet=False, seconds=3)
    assert out == "the answer\n"
    assert err.startswith("premortem fit: rehearsing the script, ")
    assert "\033" not in err


def test_quiet_is_quiet():
    assert output(quiet=True, seconds=3) == ("the answer\n", "")
