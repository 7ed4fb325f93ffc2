"""Plans for the tests: what happens in a script's process."""


def simply(played):
    """The script, and how it ended."""
    ending = played.program.run()
    played.tell(ended=ending.reason, message=ending.message)


def keep(played):
    """The script, and what it wrote is kept for the next launch."""
    simply(played)
    played.sandbox.keep(played.shared / "kept")


def put_back(played):
    from premortem.scriptrun.sandbox.layers import put_back

    put_back(played.shared / "kept")
    simply(played)


def fail(played):
    raise ValueError("a bug of ours")


def warm():
    import json as _json  # noqa: F401


def warm_with_a_thread():
    import threading

    threading.Thread(target=threading.Event().wait, daemon=True).start()


def count_threads(played):
    from premortem.scriptrun.sandbox.kernel import threads

    played.tell(threads=threads())


def environment(played):
    import os

    played.tell(environment=dict(os.environ))
