"""pytest: `@pytest.mark.trains(steps=50)` on a test that trains.

    @pytest.mark.trains(steps=50)
    def test_the_recipe():
        train(Config(lr=1e-3))

The training is ended after 50 steps. The test fails if they are not made, or if premortem finds an error or a warning in
them; `allow=("PM231",)` accepts a finding that is known. Nothing is loaded for tests without the mark.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

MARK = "trains(steps, allow=()): the training in this test must be healthy for so many steps (premortem)"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARK)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    mark = pyfuncitem.get_closest_marker("trains")
    if mark is None:
        return (yield)
    steps, allow = _asked(*mark.args, **mark.kwargs)

    from premortem.testing import capture_findings

    result: Any = True  # the hook's word for: the test was called
    with capture_findings(steps=steps) as found:
        result = yield
    complaint = found.complaint(allow)
    if complaint:
        pytest.fail(complaint, pytrace=False)
    return result


def _asked(*args: Any, **kwargs: Any) -> tuple[int, tuple[str, ...]]:
    """The arguments of the mark; a mistake in them is one sentence."""
    steps = kwargs.pop("steps", None) if not args else args[0]
    allow = kwargs.pop("allow", ())
    if len(args) > 1 or kwargs or isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        pytest.fail("write @pytest.mark.trains(steps=50), optionally with allow=('CODE',)", pytrace=False)
    return steps, (allow,) if isinstance(allow, str) else tuple(allow)
