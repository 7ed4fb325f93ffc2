from premortem.preflight.data.data_facts import DataFacts, Root, Statistics
from premortem.preflight.data.unit import Card, Check, Finding, Findings, Severity, Table

_BETWEEN = (1.0, 1 / 255, 1 / 127.5, 255.0)  # units in which images are normalised
_NEAR = 2.0  # spreads between two means
_LIKE = 3.0  # times the spread


class StatisticsOfOtherData(Check):
    """A mean and a standard deviation that lie beside the data do not describe it.

    ## Why it matters
    Inputs that are normalised with them are far from 0, or have hardly any spread: a layer sees a constant with a shiver
    on it, and the loss stays at the level of guessing.

    ## Usual causes
    A file that was copied along from another project; statistics of the raw units for data that is scaled; a dataset that
    was made again without its statistics.

    ## What to do
    Compute them again from the training split, in the units in which the script uses them.

    ## When it stays silent
    When they fit any data of the folder, as it is or divided by 255, within two spreads; when nothing there has as many
    channels or columns; and when the script does not read them.
    """

    card = Card("PM678", "statistics-of-other-data", "data-scale", Severity.WARNING).explaining(
        "inputs-nearly-constant", "unnormalised-inputs", "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for given in (each for each in root.statistics if facts.reads(each.path)):
            known = [c for table in root.tables if (c := described(table, given)) is not None]
            if known and not any(fits(given, mean, std) for _, mean, std in known):
                yield self._say(given, known[0])

    def _say(self, given: Statistics, nearest: tuple[Table, tuple[float, ...], tuple[float, ...]]) -> Finding:
        table, mean, std = nearest
        return self.finding(
            f"`{given.path}` has mean {_shown(given.mean)} and std {_shown(given.std)}; "
            f"`{table.shown}` has mean {_shown(mean)} and std {_shown(std)}",
            cause="The statistics do not fit the data, neither as it is nor divided by 255: they are those of another dataset.",
            remedy="Compute them again from the training split, in the units in which the script uses them.",
            file=given.path,
            given=[list(given.mean), list(given.std)],
            measured=[list(mean), list(std)],
        )


def described(table: Table, given: Statistics) -> tuple[Table, tuple[float, ...], tuple[float, ...]] | None:
    """Mean and standard deviation of the table, as wide as the statistics are; of the columns that they name, where it has them."""
    profile, width = table.profile, len(given.mean)
    if table.split not in {"", "train"} or profile.sampled < 20:
        return None
    if profile.kind == "channels":
        means = [c for c in profile.columns if c.name.startswith(("channel", "the sample"))]
        inner = [c for c in profile.columns if c.name.startswith("deviation")]
        found = [
            (m.mean, (m.spread**2 + d.mean**2 + d.spread**2) ** 0.5)
            for m, d in zip(means, inner, strict=False)
        ]
    else:
        named = {c.name: c for c in profile.columns if c.counted}
        known = [named[name] for name in given.names if name in named]
        found = [
            (c.mean, c.spread) for c in (known if given.names and len(known) == width else named.values())
        ]
    if not found:
        return None
    if width == 1 and len(found) > 1:
        centre = sum(m for m, _ in found) / len(found)
        spread = (sum(s**2 + (m - centre) ** 2 for m, s in found) / len(found)) ** 0.5
        found = [(centre, spread)]
    if len(found) != width or any(s <= 0 for _, s in found):
        return None
    return table, tuple(m for m, _ in found), tuple(s for _, s in found)


def fits(given: Statistics, mean: tuple[float, ...], std: tuple[float, ...]) -> bool:
    return any(
        all(
            abs(a - unit * m) <= _NEAR * max(b, unit * s) and 1 / _LIKE <= b / (unit * s) <= _LIKE
            for a, b, m, s in zip(given.mean, given.std, mean, std, strict=True)
        )
        for unit in _BETWEEN
    )


def _shown(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.4g}" for value in values[:4]) + (", …" if len(values) > 4 else "")
