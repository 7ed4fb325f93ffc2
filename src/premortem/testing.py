"""For your own tests: a training recipe must be healthy.

    from premortem.testing import capture_findings

    def test_the_recipe_trains():
        with capture_findings(steps=50) as found:
            train(config)              # ended after 50 steps, wherever the loop is
        found.assert_healthy()

or, with the pytest plugin that comes along, `@pytest.mark.trains(steps=50)` on a test that trains.
"""

from collections.abc import Sequence
from types import TracebackType

from premortem.events import RunEnded
from premortem.findings import Finding, Severity
from premortem.run.watcher import Watcher


class Enough(BaseException):
    """The steps that were asked for are made. No Exception: a loop that goes on after errors must end too."""


class Captured:
    """What was found, and how far the loop came. Before the block has ended, both are about so far."""

    def __init__(self, watcher: Watcher, wanted: int | None) -> None:
        self._watcher = watcher
        self.wanted = wanted

    @property
    def findings(self) -> list[Finding]:
        """Root causes, errors first."""
        return self._watcher.findings

    @property
    def steps(self) -> int:
        return self._watcher.reached()

    @property
    def codes(self) -> list[str]:
        return [finding.code for finding in self.findings]

    def complaint(self, allow: Sequence[str] = ()) -> str:
        """Why this was no healthy training, or nothing. Remarks (`info`) are no illness."""
        ill = [
            f for f in self.findings if f.severity is not Severity.INFO and not {f.code, f.name} & {*allow}
        ]
        if ill:
            return "\n".join(["this recipe is not healthy:", *map(described, ill)])
        wanted = 1 if self.wanted is None else self.wanted
        if self.steps < wanted:
            asked = "1 healthy step was" if wanted == 1 else f"{wanted} healthy steps were"
            return f"{asked} asked for, and {self.steps} made"
        return ""

    def assert_healthy(self, *, allow: Sequence[str] = ()) -> None:
        """Fail the test if something was found, or fewer steps were made than asked for.

        `allow` names findings (codes or names) that are known and accepted."""
        complaint = self.complaint(allow)
        if complaint:
            raise AssertionError(complaint)


class capture_findings:  # noqa: N801 - used like a function
    """Watch the block quietly. With `steps` the loop in it is ended after so many, at a step boundary.

    Models and optimizers that were built before may be given; it is not needed."""

    def __init__(self, *objects: object, steps: int | None = None, policy: str = "observe") -> None:
        if steps is not None and steps < 1:
            raise ValueError(f"steps must be 1 or more, and is {steps}")
        self._watcher = Watcher(policy)
        self._objects = objects
        self._captured = Captured(self._watcher, steps)

    def __enter__(self) -> Captured:
        self._watcher.attach()
        self._watcher.introduce(self._objects)
        if self._captured.wanted is not None:
            self._watcher.after_each_step(self._end_if_enough)
        return self._captured

    def _end_if_enough(self) -> None:
        wanted = self._captured.wanted
        if wanted is not None and self._captured.steps >= wanted:
            raise Enough

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        cut = isinstance(error, Enough)
        # A loop that was cut off is "interrupted": what it would have done later must not be missed in it.
        reason = "finished" if kind is None else "interrupted" if cut else "crashed"
        name = "" if kind is None or cut else kind.__name__
        self._watcher.close(RunEnded(reason=reason, error=name, message=str(error or "")))
        return cut


def described(finding: Finding) -> str:
    """A finding as a few lines of plain text."""
    head = f"{finding.severity.value} {finding.code} {finding.name} at step {finding.step}: {finding.message}"
    labelled = {"where": str(finding.where), "why": finding.cause, "fix": finding.remedy}
    return "\n".join([f"  {head}", *(f"    {label}  {text}" for label, text in labelled.items() if text)])
