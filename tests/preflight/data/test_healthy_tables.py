"""Kinds of tables that are published and correct, each of which was accused once: beside it the fault that is still named."""

import numpy as np
import pytest

from premortem.preflight.data.relations import follows, order, streams, units
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


# --- rows that were divided at a time ------------------------------------------------------------

SPLIT = "x = open('train.csv'), open('valid.csv')\n"


def divided(world, columns, judged):
    for file, rows in (("train", ~judged), ("valid", judged)):
        table(world / f"{file}.csv", {key: np.asarray(column)[rows] for key, column in columns.items()})


def days(number):
    return np.datetime_as_string(np.datetime64("2015-01-01") + np.arange(number), unit="D")


@pytest.mark.parametrize(("since", "named"), [(1750, False), (1600, True)])
def test_a_company_that_is_listed_since(world, rng, since, named):
    """What is written in another way is so from the first row on."""
    at = np.arange(2000)
    ticker = rng.choice(["AA", "IBM", "GE"], 2000)
    ticker[(at >= since) & (rng.random(2000) < 0.3)] = "FB"
    made = {"date": days(2000), "ticker": ticker, "volume": rng.gamma(3, 900, 2000).round()}
    divided(world, made, at >= 1600)
    assert bool(found(world, "PM676", SPLIT)) is named


@pytest.mark.parametrize(("turns", "named"), [(True, False), (False, True)])
def test_prices_of_some_years_go_against_the_volume(world, rng, turns, named):
    """They do so in other years, too, which dates say as well as numbers."""
    at = np.arange(2000)
    volume = rng.normal(0, 1, 2000)
    against = np.isin(at // 200, (2, 3, 8, 9)) if turns else at >= 1600
    price = np.where(against, -volume, volume) + rng.normal(0, 0.3, 2000)
    made = {"date": days(2000), "volume": volume.round(3), "price": price.round(3)}
    divided(world, made | {key: rng.normal(0, 1, 2000).round(3) for key in "abcde"}, at >= 1600)
    assert bool(found(world, "PM627", SPLIT)) is named


@pytest.mark.parametrize("lost", [False, True])
def test_the_flag_of_a_year_is_off_in_others(world, rng, lost):
    """Times the size of the school. Beside it a column of which nothing is left."""
    year = np.repeat(np.arange(2000, 2010), 120)
    size = rng.integers(20, 60, 1200)
    other = rng.gamma(3, 2, 1200).round(1)
    made = {
        "year": year,
        "in_2003": np.where(year == 2003, size, 0),
        "other": np.where((year >= 2008) & lost, 0, other),
    }
    divided(world, made | {key: rng.normal(0, 1, 1200).round(3) for key in "abc"}, year >= 2008)
    (said,) = found(world, "PM675", SPLIT) or [None]
    assert (said is not None and "`other`" in said.message and "in_2003" not in said.message) is lost


def test_the_time_at_which_rows_were_divided_is_another_one(world, rng):
    """Layers of ice go far back, and further the deeper they lie."""
    year = -np.sort(np.exp(rng.uniform(0, 13, 1500)))[::-1].round()
    made = {
        "year": year,
        "carbon": rng.normal(280, 20, 1500).round(1),
        "depth": rng.normal(0, 1, 1500).round(2),
    }
    divided(world, made, np.arange(1500) >= 1200)
    assert not found(world, "PM675", SPLIT)


@pytest.mark.parametrize(("numbered", "copied"), [(False, False), (True, False), (False, True), (True, True)])
def test_where_a_country_lies_in_each_year(world, rng, numbered, copied):
    """It lies there in all of them. A rate that comes again does not."""
    country = np.tile(np.arange(1, 81), 3)
    rate = rng.gamma(3, 2, len(country)).round(3)
    rate[80:160] = rate[:80] if copied else rate[80:160]
    names = country if numbered else np.char.add("c", country.astype(str))
    latitude = rng.normal(40, 9, 80).round(4)[country - 1]
    table(world / "table.csv", {"country": names, "latitude": latitude, "rate": rate})
    assert bool(found(world, "PM619", SCRIPT)) is copied


def test_days_of_the_month_are_those_of_other_months(world, rng):
    for file, start, length in (("train", "2015-01-01", 600), ("valid", "2017-02-10", 240)):
        made = np.datetime64(start) + np.arange(length)
        day = (made - made.astype("datetime64[M]")).astype(int) + 1
        table(world / f"{file}.csv", {"date": made, "day": day, "cases": rng.gamma(3, 9, length).round(2)})
    assert not found(world, "PM619", SPLIT)


@pytest.mark.parametrize("by_time", [False, True])
def test_countries_come_again_in_later_years(world, rng, by_time):
    """A year is a time, although it is no date. Drawn by row, the rows of a country give its region away."""
    country, year = np.repeat(np.arange(60), 20), np.tile(np.arange(1990, 2010), 60)
    places = rng.normal(0, 1, (60, 3))[country] + rng.normal(0, 0.1, (1200, 3))
    made = {"country": np.char.add("c", country.astype(str)), "year": year}
    made |= {key: column.round(3) for key, column in zip("abc", places.T, strict=True)}
    made["label"] = np.array(["east", "west", "south"])[country % 3]
    divided(world, made, year >= 2006 if by_time else rng.random(1200) < 0.2)
    assert bool(found(world, "PM725", SPLIT)) is not by_time


@pytest.mark.parametrize("persons", [False, True])
def test_times_of_the_day_are_no_persons(world, rng, persons):
    """Flights at 1355 and at 1400 are alike, and have one answer. Persons with numbers that are near each other are not alike."""
    hour, minute = rng.integers(5, 23, 3000), rng.choice([0, 15, 30, 45], 3000)
    time = hour * 100 + minute
    codes, place = np.unique(time, return_inverse=True)
    order = rng.permutation(len(codes)) if persons else np.arange(len(codes))
    like = order[place]
    made = {
        "sched": time,
        "left": (like + rng.normal(0, 0.2, 3000)).round(2),
        "landed": (like * 2 + rng.normal(0, 0.4, 3000)).round(2),
        "wait": rng.gamma(3, 2, 3000).round(1),
        "label": (like >= 40).astype(int),
    }
    divided(world, made, rng.random(3000) < 0.2)
    assert bool(found(world, "PM725", SPLIT)) is persons


# --- orders and steps ----------------------------------------------------------------------------


@pytest.mark.parametrize(("jumps", "named"), [(False, False), (True, True)])
def test_a_price_that_grows_for_ten_years(world, rng, jumps, named):
    """A hundred times in many small steps, or in one, which is another scale."""
    growth = np.where(np.arange(3000) >= 1500, 3.8, 0.0) if jumps else np.arange(3000) / 600
    price = np.exp(1 + growth + rng.normal(0, 0.2, 3000)).round(3)
    made = {"price": price, **{key: rng.normal(0, 1, 3000).round(3) for key in "abc"}}
    table(world / "table.csv", made)
    assert bool(found(world, "PM675", SCRIPT)) is named


def test_rows_that_are_sorted_by_what_falls_to_nothing(world, rng):
    """From the highest wage to the many who earn nothing."""
    wage = np.sort(np.where(rng.random(1500) < 0.3, 0, rng.gamma(0.5, 4000, 1500)).round(2))[::-1]
    table(world / "table.csv", {"wage": wage, **{key: rng.normal(0, 1, 1500).round(3) for key in "abc"}})
    assert not found(world, "PM675", SCRIPT)


@pytest.mark.parametrize(("mixed", "named"), [(False, False), (True, True)])
def test_numbers_of_events_one_behind_the_other(rng, world, mixed, named):
    """A stretch of the file has its own events, and a factor by which they are like the others. Not so where rows are in no order."""
    event = np.repeat(
        np.arange(1, 24), (1, 8, 1, 7, 9, 1, 1, 4, 20, 1, 2, 1, 2, 3, 3, 2, 2, 10, 30, 13, 6, 8, 14)
    )
    if mixed:
        event = rng.normal(5, 1.2, len(event)).round(2)
        event[37:73] = (event[37:73] * 2.54).round(2)
    table(world / "table.csv", {"event": event, **{k: rng.normal(0, 1, len(event)).round(3) for k in "abc"}})
    assert bool(found(world, "PM617", SCRIPT)) is named


@pytest.mark.parametrize(("narrow", "named"), [(False, False), (True, True)])
def test_quartiles_of_rounded_numbers_jump(world, rng, narrow, named):
    """The logarithm of 30, 45, 60, 90 and 120 minutes, by chance in another share. Another unit changes the spread as well."""
    often = ((14, 15, 27, 15, 29), (10, 10, 37, 22, 21))
    values = [np.tile(np.log(np.repeat([30, 60, 90, 120, 180], each)), (9, 1)) for each in often]
    values = [rng.permuted(each, axis=1).ravel() for each in values]
    values = [
        np.where(rng.random(900) < 0.03, np.log(rng.integers(70, 110, 900)), each).round(4) for each in values
    ]
    if narrow:
        values = rng.normal(4, 0.7, (2, 900)).round(4)
        values[1] = (4 + (values[1] - 4) / 2.2).round(4)
    for file, column in zip(("train", "valid"), values, strict=True):
        made = {"length": column, **{key: rng.normal(0, 1, 900).round(3) for key in "abcd"}}
        table(world / f"{file}.csv", made)
    assert bool(found(world, "PM675", SPLIT)) is named


@pytest.mark.parametrize(("fee", "named"), [("a fee", False), ("a tax", True), ("other rows", True)])
def test_a_sum_with_one_more_part(world, rng, fee, named):
    """Some have a fee, which has no column, and some have nothing else. A tax is a share of the sum; a total of another row lies on either side of it."""
    fixed, variable = rng.gamma(3, 20, (2, 900)).round(1)
    fixed[:12] = variable[:12] = 0
    total = fixed + variable
    odd = rng.random(900) < 0.06
    changed = {
        "a fee": total + rng.gamma(2, 6, 900) + 1,
        "a tax": total * 1.19,
        "other rows": np.roll(total, 7),
    }[fee]
    made = {"fixed": fixed, "variable": variable, "total": np.where(odd, changed, total).round(1)}
    table(world / "table.csv", made)
    assert bool(found(world, "PM703", SCRIPT)) is named


def test_doses_of_metals_are_in_no_unit(rng):
    """Feet, ounces, hours and inches would all make them agree."""
    parts = [np.exp(rng.normal(-3.3, 0.9, 80)) for _ in range(5)]
    assert units.odd_parts([*parts, np.exp(rng.normal(0.2, 0.9, 40))]) is None


def test_whole_numbers_that_were_rounded_before_they_were_added(world, rng):
    """Hours of the family and of others, and all of them: one off in a tenth of the rows. A hundred off are others."""
    own, hired = rng.gamma(3, 60, (2, 900))
    total = (own + hired).round()
    made = {"own": own.round(), "hired": hired.round(), "total": total}
    table(world / "table.csv", made)
    assert not found(world, "PM703", SCRIPT)
    made["total"] = np.where(rng.random(900) < 0.06, total + rng.normal(0, 100, 900).round(), total)
    table(world / "table.csv", made)
    assert found(world, "PM703", SCRIPT)


@pytest.mark.parametrize("copied", [False, True])
def test_what_was_asked_once_of_a_person_who_is_asked_each_year(world, rng, copied):
    person = np.tile(rng.choice(90000, 150, replace=False), 3)
    health, income = rng.normal(60, 9, 150).round(1), rng.gamma(3, 900, 450).round()
    income[150:300] = income[:150] if copied else income[150:300]
    made = {
        "person": person,
        "year": np.repeat([1, 2, 3], 150),
        "health": np.tile(health, 3),
        "income": income,
    }
    table(world / "table.csv", made)
    assert bool(found(world, "PM619", SCRIPT)) is copied


@pytest.mark.parametrize(
    ("others", "named"),
    [(("<5", "10+"), False), (("5h",), False), (("<0.2", "<0.4", "<0.6"), True), (("7 h",), True)],
)
def test_the_first_and_the_last_answer_are_open(world, rng, others, named):
    """Hours of sleep, as people tick them. A limit of a laboratory is another one in each series."""
    plain = rng.integers(5, 10, 800) if "<5" in others else rng.gamma(3, 0.2, 800).round(2) + 0.2
    cells = np.where(rng.random(800) < 0.2, rng.choice(others, 800), plain.astype(str))
    table(world / "table.csv", {"sleep": cells, "age": rng.integers(18, 90, 800)})
    assert bool(found(world, "PM714", SCRIPT)) is named


@pytest.mark.parametrize(("quarters", "named"), [(("2018Q1", "2019Q2"), False), (("spring", "autumn"), True)])
def test_a_quarter_is_a_part_of_a_year(world, rng, quarters, named):
    yearly = rng.random(600) < 0.4
    period = np.where(yearly, rng.choice(["2018", "2019"], 600), rng.choice(quarters, 600))
    made = {"freq": np.where(yearly, "A", "Q"), "period": period, "value": rng.gamma(3, 20, 600).round(1)}
    table(world / "table.csv", made)
    assert bool(found(world, "PM704", SCRIPT)) is named


@pytest.mark.parametrize("grouped", [False, True])
def test_answers_of_several_experiments_one_behind_the_other(world, rng, grouped):
    """Which experiment it is stands in the array beside them."""
    kind = np.repeat(np.arange(10.0), 120)
    size = np.where(kind < 4, 40.0, 1.0)
    x = np.stack([kind if grouped else rng.normal(0, 1, 1200), *rng.normal(0, 1, (3, 1200))], 1)
    np.savez(world / "data.npz", x=x.astype("float32"), y=(size * rng.normal(0, 1, 1200)).astype("float32"))
    assert bool(found(world, "PM675", "x = open('data.npz')\n")) is not grouped


def test_of_few_rows_and_many_classes_nothing_is_learnt(rng):
    """A rule of all cars says something about each year but the first, of which there are other brands."""
    turned, other = rng.normal(0, 1, (2, 12, 16))
    rows = [rng.normal(0, 1, (70, 12)) for _ in range(12)]
    labels = [(each @ (turned if at else other)).argmax(1) for at, each in enumerate(rows)]
    assert follows.unfollowed(rows, labels) is None
    rows = [rng.normal(0, 1, (700, 12)) for _ in range(12)]
    labels = [(each @ turned).argmax(1) for each in rows]
    labels[4] = rng.permutation(labels[4])
    assert follows.unfollowed(rows, labels).parts == (4,)


def test_the_first_cars_of_a_year_are_of_another_kind(rng):
    """Half of them are of one class, which is rare later on, and the rule of the others says nothing about them."""
    turned = rng.normal(0, 1, (8, 10))
    rows = [rng.normal(0, 1, (100, 8)) for _ in range(12)]
    labels = [(each @ turned).argmax(1) for each in rows]
    labels[0] = rng.permutation(labels[0])
    assert follows.unfollowed(rows, labels).parts == (0,)
    labels[0] = np.where(rng.random(100) < 0.6, 3, labels[0])
    assert follows.unfollowed(rows, labels) is None


def test_an_empty_cell_is_no_category(world, rng):
    made = {"date": days(1000), "sex": rng.choice(["f", "m"], 1000), "age": rng.integers(18, 90, 1000)}
    made["sex"][800:][rng.random(200) < 0.1] = ""
    divided(world, made, np.arange(1000) >= 800)
    assert not found(world, "PM676", SPLIT)


@pytest.mark.parametrize("lost", [False, True])
def test_who_is_still_there_has_no_last_day(world, rng, lost):
    """That is no other number of days. Beside it one of another row."""
    first = np.datetime64("1980-01-01") + np.sort(rng.integers(0, 9000, 600))
    length = rng.integers(100, 6000, 600)
    last = np.datetime_as_string(first + length).astype("U10")
    last[rng.random(600) < 0.08] = ""
    length[30:60] = length[130:160] if lost else length[30:60]
    table(world / "table.csv", {"first": first, "last": last, "length": length, "x": rng.normal(0, 1, 600)})
    assert bool(found(world, "PM703", SCRIPT)) is lost


def test_the_price_with_discounts_that_few_have(world, rng):
    """The difference of two prices is that of the list, less one discount, and with the other one where there is one."""
    one, two = (2 + rng.gamma(9, 0.02, (2, 900))).round(2)
    less, more = (np.where(rng.random((2, 900)) < 0.3, rng.integers(5, 40, (2, 900)) / 100, 0)).round(2)
    made = {"one": one, "two": two, "less": less, "more": more}
    made |= {"listed": (two - one).round(2), "paid": (two - more - one + less).round(2)}
    table(world / "table.csv", made)
    assert not found(world, "PM703", SCRIPT)


@pytest.mark.parametrize("arrays", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_prices_of_a_hundred_years_divided_at_one_of_them(world, rng, arrays, unit):
    """They go on where they ended. Another unit does not."""
    growth = np.concatenate([np.linspace(0, 1, 960), np.linspace(1, 5, 240)])
    prices = (np.exp(growth) * rng.gamma(90, 0.1, 1200)).round(3)
    prices[960:] *= 30 if unit else 1
    made = {"price": prices, **{key: rng.normal(0, 1, 1200).round(3) for key in "abc"}}
    if arrays:
        x = np.stack(list(made.values()), 1).astype("float32")
        for file, rows in (("train", slice(960)), ("valid", slice(960, None))):
            np.savez(world / f"{file}.npz", x=x[rows], y=rng.normal(0, 1, len(x[rows])).astype("float32"))
    else:
        divided(world, {"date": days(1200)} | made, np.arange(1200) >= 960)
    script = "x = open('train.npz'), open('valid.npz')\n" if arrays else SPLIT
    assert bool(found(world, "PM675", script)) is unit


@pytest.mark.parametrize("other", [False, True])
def test_minutes_of_a_run_are_miles_times_a_pace_with_two_digits(world, rng, other):
    miles, pace = rng.gamma(9, 0.6, 900).round(1), rng.normal(9, 0.6, 900)
    minutes = (miles * pace).round(2)
    minutes[rng.random(900) < 0.05 * other] *= 1.3
    table(world / "table.csv", {"minutes": minutes.round(2), "miles": miles, "pace": pace.round(2)})
    assert bool(found(world, "PM703", SCRIPT)) is other


def test_films_that_came_later_have_higher_numbers(world, rng):
    film = np.concatenate([rng.integers(1, 5000, 1200), rng.integers(30000, 130000, 300)])
    made = {
        "date": days(1500),
        "movieId": film,
        "stars": rng.integers(1, 6, 1500),
        "x": rng.normal(0, 1, 1500),
    }
    divided(world, made, np.arange(1500) >= 1200)
    assert not found(world, "PM675", SPLIT)


def test_houses_of_which_half_have_a_cellar_below_all_of_the_ground_floor(world, rng):
    """Then the area is the sum of the upper floor and the cellar, too."""
    ground, upper = (
        rng.integers(600, 1800, 900),
        np.where(rng.random(900) < 0.7, rng.integers(300, 900, 900), 0),
    )
    cellar = np.where(rng.random(900) < 0.55, ground, ground - rng.integers(30, 500, 900))
    table(world / "table.csv", {"cellar": cellar, "ground": ground, "upper": upper, "area": ground + upper})
    assert not found(world, "PM703", SCRIPT)


@pytest.mark.parametrize("unit", [False, True])
def test_prices_of_each_year_that_rise_ever_faster(world, rng, unit):
    growth = np.concatenate([np.linspace(0, 0.5, 110), np.linspace(0.5, 4.3, 100)])
    prices = (np.exp(growth) * rng.normal(10, 0.2, 210)).round(3)
    prices[110:] *= 30 if unit else 1
    made = {"year": np.arange(1800, 2010), "prices": prices, "deaths": rng.normal(0, 1, 210).round(3)}
    divided(world, made | {"births": rng.normal(0, 1, 210).round(3)}, np.arange(210) >= 110)
    assert bool(found(world, "PM675", SPLIT)) is unit


def test_the_year_of_arrays_that_were_divided_at_it(world, rng):
    year = np.repeat(np.arange(1990, 2010), 160)
    x = np.stack([year, *rng.normal(0, 1, (3, 3200))], 1).astype("float32")
    for file, rows in (("train", year < 2009), ("valid", year == 2009)):
        np.savez(world / f"{file}.npz", x=x[rows], y=rng.normal(0, 1, rows.sum()).astype("float32"))
    assert not found(world, "PM675", "x = open('train.npz'), open('valid.npz')\n")
