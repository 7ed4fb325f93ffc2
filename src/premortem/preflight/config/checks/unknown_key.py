import re

from premortem.preflight.config.settings_facts import Facts, File
from premortem.preflight.unit import Card, Check, Findings, Severity, Where
from premortem.preflight.wording import place


class UnknownKey(Check):
    """No code reads a key of the config, and one letter away is a key that the code reads and the config lacks.

    ## Why it matters
    `weight_deacy: 0.05` changes nothing: the code takes its default, and the run is not the one that was meant.

    ## Usual causes
    A slip of the pen; a key that was renamed in the code; `batch-size` for `batch_size`.

    ## What to do
    Spell the key as the code does.

    ## When it stays silent
    When the word occurs anywhere in the code, when all keys around it are handed on (`**cfg["optim"]`), or when no key
    that the code reads is near.
    """

    card = Card("PM636", "unknown-key", "config", Severity.WARNING)

    def look(self, facts: Facts) -> Findings:
        reads = facts.reads
        if "*" in reads.spread:
            return
        present = {part for file in facts.files for setting in file.settings for part in setting.key}
        wanted = [name for name in reads.names if name not in present and len(name) > 2]
        for file in facts.files:
            for key, where in _keys(file).items():
                name = key[-1]
                if name in reads.words or reads.spread.intersection(key):
                    continue
                near = next((one for one in wanted if is_near(name, one)), None)
                if near is None:
                    continue
                left = "takes its default" if near in reads.optional else "does not find it"
                yield self.finding(
                    f"no code reads `{'.'.join(key)}`; the code reads `{near}` ({place(reads.names[near])}) and {left}",
                    cause="The two are spelled differently.",
                    remedy=f"Write `{near}`.",
                    where=where,
                )


def _keys(file: File) -> dict[tuple[str, ...], Where]:
    """Every key with its way down, sections too, at the first value below it."""
    found: dict[tuple[str, ...], Where] = {}
    for setting in file.settings:
        for depth in range(1, len(setting.key) + 1):
            if not setting.key[depth - 1].isdigit():
                found.setdefault(setting.key[:depth], setting.where)
    return found


def is_near(one: str, two: str) -> bool:
    """One slip apart: in a single word of the name, or only in how the words are joined."""
    if one == two:
        return False
    plain = [re.sub(r"[_\-. ]", "", name).lower() for name in (one, two)]
    if plain[0] == plain[1]:
        return True
    words = [re.split(r"[_\-]", name.lower()) for name in (one, two)]
    if len(words[0]) != len(words[1]):
        return False
    different = [(here, there) for here, there in zip(*words, strict=True) if here != there]
    if len(different) != 1:
        return False
    here, there = different[0]
    # `beta1` and `beta2` are two keys, and so are `min` and `max`.
    if re.sub(r"\d", "", here) == re.sub(r"\d", "", there) or min(len(here), len(there)) < 3:
        return False
    return slips(here, there) <= (2 if min(len(here), len(there)) >= 6 else 1)


def slips(one: str, two: str) -> int:
    """Letters to add, drop, change or swap with their neighbour until one is the other."""
    rows = [list(range(len(two) + 1))]
    for i, a in enumerate(one, start=1):
        row = [i]
        for j, b in enumerate(two, start=1):
            best = min(rows[-1][j] + 1, row[j - 1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == two[j - 2] and b == one[i - 2]:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]
