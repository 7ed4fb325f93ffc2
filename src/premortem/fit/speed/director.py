"""Launches the script in a process of its own, in which its loop is measured turn by turn."""

from dataclasses import dataclass, field

from premortem import changes
from premortem.errors import UsageError
from premortem.fit.speed.report import Report
from premortem.program.running import Program
from premortem.scriptrun.run import Plan, Script, ScriptRun

SECONDS = 300.0
_GRACE = 300.0  # for imports, data and a compiler that is at work when the time is over


@dataclass(frozen=True, kw_only=True)
class SpeedOptions:
    target: str
    module: bool = False
    argv: list[str] = field(default_factory=list)
    only: tuple[str, ...] = ()  # names of candidates; none means all
    seconds: float = SECONDS
    steps: int | None = None  # of the whole run, against which a warm-up is weighed
    backend: str = "inductor"  # of torch.compile
    show_output: bool = False


def measure(options: SpeedOptions) -> Report:
    """What each speed-up does to the script's own step, here. Raises UsageError when there is nothing to run."""
    Program(target=options.target, module=options.module, argv=list(options.argv)).check()
    _check_names(options.only)
    script = Script(target=options.target, module=options.module, argv=list(options.argv))
    plan = Plan(play="premortem.fit.speed.timed_script:play")
    order = {
        "only": list(options.only),
        "seconds": options.seconds,
        "steps": options.steps,
        "backend": options.backend,
    }
    with ScriptRun(script, plan, show_output=options.show_output) as run:
        # A cache that is warm from earlier would make compilers' first turns look cheaper than they are.
        own = str(run.scratch / "tmp")
        caches = {"TORCHINDUCTOR_CACHE_DIR": own, "TRITON_CACHE_DIR": own}
        ran = run.go(order, options.seconds + _GRACE, environment=caches)
    record, failed = ran.last("report"), ran.last("failed")
    if record is not None:
        report = Report.from_json(record)
    else:
        report = Report(problem=f"the measurement itself failed ({failed})" if failed else "")
        report.problem = report.problem or ran.last("problem") or ran.problem(options.seconds + _GRACE)
        report.problem = report.problem or "the script's process died without a word"
    report.sandbox = ran.guarantee.to_json()
    if report.problem and (tail := ran.tail(6)):
        report.problem += f"\n{tail}"
    return report


def _check_names(only: tuple[str, ...]) -> None:
    known = sorted(changes.of("time"))
    for name in only:
        if name not in known:
            raise UsageError(f"there is no candidate `{name}`; there are {', '.join(known)}")
