"""Time: how long the run will take, beside how long it may."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Budget:
    """All in seconds. `eta` is what the rehearsal expects of the whole run."""

    eta: float
    deadline: float | None = None
    quota: float | None = None
    booked: int = 1  # devices that the quota is charged for
    used: int = 0  # of them, by the script; 0 when that is not known


def span(seconds: float) -> str:
    """`9 h 30 min`, as people say it."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    hours, rest = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    words = [
        f"{days} d" if days else "",
        f"{hours} h" if hours else "",
        f"{rest} min" if rest and not days else "",
    ]
    return " ".join(word for word in words if word)
