"""SIGTERM, SIGHUP, SIGUSR1 end the run as they always did, after it was saved and its last words are written.

    signal ─▶ C ─▶ main thread: save, last words, default handler back, the same signal again: dead
              └──▶ pipe ─▶ guard thread: the last words and the end, when the main thread cannot

Between two bytecodes of the main thread weights and optimizer agree, unless an optimizer is stepping: then the save
waits for the end of that step. Ctrl-C saves, and is then the KeyboardInterrupt that it always was. A second signal
waits for nothing.

Python runs a handler between two bytecodes of the main thread. One that hangs in a CUDA or NCCL
call never gets there, and a run that could be killed must not become one that cannot: so the
guard waits a little, and then does it.
"""

import ctypes
import inspect
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGUSR1") if hasattr(signal, name))
GRACE = 3.0  # seconds until the main thread is taken to hang, at least
PATIENCE = 15.0  # ... and until last words that were begun are taken to hang
_handler_of = inspect.unwrap(signal.getsignal)  # C's: the other one tries to make an enum of each answer


class Termination:
    """Calls `last_words(signal)` before a signal ends the process.

    `last_words` returns False when it is running already; then the process ends in `close`.
    Signals that the user's script or its parent (nohup) has an opinion on are left alone.
    """

    def __init__(
        self,
        last_words: Callable[[int], bool],
        save: Callable[[int], None] = lambda _signal: None,
        busy: Callable[[], bool] = lambda: False,
        grace: Callable[[], float] = lambda: GRACE,
    ) -> None:
        self._last_words = last_words
        self._save = save  # may take its time; never raises
        self._busy = busy  # whether weights and optimizer do not agree at the moment
        self._grace = grace  # seconds until the main thread is taken to hang
        self._waiting: int | None = None  # a signal that waits for the end of a step
        self._saving = False
        self._errand: Callable[[], None] | None = None
        self._errands = 0  # sent, and not yet seen by the guard
        self._begun = False
        self._later: int | None = None
        self._pipe: tuple[int, int] | None = None

    def install(self) -> None:
        global _current  # noqa: PLW0603 - a process has one set of signal handlers
        if threading.current_thread() is not threading.main_thread():
            return
        if os.getpid() == 1:
            return  # in a container: the kernel shields process 1 from its own signals, so it could not die of one
        for signum in SIGNALS:
            if signal.getsignal(signum) is signal.SIG_DFL:
                signal.signal(signum, self._handle)
        _current = self
        self._pipe = os.pipe()
        os.set_blocking(self._pipe[1], False)
        signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        threading.Thread(target=self._guard, args=self._pipe[:1], name="premortem-guard", daemon=True).start()

    def mind_interrupts(self) -> None:
        """From now on there is something to save when Ctrl-C is pressed."""
        if threading.current_thread() is threading.main_thread() and self._pipe is not None:
            if _handler_of(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, self._handle)

    def have_done(self, errand: Callable[[], None]) -> bool:
        """From another thread: the main thread is to make this call between two bytecodes. False when it cannot."""
        main = threading.main_thread().ident
        if self._pipe is None or main is None or not self._is_ours(signal.SIGUSR1):
            return False
        self._errand = errand
        self._errands += 1
        signal.pthread_kill(main, signal.SIGUSR1)
        return True

    def step_ended(self) -> None:
        """Weights and optimizer agree again. Does not return if a signal has waited for this."""
        if self._waiting is not None:
            signum, self._waiting = self._waiting, None
            self._proceed(signum, None)

    @property
    def hurried(self) -> bool:
        """A signal came during the last words: there is no time for anything that can wait."""
        return self._later is not None

    def close(self) -> None:
        """Put everything back. Ends the process if a signal came during the last words."""
        if threading.current_thread() is not threading.main_thread():
            return  # the guard has finished the last words, and ends the process now
        self._restore()
        if self._later is not None:
            _die(self._later)

    def forget(self) -> None:
        """Put everything back in a forked child, which is not supervised: SIGTERM must end it at once."""
        pipe = self._pipe
        self._restore()
        if pipe is not None:
            os.close(pipe[0])  # the guard, who would do it, stayed with the parent

    def _restore(self) -> None:
        for signum in SIGNALS:
            if self._is_ours(signum):
                signal.signal(signum, signal.SIG_DFL)
        if self._is_ours(signal.SIGINT):
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._pipe is not None:
            current = signal.set_wakeup_fd(-1)
            if current != self._pipe[1]:  # asyncio's, for one
                signal.set_wakeup_fd(current)
            os.close(self._pipe[1])  # ends the guard, which closes its own end
            self._pipe = None

    def _is_ours(self, signum: int) -> bool:
        return signal.getsignal(signum) == self._handle

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if not self._is_ours(signum):
            return  # the script's own handler calls the one before it; without us there was none
        if signum == signal.SIGUSR1 and self._errand is not None:
            errand, self._errand = self._errand, None
            errand()
            return
        if self._saving or self._waiting is not None:  # the second one: whoever sends it is in a hurry
            self._waiting = None
            self._hand_on(signum, frame)
        elif self._busy():
            self._waiting = signum
        else:
            self._proceed(signum, frame)

    def _proceed(self, signum: int, frame: FrameType | None) -> None:
        self._saving = True
        try:
            with children_unheard():
                self._save(signum)
        finally:
            self._saving = False
        self._hand_on(signum, frame)

    def _hand_on(self, signum: int, frame: FrameType | None) -> None:
        if signum == signal.SIGINT:
            signal.default_int_handler(signum, frame)  # raises
        self._begun = True
        if self._last_words(signum):
            _die(signum)
        self._later = signum

    # --- the guard thread --------------------------------------------------------------------

    def _guard(self, pipe: int) -> None:
        # A script that makes itself a daemon may close every descriptor it finds.
        with suppress(OSError), os.fdopen(pipe, "rb", buffering=0) as signals:
            while received := signals.read(1):
                if received[0] == signal.SIGUSR1 and self._errands:
                    self._errands -= 1
                elif received[0] in SIGNALS and self._is_ours(received[0]):
                    self._make_sure(received[0])

    def _make_sure(self, signum: int) -> None:
        before = _position()
        if not self._wait(max(GRACE, self._grace())) and before != _position():
            return  # the main thread is at work and has got no signal: it was for a child that was just forked
        while self._saving:  # as long as that takes; whoever cannot wait sends another signal
            time.sleep(0.05)
        if self._begun:
            time.sleep(PATIENCE)  # the process ends meanwhile
        else:
            self._last_words(signum)
        # Only the main thread may call signal.signal.
        ctypes.CDLL(None).signal(ctypes.c_int(signum), ctypes.c_void_p(None))
        os.kill(os.getpid(), signum)

    def _wait(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not (self._begun or self._saving) and time.monotonic() < end:
            time.sleep(0.05)
        return self._begun or self._saving


@contextmanager
def children_unheard() -> Iterator[None]:
    """The workers of a loader die of the same signal; torch raises that in this thread, whatever it is doing."""
    before = signal.getsignal(signal.SIGCHLD) if hasattr(signal, "SIGCHLD") else None
    if not callable(before):
        yield
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, before)


def _die(signum: int) -> None:
    signal.signal(signum, signal.SIG_DFL)
    os.kill(os.getpid(), signum)


def _position() -> tuple[int, int] | None:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)  # noqa: SLF001 - documented
    return (id(frame), frame.f_lasti) if frame is not None else None


_current: Termination | None = None


def _forget_in_child() -> None:
    if _current is not None:
        _current.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
