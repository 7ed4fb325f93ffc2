"""The sentences about a profile, the same in a run and in `premortem check`."""

from premortem.amounts import share
from premortem.profile.facts import Giveaway, Placeholder, Shift, Unrelated
from premortem.profile.numbering import Renumbered


def amount(value: float) -> str:
    """As people write it: -9999, 0.804, 1.7e+09."""
    return f"{value:,.0f}".replace(",", "") if value == int(value) and abs(value) < 1e7 else f"{value:.4g}"


def placeholder(found: Placeholder) -> str:
    return (
        f"`{found.column}` is {amount(found.value)} in {found.times} of {found.of} sampled rows "
        f"({share(found.times, found.of)}; for example in {found.where}), all others lie between {amount(found.low)} and "
        f"{amount(found.high)}"
    )


def shift(found: Shift, first: str, second: str) -> str:
    here = f"{found.first:.4g} ± {found.first_spread:.4g} in {first}"
    there = f"{found.second:.4g} ± {found.second_spread:.4g} in {second}"
    if found.how == "exchanged":
        return f"`{found.column}` and `{found.other}` have changed places: `{found.column}` is {here} and {there}, as `{found.other}` is in {first}"
    if found.how == "constant":
        flat, other = (second, first) if not found.second_spread else (first, second)
        value = found.second if not found.second_spread else found.first
        return f"`{found.column}` is {amount(value)} in every row of {flat}, and varies in {other}"
    if found.how == "rescaled":
        times = found.factor if found.factor >= 1 else 1 / max(found.factor, 1e-12)
        return f"`{found.column}` is {times:.3g} times as {'wide' if found.factor >= 1 else 'narrow'} in {second}: {here}, {there}"
    return f"`{found.column}` is {here} and {there}"


def giveaway(found: Giveaway) -> str:
    if found.how == "equal":
        return f"`{found.column}` is the target itself, in all {found.rows} rows that were compared"
    if found.how == "line":
        return f"`{found.column}` gives the target exactly ({found.detail}) in all {found.rows} rows that were compared"
    if found.how == "renamed":
        return f"`{found.column}` is the class under other numbers ({found.detail}), in all {found.rows} rows that were compared"
    return f"`{found.column}` gives a class away: {found.detail}"


def numbering(found: Renumbered, first: str, second: str) -> str:
    (here, number), (there, times) = found.only_first[0], found.only_second[0]
    return (
        f"token {there} is {share(times, found.second)} of the tokens in {second} and never comes in {first}; token {here} is "
        f"{share(number, found.first)} in {first} and never comes in {second}; moved by {-found.moved}, the "
        f"tokens of {second} agree"
    )


def unrelated(found: Unrelated, first: str, second: str) -> str:
    more = f" (and {found.pairs - 1} more of its relations)" if found.pairs > 1 else ""
    return (
        f"`{found.column}` and `{found.other}` go together by {found.first:+.2f} in {first} and by {found.second:+.2f} in {second} "
        f"(correlation of ranks){more}, while all other columns go together as before"
    )
