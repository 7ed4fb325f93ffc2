"""1234 that is written `1.234` beside 345: what a reader takes for 1.234. And columns of three decimals that are just that."""

import numpy as np
import pytest

from tests.preflight.data.test_truths import found, table

READ = "rows = csv.DictReader(open('orders.csv'))\nx = [float(row['units']) for row in rows]\n"


def dotted(number, mark="."):
    return f"{number:,}".replace(",", mark)


def orders(rng, units, **more):
    count = len(units)
    return {
        "price": rng.gamma(2, 9, count).round(2),
        "units": units,
        "weight": rng.normal(70, 9, count).round(1),
        **more,
    }


def counted(rng, count=1200, middle=700.0, wide=1.0):
    return np.exp(rng.normal(np.log(middle), wide, count)).astype(int)


def test_a_point_between_thousands_is_named(world, rng):
    made = counted(rng)
    table(world / "orders.csv", orders(rng, [dotted(n) for n in made]))
    (said,) = found(world, "PM628", READ)
    assert (
        f"{(made >= 1000).sum():,} of {(made > -1).sum():,} cells in `units` of `orders.csv`" in said.message
    )
    assert said.name == "numbers-in-two-notations"


@pytest.mark.parametrize("others", ["small", "all"])
def test_the_branch_that_writes_so_is_named(world, rng, others):
    """One branch of five. `all`: it has nothing below 1000."""
    made = counted(rng, 3000)
    if others == "all":
        made = made + 1000
    branch = rng.choice(["Bonn", "Cork", "Leeds", "Perth", "Reading"], 3000)
    units = [dotted(n) if b == "Bonn" else n for n, b in zip(made, branch, strict=True)]
    table(world / "orders.csv", orders(rng, units, branch=branch))
    (said,) = found(world, "PM628", READ)
    assert "all where `branch` is `Bonn`" in said.message


def test_rows_of_two_writers_that_no_column_tells_apart(world, rng):
    units = [dotted(n) if rng.random() < 0.2 else n for n in counted(rng, 3000)]
    table(world / "orders.csv", orders(rng, units))
    (said,) = found(world, "PM628", READ)
    assert "all where" not in said.message


def test_the_file_that_is_written_so_is_named(world, rng):
    for at in range(3):
        made = counted(rng, 600) + 1000
        table(world / f"orders_{at}.csv", orders(rng, [dotted(n) if at == 1 else n for n in made]))
    (said,) = found(world, "PM628", READ.replace("'orders.csv'", "f'orders_{at}.csv'"))
    assert "`orders_1.csv`" in said.message
    assert "2 other files" in said.message


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("x = pandas.read_csv('orders.csv', decimal=',')\n", True),
        ("x = [float(row['units'].replace(',', '.')) for row in csv.DictReader(open('orders.csv'))]\n", True),
        ("x = pandas.read_csv('orders.csv', thousands=',')\n", False),
        (READ, False),  # a comma is no number: it crashes
    ],
)
def test_a_comma_between_thousands_where_the_script_takes_it_for_the_decimal_mark(world, rng, script, named):
    table(world / "orders.csv", orders(rng, [dotted(n, ",") for n in counted(rng)]))
    assert bool(found(world, "PM628", script)) is named


@pytest.mark.parametrize(
    "script",
    [
        "x = pandas.read_csv('orders.csv', thousands='.')\n",
        "x = [int(row['units'].replace('.', '')) for row in csv.DictReader(open('orders.csv'))]\n",
        "x = [int(re.sub(r'\\.', '', row['units'])) for row in csv.DictReader(open('orders.csv'))]\n",
        "locale.setlocale(locale.LC_ALL, 'de_DE')\nx = [locale.atof(r['units']) for r in csv.DictReader(open('orders.csv'))]\n",
    ],
)
def test_a_script_that_removes_the_points_knows_them(world, rng, script):
    table(world / "orders.csv", orders(rng, [dotted(n) for n in counted(rng)]))
    assert not found(world, "PM628", script)


def printed(value):
    """As a program prints a float: no zeros at its end, and whole numbers without a point."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


HEALTHY = {
    "fuel prices": lambda r: [f"{v:.3f}" for v in r.normal(1.7, 0.2, 900)],
    "weights in kilograms": lambda r: [f"{v:.3f}" for v in r.gamma(3, 2, 900) + 1],
    "weights in kilograms, whole ones without a point": lambda r: [
        f"{v:.3f}" if at % 3 else f"{v:.0f}" for at, v in enumerate(r.gamma(3, 2, 900) + 1)
    ],
    "printed by a program": lambda r: [printed(v) for v in np.exp(r.normal(3, 2, 900))],
    "printed by a program, with three digits": lambda r: [
        t
        for v in np.exp(r.normal(3, 2, 9000))
        if (t := printed(v)).rpartition(".")[2] == t or len(t.rpartition(".")[2]) == 3
    ],
    "eighths": lambda r: [printed(v / 8) for v in r.integers(8, 900, 900)],
    "latitudes": lambda r: [
        f"{v:.3f}" if at % 2 else f"{v:.0f}" for at, v in enumerate(r.uniform(47, 55, 900))
    ],
    "times of a race": lambda r: [f"{v:.3f}" for v in r.normal(83, 2, 900)],
    "times of a race, and places": lambda r: [
        f"{v:.3f}" if at % 4 else str(r.integers(1, 30)) for at, v in enumerate(r.normal(83, 2, 900))
    ],
    "versions": lambda r: [
        f"{r.integers(1, 4)}.{r.integers(100, 130)}" if at % 3 else "3" for at in range(900)
    ],
    "parts of an address": lambda r: [f"{r.integers(10, 200)}.{r.integers(100, 256)}" for _ in range(900)],
    "decimals, and large numbers of another kind": lambda r: [
        f"{v:.3f}" if at % 2 else str(r.integers(100, 300)) for at, v in enumerate(r.uniform(1, 9, 900))
    ],
    "decimals, and years": lambda r: [
        f"{v:.3f}" if at % 2 else str(r.integers(1950, 2020)) for at, v in enumerate(r.uniform(1, 9, 900))
    ],
    "counts with points in both": lambda r: [dotted(n) for n in counted(r, 900, 30000.0, 0.3)],
    "whole numbers": lambda r: counted(r, 900),
    "decimals below one too": lambda r: [
        f"{v:.3f}" if at % 2 else f"{1000 * v:.0f}" for at, v in enumerate(r.gamma(2, 1, 900))
    ],
}


@pytest.mark.parametrize("make", HEALTHY.values(), ids=HEALTHY)
def test_three_decimals_that_are_decimals_are_none(world, rng, make):
    units = make(rng)
    branch = rng.choice(["Bonn", "Cork", "Leeds"], len(units))
    table(world / "orders.csv", orders(rng, units, branch=branch))
    assert not found(world, "PM628", READ)


def test_currencies_of_three_and_of_no_decimals(world, rng):
    """The dinar has three decimals and the yen has none: no number below 1000 stands there without a point."""
    money = rng.choice(["KWD", "JPY", "KRW"], 1500)
    worth = np.exp(rng.normal(3, 1, 1500))
    units = [f"{w * 0.3:.3f}" if m == "KWD" else f"{w * 150:.0f}" for m, w in zip(money, worth, strict=True)]
    table(world / "orders.csv", orders(rng, units, money=money))
    assert not found(world, "PM628", READ)


def test_a_column_of_ids_or_times_is_not_asked(world, rng):
    made = [dotted(n) for n in counted(rng)]
    table(world / "orders.csv", {"order_id": made, "price": rng.gamma(2, 9, len(made)).round(2)})
    assert not found(world, "PM628", "x = open('orders.csv')\n")
