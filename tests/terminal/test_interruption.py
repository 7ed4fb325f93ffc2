"""An interruption in the middle of a page, with real signals to this process."""

import signal

import pytest

from premortem.terminal.interruption import Interrupted, interruptible, unbroken


def print_page(printed, number, error=None):
    with unbroken():
        signal.raise_signal(number)
        printed.append("the page")
        if error is not None:
            raise error
    printed.append("after it")


def test_what_is_printed_is_printed_whole():
    printed = []
    with interruptible(), pytest.raises(Interrupted) as error:
        print_page(printed, signal.SIGTERM)
    assert printed == ["the page"]
    assert error.value.number == signal.SIGTERM


def test_so_it_is_with_ctrl_c():
    printed = []
    with pytest.raises(KeyboardInterrupt):
        print_page(printed, signal.SIGINT)
    assert printed == ["the page"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_in_the_block_is_what_is_raised():
    with interruptible(), pytest.raises(ZeroDivisionError):
        print_page([], signal.SIGTERM, ZeroDivisionError())
