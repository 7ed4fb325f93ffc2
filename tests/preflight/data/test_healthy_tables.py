"""Kinds of tables that are published and correct, each of which was accused once: beside it the fault that is still named."""

import numpy as np
import pytest

from premortem.preflight.data.relations import order, streams, units
from tests.preflight.data.test_truths import found, table

SCRIPT = "x = open('table.csv')\n"


def test_small_numbers_by_chance_are_no_passage(rng):
    """The days of two samples of one year; a passage of them in both is one."""
    first, second = (rng.integers(1, 32, size).astype(float) for size in (3200, 800))
    assert order.shared(first, second) is None
    first[:100] = second[300:400]
    assert order.shared(first, second).rows == 100


@pytest.mark.parametrize("copied", [False, True])
def test_shoppers_who_see_the_same_prices(world, rng, copied):
    """They are alike by chance, two, three or four at a time; what was imported twice comes twice."""
    weeks = rng.choice(np.linspace(1, 4, 60).round(2), (90, 3))
    prices = rng.gamma(3, 2, (300, 3)).round(2) if copied else weeks[rng.integers(0, 90, 300)]
    rows = [(at, *prices[at]) for at in range(300)]
    rows += [(500 + row[0], *row[1:]) for row in rows[:40] if copied]
    names = ("shopper_id", "price_a", "price_b", "price_c")
    table(world / "table.csv", dict(zip(names, zip(*rows, strict=True), strict=True)))
    assert bool(found(world, "PM619", SCRIPT)) is copied


def test_a_difference_of_two_times_of_the_day(world, rng):
    """1405 - 1355 is ten minutes."""
    planned = rng.integers(5 * 60, 22 * 60, 600)
    late = rng.integers(-9, 40, 600)
    clock = [made // 60 * 100 + made % 60 for made in (planned, planned + late)]
    table(world / "table.csv", {"planned": clock[0], "left": clock[1], "late": late})
    assert not found(world, "PM703", SCRIPT)


def test_years_of_two_things_that_hardly_happen(world, rng):
    """Most rows have neither, a few have one: that is no order in which the others would be exchanged."""
    first = np.where(rng.random(800) < 0.25, rng.integers(20, 60, 800), 0)
    second = np.where((first == 0) & (rng.random(800) < 0.12), rng.integers(20, 60, 800), 0)
    second[(first > 0) & (rng.random(800) < 0.1)] = 3
    first[(second > 3) & (rng.random(800) < 0.1)] = 3
    table(world / "table.csv", {"conflict": first, "alliance": second})
    assert not found(world, "PM702", SCRIPT)


@pytest.mark.parametrize(("end", "named"), [(0.3969, False), (0.4, True)])
def test_a_formula_ends_somewhere(world, rng, end, named):
    """0.63 squared is where (share - 0.63)² begins; 0.4 was chosen."""
    values = np.minimum(rng.normal(0.4, 0.2, 500).round(4), end)
    table(world / "table.csv", {"share": values, "price": rng.gamma(3, 8, 500).round(1)})
    assert bool(found(world, "PM706", SCRIPT)) is named


def test_the_day_on_which_a_study_ends(world, rng):
    """Those who live are marked, whatever the column is called."""
    death = 8000 + rng.integers(0, 3990, 600)
    lives = rng.random(600) < 0.35
    table(
        world / "table.csv",
        {"death": np.where(lives, 12000, death), "status": np.where(lives, "A", "D"), "age": 20 + death % 50},
    )
    assert not found(world, "PM706", SCRIPT)


@pytest.mark.parametrize(("copied", "named"), [(0, False), (20, True)])
def test_rows_that_were_equal_before_they_were_divided(world, rng, copied, named):
    """Five pairs of which four were divided; twenty more are no chance."""
    rows = [tuple(row) for row in rng.normal(0, 1, (700, 5)).round(3)]
    train, valid = rows[:560] + rows[:1], rows[560:] + rows[1:5] + rows[5 : 5 + copied]
    for name, part in (("train", train), ("valid", valid)):
        table(world / f"{name}.csv", dict(zip("abcde", zip(*part, strict=True), strict=True)))
    assert bool(found(world, "PM663", "x = open('train.csv'), open('valid.csv')\n")) is named


def test_one_number_where_there_is_one_and_two_where_there_are_two(world, rng):
    """A gene that men have once: their code has one number."""
    women = rng.random(400) < 0.5
    alleles = rng.choice([175, 177, 181, 185], (400, 2))
    code = [f"{a}/{b}" if she else str(a) for she, (a, b) in zip(women, alleles, strict=True)]
    table(world / "table.csv", {"sex": np.where(women, "f", "m"), "gene": code})
    assert not found(world, "PM704", SCRIPT)


def test_the_year_of_a_survey(world, rng):
    columns = {name: rng.normal(0, 1, 300).round(3) for name in "abcdefghij"}
    table(world / "table.csv", {"survey_year": [2000] * 300, "sensor": [17.25] * 300, **columns})
    (said,) = found(world, "PM679", SCRIPT)
    assert "sensor" in said.message
    assert "survey_year" not in said.message


@pytest.mark.parametrize(("towns", "named"), [(1, False), (12, True)])
def test_what_is_one_in_a_group(world, rng, towns, named):
    """Patients of twelve visits each are divided, and one of the judged ones is from a town of which there is no other patient."""
    patient = rng.permutation(np.repeat(np.arange(90), 12))
    town = np.where(
        (patient >= 60) & (patient < 60 + towns), "Ely", np.char.add("town ", (patient % 9).astype(str))
    )
    made = {"patient": patient, "town": town, "dose": rng.gamma(3, 2, len(town)).round(1)}
    for file, rows in (("train", patient < 60), ("valid", patient >= 60)):
        table(world / f"{file}.csv", {key: column[rows] for key, column in made.items()})
    assert bool(found(world, "PM676", "x = open('train.csv'), open('valid.csv')\n")) is named


def test_a_quantity_need_not_have_each_value(world, rng):
    """Seats of aeroplanes: 142 in those of the last years, and in none before."""
    seats = rng.choice([2, 4, 8, 50, 55, 80, 95, 100, 128, 140, 150, 178, 182, 200, 222, 255, 330, 379], 1000)
    seats[800:][rng.random(200) < 0.3] = 142
    for file, rows in (("train", slice(0, 800)), ("valid", slice(800, 1000))):
        table(
            world / f"{file}.csv", {"seats": seats[rows], "late": rng.gamma(3, 2, len(seats[rows])).round(1)}
        )
    assert not found(world, "PM676", "x = open('train.csv'), open('valid.csv')\n")


@pytest.mark.parametrize(("grouped", "named"), [(True, False), (False, True)])
def test_relations_of_a_few_states(world, rng, grouped, named):
    """The price rises with the size of the town in some states, and falls in others: with few states it is this or that. Not where the rows
    of each are in both files."""
    state = np.repeat(np.arange(30), 40)
    size = rng.normal(0, 1, 1200) + 5
    slope = np.where(np.isin(state % 6, (0, 3)), -1, 1)
    price = (slope * (size - 5) + rng.normal(0, 0.2, 1200)).round(3)
    judged = np.isin(state, (24, 27, 0, 3)) if grouped else np.arange(1200) % 5 == 0
    if not grouped:
        price[judged] = -np.abs(price[judged]) * np.sign(size[judged] - 5)
    others = {key: rng.normal(0, 1, 1200).round(3) for key in "abcde"}
    for file, rows in (("train", ~judged), ("valid", judged)):
        made = {"state": state, "size": size.round(3), "price": price, **others}
        table(world / f"{file}.csv", {key: column[rows] for key, column in made.items()})
    assert bool(found(world, "PM627", "x = open('train.csv'), open('valid.csv')\n")) is named


@pytest.mark.parametrize(("shared", "named"), [(True, False), (False, True)])
def test_the_price_of_each_year_beside_each_of_three_shops(world, rng, shared, named):
    price = rng.gamma(3, 2, 60).round(2)
    year = np.tile(np.arange(1950, 2010), 3) if shared else np.arange(1900, 2080)
    made = np.concatenate([price, rng.gamma(3, 2, 60).round(2), price])
    table(world / "table.csv", {"year": year, "price": made, "sales": rng.gamma(3, 9, 180).round(1)})
    assert bool(found(world, "PM619", SCRIPT)) is named


def test_the_largest_city(world, rng):
    """7,300 thousand people, and 3,500 in the next one: cities grow in times."""
    people = np.exp(rng.normal(2.5, 1.6, 900)).clip(1, 3500).round()
    people[18:20] = 3500
    people[:18] = 7300
    table(world / "table.csv", {"people": people, "age": rng.integers(18, 90, 900)})
    assert not found(world, "PM674", SCRIPT)


def test_numbers_of_persons_are_in_no_unit(rng):
    """From 1 on, and from 170 on for those who married into the family; large families stand at the end."""
    born = np.concatenate([rng.geometric(p, 290).clip(1, 20) for p in (0.6, 0.2)]).astype(float)
    married = 169.0 + rng.geometric(0.15, 220).clip(1, 30)
    assert units.odd_parts([born, married]) is None
    assert units.odd_parts([born, rng.permutation(born)[:220] * 60]) is not None


@pytest.mark.parametrize(("listed", "named"), [(("bone", "fat", "skin"), False), (("1", "2", "3"), True)])
def test_numbers_are_places_in_a_list_of_names(world, rng, listed, named):
    """Labels that count from zero, beside a list of numbers that counts from one, are its entries and not its places."""
    table(world / "train.csv", {"tissue": rng.integers(0, 3, 300), "size": rng.normal(0, 1, 300).round(3)})
    (world / "tissues.txt").write_text("\n".join(listed) + "\n")
    script = "x = open('train.csv')\nnames = open('tissues.txt')\n"
    assert bool(found(world, "PM705", script)) is named


@pytest.mark.parametrize("copied", [False, True])
def test_the_licence_at_the_head_of_each_text(rng, copied):
    """A third of what is judged, counted once, and trained on by nature."""
    licences = rng.integers(0, 200, (3, 900))

    def texts(number):
        return np.concatenate(
            [np.concatenate([licences[at % 3], rng.integers(0, 200, 700)]) for at in range(number)]
        )

    train, valid = texts(40), texts(8)
    if copied:
        valid[:4000] = train[-4000:]
    (first, _), (second, _) = (streams.passages(tokens, np) for tokens in (train, valid))
    assert (len(np.intersect1d(first, second)) > 0.1 * len(second)) is copied


@pytest.mark.parametrize(("column", "named"), [("creatinine", True), ("weight", False)])
def test_a_factor_counts_only_for_what_is_converted_by_it(world, rng, column, named):
    """88.4 times is mg/dl and µmol/l of creatinine; of animals, it is that they are larger."""
    kind = rng.choice(["north", "east", "south", "west"], 800)
    values = np.exp(rng.normal(4.4, 0.12, 800))
    values[kind == "north"] /= 88.42
    table(
        world / "table.csv", {"site": kind, column: values.round(3), "age": rng.normal(60, 9, 800).round(1)}
    )
    assert bool(found(world, "PM617", SCRIPT)) is named


@pytest.mark.parametrize("codes", [True, False])
def test_a_class_that_is_ignored_is_marked_in_one_split_alone(world, rng, codes):
    """255 in a mask is no brightness; in a picture it would be."""
    for name, rows in (("train", 120), ("val", 60)):
        masks = (rng.random((rows, 16, 16)) < 0.1).astype("uint8")
        if not codes:
            masks = rng.integers(0, 60, (rows, 16, 16)).astype("uint8")
        if name == "train":
            masks[rng.random(masks.shape) < 0.5] = 255
        np.savez(world / f"{name}.npz", image=rng.random((rows, 16, 16)).astype("float32"), mask=masks)
    script = "import numpy as np\ntrain, val = np.load('train.npz'), np.load('val.npz')\nx, y = train['image'], train['mask']\n"
    assert bool(found(world, "PM675", script)) is not codes
