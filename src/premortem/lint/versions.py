"""Version requirements as people write them (PEP 440, Poetry, conda), asked about minor releases."""

from collections.abc import Iterable

from premortem.lint.patterns import pattern
from premortem.lint.signatures import Minor

CLAUSE = pattern(r"\s*(===|==|~=|!=|<=|>=|<|>|\^|~|=|)\s*v?(\d+(?:\.\d+)*)(\.\*)?")
PATCHES = 12  # no minor release of what is in the tables has had more


def allowed(requirement: str, minors: Iterable[Minor]) -> tuple[Minor, ...]:
    """Those minor releases of which some patch satisfies `>=2.1,<2.5`, `^2.1`, `2.4.*` or `2.1 || 2.3`."""
    alternatives = [_clauses(part) for part in requirement.split("||")]
    return tuple(
        minor
        for minor in minors
        if any(
            all(_holds(clause, (*minor, patch)) for clause in clauses)
            for clauses in alternatives
            for patch in range(PATCHES)
        )
    )


Clause = tuple[str, tuple[int, ...], bool]


def _clauses(text: str) -> list[Clause]:
    found: list[Clause] = []
    for part in text.split(","):
        # A local version (`+cu121`) or a build (`=py3.11_0`) says nothing about the release.
        if match := CLAUSE.match(part.partition("+")[0]):
            operator, digits, star = match.groups()
            found.append((operator, tuple(int(number) for number in digits.split(".")), bool(star)))
    return found


def _holds(clause: Clause, version: tuple[int, ...]) -> bool:
    operator, wanted, star = clause
    padded = wanted + (0,) * (3 - len(wanted))
    prefix = version[: len(wanted)] == wanted
    match operator:
        case "" | "=" | "==" | "===":
            # `2.4` alone means any 2.4 to Poetry and conda; to pip it means 2.4.0, which is one.
            return prefix if star or len(wanted) < 3 else version == padded
        case "!=":
            return not prefix if star else version != padded
        case ">=":
            return version >= padded
        case "<=":
            return version <= padded
        case ">":
            return version > padded
        case "<":
            return version < padded
        case "~=":
            return version >= padded and version[: len(wanted) - 1] == wanted[:-1]
        case "~":
            return version >= padded and version[: min(len(wanted), 2)] == wanted[:2]
        case "^":
            # Poetry: up to the next change of the leftmost number that is not zero.
            fixed = 1 if wanted[0] or len(wanted) == 1 else 2
            return version >= padded and version[:fixed] == wanted[:fixed]
    return True
