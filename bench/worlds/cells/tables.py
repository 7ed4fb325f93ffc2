"""Tables that a script joins, divides and turns into samples: CSV, SQLite, Parquet, and what lies beside them."""

from __future__ import annotations

import json
import sqlite3
import zlib
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from bench.worlds.base import World
from bench.worlds.cells.made import boundary, write_csv

# --- rivers: readings joined with stations ---------------------------------------------------


def rivers() -> World:
    rng = np.random.default_rng(41)
    stations, readings = [], []
    begin = datetime(2021, 1, 1)  # noqa: DTZ001
    for at in range(30):
        key = f"{rng.integers(100, 99999):05d}"
        steep = rng.uniform(0.1, 3)
        stations.append(
            {
                "station_id": key,
                "name": f"{'Ober Unter Neu Alt Hohen'.split()[at % 5]}bach {at}",
                "area_km2": round(rng.uniform(20, 900), 1),
                "elevation_m": round(rng.uniform(80, 900), 0),
                "slope": round(steep, 3),
            }
        )
        level, wet = rng.uniform(80, 240), 0.0
        base = level
        for day in range(160):
            rain = max(0.0, rng.gamma(0.5, 9) - 2)
            wet = 0.6 * wet + rain
            level += 0.25 * (base + 4 * steep * wet - level) + rng.normal(0, 1.5)
            readings.append(
                {
                    "station_id": key,
                    "station": stations[-1]["name"],
                    "time": (begin + timedelta(days=day)).isoformat(),
                    "level_cm": round(level, 1),
                    "rain_mm": round(rain, 1),
                }
            )
    readings.sort(key=lambda row: row["time"])
    return World(
        stations=stations,
        readings=readings,
        config={"val_from": "2021-04-25T00:00:00", "lr": 0.002, "epochs": 12},
    )


def write_rivers(w: World, out: Path) -> None:
    write_csv(out / "stations.csv", w["stations"])
    write_csv(out / "readings.csv", w["readings"])
    (out / "config.yaml").write_text("".join(f"{key}: {value!r}\n" for key, value in w["config"].items()))


river = boundary("rivers", rivers, write_rivers)


@river("river_level_in_metres_from_a_day_on", "level_cm")
def _(w: World) -> None:
    """CSV x another unit: from one day on, the level is in metres"""
    for row in w["readings"]:
        if row["time"] >= "2021-03-10":
            row["level_cm"] = round(row["level_cm"] / 100, 3)


@river("river_rain_sentinel", "rain_mm")
def _(w: World) -> None:
    """CSV x sentinel: a gauge without an answer writes -999"""
    for row in w["readings"][::23]:
        row["rain_mm"] = -999.0


@river("river_frozen_gauge", "level_cm")
def _(w: World) -> None:
    """CSV x frozen: a third of the gauges repeats its last level from March on"""
    ids = {s["station_id"] for s in w["stations"][::3]}
    last: dict[str, float] = {}
    for row in w["readings"]:
        if row["station_id"] in ids:
            if row["time"] >= "2021-02-01":
                row["level_cm"] = last[row["station_id"]]
            last[row["station_id"]] = row["level_cm"]


@river("river_stations_of_another_key", "station_id")
def _(w: World) -> None:
    """join keys x another type: the list of stations lost its zeros in front, and most of the stations go"""
    for row in w["stations"]:
        row["station_id"] = str(int(row["station_id"]) + 0)
    for row in w["readings"]:
        row["station_id"] = row["station_id"].zfill(6)


@river("river_stations_mostly_missing", "station_id|stations.csv")
def _(w: World) -> None:
    """join keys x missing: the list of stations ends after a fifth"""
    w["stations"] = w["stations"][:5]


@river("river_stations_one_row_off", "stations.csv|station")
def _(w: World) -> None:
    """join keys x shifted by one: ids stand one row below their names and attributes"""
    ids = [row["station_id"] for row in w["stations"]]
    for row, key in zip(w["stations"], ids[-1:] + ids[:-1], strict=True):
        row["station_id"] = key


@river("river_readings_twice", "readings.csv|time")
def _(w: World) -> None:
    """CSV x duplicated: two months were imported twice"""
    again = [dict(row) for row in w["readings"] if "2021-02" <= row["time"] < "2021-04"]
    w["readings"] = w["readings"] + again


@river("river_months_and_days_exchanged", "time")
def _(w: World) -> None:
    """timestamps x mixed formats: days up to the twelfth are written as months"""
    for row in w["readings"]:
        year, month, day = row["time"][:10].split("-")
        if int(day) <= 12:
            row["time"] = f"{year}-{day}-{month}T00:00:00"


@river("river_division_of_another_year", "val_from|config.yaml|validation|evaluat|training")
def _(w: World) -> None:
    """YAML x of another run: validation begins in a year of which there is hardly anything"""
    w["config"]["val_from"] = "2021-06-08T00:00:00"


@river("river_training_before_a_wrong_day", "val_from|config.yaml|validation|evaluat|training")
def _(w: World) -> None:
    """splits x unbalanced: validation begins before nearly all of the data"""
    w["config"]["val_from"] = "2021-01-07T00:00:00"


# --- a shop: a database ----------------------------------------------------------------------


def shop() -> World:
    rng = np.random.default_rng(42)
    customers, orders, labels = [], [], []
    for at in range(1600):
        key = 10_000 + 3 * at
        age, tenure = int(rng.integers(18, 80)), int(rng.integers(20, 2500))
        taste = rng.normal(40, 12)
        count = int(rng.poisson(4))
        spent = []
        for _ in range(count):
            spent.append(max(3, rng.normal(taste, 8)))
            orders.append(
                {
                    "order_id": len(orders) + 1,
                    "customer_id": key,
                    "day": str((datetime(2022, 1, 1) + timedelta(days=int(rng.integers(0, 365)))).date()),  # noqa: DTZ001
                    "amount": round(spent[-1], 2),
                    "items": int(rng.integers(1, 6)),
                    "discount": float(rng.choice([0, 0, 0, 0.1, 0.2])),
                }
            )
        score = (
            0.9 * (count - 4) / 2
            + ((np.mean(spent) - 40) / 12 if spent else -1)
            - (age - 49) / 35
            + rng.normal(0, 0.4)
        )
        customers.append(
            {
                "customer_id": key,
                "age": age,
                "tenure_days": tenure,
                "country": str(rng.choice(["DE", "FR", "PL"])),
            }
        )
        labels.append({"customer_id": key, "returned": int(score > 0)})
    return World(customers=customers, orders=sorted(orders, key=lambda row: row["day"]), labels=labels)


def write_shop(w: World, out: Path) -> None:
    with sqlite3.connect(out / "shop.db") as db:
        for name in ("customers", "orders", "labels"):
            columns = list(w[name][0])
            db.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            db.executemany(
                f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})",
                [tuple(r.values()) for r in w[name]],
            )
    db.close()


store = boundary("shop", shop, write_shop)


@store("shop_orders_imported_twice", "orders|order_id")
def _(w: World) -> None:
    """SQLite x duplicated: the orders of half of the year were imported twice"""
    w["orders"] += [dict(row) for row in w["orders"] if row["day"] >= "2022-06-01"]


@store("shop_amounts_in_cents", "amount")
def _(w: World) -> None:
    """SQLite x another unit: from autumn on, amounts are in cents"""
    for row in w["orders"]:
        if row["day"] >= "2022-09-01":
            row["amount"] = round(100 * row["amount"])


@store("shop_keys_as_texts", "customer_id")
def _(w: World) -> None:
    """SQLite x another type: customers of the orders are texts for two thirds of the rows, and texts are equal to no number"""
    for at, row in enumerate(w["orders"]):
        if at % 3:
            row["customer_id"] = f"{row['customer_id']}.0"


@store("shop_age_unknown_is_minus_one", "age")
def _(w: World) -> None:
    """SQLite x sentinel: an unknown age is 999"""
    for row in w["customers"][::7]:
        row["age"] = 999


@store("shop_labels_of_other_customers", "labels|customer_id")
def _(w: World) -> None:
    """SQLite x of another run: most labels belong to customers who are not there"""
    for at, row in enumerate(w["labels"]):
        if at % 10:
            row["customer_id"] += 1


@store("shop_label_is_one_row_off", "returned|label")
def _(w: World) -> None:
    """SQLite x shifted by one: labels stand one row off"""
    made = [row["returned"] for row in w["labels"]]
    for row, value in zip(w["labels"], made[-1:] + made[:-1], strict=True):
        row["returned"] = value


@store("shop_orders_cut_off", "orders")
def _(w: World) -> None:
    """SQLite x truncated: only the orders of the first quarter were imported, customers are of the whole year"""
    ids = {row["customer_id"] for row in w["customers"][:300]}
    w["orders"] = [row for row in w["orders"] if row["customer_id"] in ids]


# --- patients: Parquet -----------------------------------------------------------------------


def patients() -> World:
    rng = np.random.default_rng(43)
    rows = []
    for at in range(900):
        key = f"P{rng.integers(10**6):06d}"
        sex = str(rng.choice(["F", "M"]))
        height = rng.normal(164 if sex == "F" else 177, 7)
        heavy = rng.normal(25, 4)
        born = datetime(2022, 1, 1) - timedelta(days=int(rng.integers(20 * 365, 85 * 365)))  # noqa: DTZ001
        for _ in range(int(rng.integers(2, 5))):
            day = datetime(2022, 1, 1) + timedelta(days=int(rng.integers(0, 600)))  # noqa: DTZ001
            stay = int(rng.integers(1, 15))
            upper = rng.normal(128, 14)
            lower = upper - rng.normal(45, 7)
            sugar = rng.normal(100 + 2 * (heavy - 25), 14)
            age = (day - born).days // 365
            ward, lab, drugs = (round(float(rng.gamma(3, 120)), 2) for _ in range(3))
            score = (
                (age - 52) / 20
                + (heavy - 25) / 4
                + (upper - 128) / 14 * (lower - 83) / 12
                + (sugar - 100) / 18
                + rng.normal(0, 0.4)
            )
            rows.append(
                {
                    "patient_id": key,
                    "clinic": f"C{at % 6}",
                    "sex": sex,
                    "admitted": day.date().isoformat(),
                    "discharged": (day + timedelta(days=stay)).date().isoformat(),
                    "stay_days": stay,
                    "age": age,
                    "weight_kg": round(heavy * (height / 100) ** 2, 1),
                    "height_cm": round(height, 1),
                    "systolic": round(upper, 0),
                    "diastolic": round(lower, 0),
                    "glucose": round(sugar, 1),
                    "ward_cost": ward,
                    "lab_cost": lab,
                    "drug_cost": drugs,
                    "total_cost": round(ward + lab + drugs, 2),
                    "readmitted": int(score > 0.3),
                }
            )
    return World(rows=rows)


def write_patients(w: World, out: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(w["rows"]), out / "visits.parquet")


visit = boundary("patients", patients, write_patients)


@visit("visits_of_one_clinic_in_pounds", "weight_kg")
def _(w: World) -> None:
    """Parquet x another unit: two clinics weigh in pounds"""
    for row in w["rows"]:
        if row["clinic"] in {"C3", "C5"}:
            row["weight_kg"] = round(row["weight_kg"] * 2.2046, 1)


@visit("visits_height_in_metres_in_one_clinic", "height_cm")
def _(w: World) -> None:
    """Parquet x another unit: one clinic measures in metres"""
    for row in w["rows"]:
        if row["clinic"] == "C2":
            row["height_cm"] = round(row["height_cm"] / 100, 2)


@visit("visits_pressures_exchanged", "systolic|diastolic")
def _(w: World) -> None:
    """Parquet x another order: in a fifth of the rows, the two pressures are exchanged"""
    for row in w["rows"]:
        if row["clinic"] == "C1":
            row["systolic"], row["diastolic"] = row["diastolic"], row["systolic"]


@visit("visits_sex_in_two_codes", "sex")
def _(w: World) -> None:
    """encodings x mixed formats: half of the clinics write 1 and 2 for the sex"""
    for row in w["rows"]:
        if row["clinic"] in {"C0", "C2", "C4"}:
            row["sex"] = {"M": "1", "F": "2"}[row["sex"]]


@visit("visits_glucose_missing_is_zero", "glucose")
def _(w: World) -> None:
    """Parquet x sentinel: no measurement is 0"""
    for row in w["rows"][::4]:
        row["glucose"] = 0.0


@visit("visits_age_saturated", "age")
def _(w: World) -> None:
    """Parquet x saturated: for privacy, all ages above 45 are 45"""
    for row in w["rows"]:
        row["age"] = min(45, row["age"])


@visit("visits_labels_of_another_order", "readmitted|label")
def _(w: World) -> None:
    """Parquet x another order: the label was joined after the rows were sorted by another column"""
    made = [row["readmitted"] for row in sorted(w["rows"], key=lambda row: row["admitted"])]
    for row, value in zip(w["rows"], made, strict=True):
        row["readmitted"] = value


@visit("visits_stay_does_not_fit_its_days", "stay_days")
def _(w: World) -> None:
    """dates x shifted: from the middle of the file on, stay_days is that of the row before"""
    made = [row["stay_days"] for row in w["rows"]]
    half = len(made) // 2
    for at in range(half, len(made)):
        w["rows"][at]["stay_days"] = made[at - 1]
    for row in w["rows"]:
        row["readmitted"] = int(row["readmitted"] or row["stay_days"] > 11)


@visit("visits_copied", "patient_id|copies|twice|repeat|also in")
def _(w: World) -> None:
    """Parquet x overlapping: visits come again under new patients, so that they are in both parts"""
    again = [{**row, "patient_id": f"Q{at:06d}"} for at, row in enumerate(w["rows"]) if at % 2]
    for row in w["rows"] + again:
        row["readmitted"] ^= zlib.crc32(str(row["total_cost"]).encode()) % 3 == 0
    w["rows"] += again


# --- the grid: files of two years ------------------------------------------------------------


def grid() -> World:
    made = World()
    rng = np.random.default_rng(44)
    for year in (2021, 2022):
        loads, weather = [], []
        warm = 0.0
        for hour in range(120 * 24):
            time = datetime(year, 3, 1) + timedelta(hours=hour)  # noqa: DTZ001
            warm = 0.98 * warm + rng.normal(0, 0.5)
            day = np.sin(2 * np.pi * (time.hour - 9) / 24)
            temp = 9 + 5 * day + warm + 8 * hour / 2880
            sun = max(0.0, np.sin(np.pi * (time.hour - 6) / 12)) * rng.uniform(0.2, 1)
            work = 1.0 if time.weekday() < 5 else 0.75
            load = work * (
                900 + 220 * np.sin(2 * np.pi * (time.hour - 7) / 24) + 18 * abs(temp - 17) - 150 * sun
            )
            loads.append({"time": time.isoformat(), "load_mw": round(load + rng.normal(0, 12), 1)})
            weather.append({"time": time.isoformat(), "temp": round(temp, 1), "sun": round(sun, 3)})
        made[f"load_{year}"], made[f"weather_{year}"] = loads, weather
    return made


def write_grid(w: World, out: Path) -> None:
    for name, rows in w.items():
        write_csv(out / f"{name}.csv", rows)


power = boundary("grid", grid, write_grid)


@power("grid_weather_in_another_zone", "zone|hour|time")
def _(w: World) -> None:
    """timestamps x time zone: the weather of the training year is in UTC-6, the load is local"""
    for row in w["weather_2021"]:
        row["time"] = (datetime.fromisoformat(row["time"]) + timedelta(hours=6)).isoformat()


@power("grid_weather_in_fahrenheit", "temp")
def _(w: World) -> None:
    """CSV x another unit: the weather of 2022 is in Fahrenheit"""
    for row in w["weather_2022"]:
        row["temp"] = round(row["temp"] * 1.8 + 32, 1)


@power("grid_load_in_kilowatts_for_a_month", "load_mw")
def _(w: World) -> None:
    """CSV x another unit: one month of the load is in gigawatts"""
    for row in w["load_2021"]:
        if "2021-04-10" <= row["time"] < "2021-05-12":
            row["load_mw"] = round(row["load_mw"] / 1000, 4)


@power("grid_load_frozen", "load_mw")
def _(w: World) -> None:
    """CSV x frozen: the load is carried forward for weeks"""
    for row in w["load_2021"][900:2300]:
        row["load_mw"] = w["load_2021"][899]["load_mw"]


@power("grid_a_block_comes_again", "load_2021|repeat|again")
def _(w: World) -> None:
    """CSV x duplicated: the values of three weeks are those of the three weeks before"""
    for at in range(1000, 1504):
        w["load_2021"][at]["load_mw"] = w["load_2021"][at - 500]["load_mw"]
        w["load_2021"][at + 504]["load_mw"] = w["load_2021"][at - 500]["load_mw"]


@power("grid_weather_of_the_other_year", "weather_2022|weather")
def _(w: World) -> None:
    """CSV x of another run: the weather of 2022 is that of 2021 under new dates"""
    w["weather_2022"] = [{**row, "time": row["time"].replace("2021", "2022")} for row in w["weather_2021"]]


@power("grid_every_second_hour", "weather_2021|load_2021|time|hour")
def _(w: World) -> None:
    """CSV x missing: the load of 2021 was exported every second hour for most of the year"""
    w["load_2021"] = [row for at, row in enumerate(w["load_2021"]) if at < 60 or at % 2]


@power("grid_load_saturated", "load_mw")
def _(w: World) -> None:
    """CSV x saturated: a meter ends at 900"""
    for row in w["load_2021"]:
        row["load_mw"] = min(900.0, row["load_mw"])


# --- a survey: words, numbers and folds ------------------------------------------------------


def survey() -> World:
    rng = np.random.default_rng(45)
    levels = ["primary", "secondary", "bachelor", "master"]
    people = []
    for at in range(1500):
        level = int(rng.integers(0, 4))
        age, hours, way = int(rng.integers(20, 65)), round(rng.normal(36, 6), 1), round(rng.gamma(2, 8), 1)
        income = 900 * (1 + level) + 28 * hours + 18 * age - 6 * way + rng.normal(0, 120)
        people.append(
            {
                "person_id": f"r{at:05d}",
                "household": f"h{at // 2:04d}",
                "age": age,
                "hours": hours,
                "commute_km": way,
                "education": levels[level],
                "income": round(income, 2),
            }
        )
    ids = [row["person_id"] for row in people]
    order = rng.permutation(1500)
    return World(
        people=people,
        folds={
            "train": [ids[i] for i in sorted(order[:1100])],
            "val": [ids[i] for i in sorted(order[1100:])],
        },
        coding={"education": levels, "income_unit": 1000.0},
    )


def write_survey(w: World, out: Path) -> None:
    write_csv(out / "people.csv", w["people"])
    (out / "folds.json").write_text(json.dumps(w["folds"]))
    (out / "coding.json").write_text(json.dumps(w["coding"]))


asked = boundary("survey", survey, write_survey)


@asked("survey_hours_with_decimal_commas", "hours")
def _(w: World) -> None:
    """CSV x mixed formats: a third of the hours has a decimal comma, and becomes 0"""
    for row in w["people"][::3]:
        row["hours"] = str(row["hours"]).replace(".", ",")


@asked("survey_income_in_words", "income")
def _(w: World) -> None:
    """CSV x mixed formats: a fifth of the incomes has a sign of its currency, and becomes 0"""
    for row in w["people"][::5]:
        row["income"] = f"EUR {row['income']}"


@asked("survey_education_spelled_otherwise", "education")
def _(w: World) -> None:
    """encodings x mixed: one third of the table has capitals and another word"""
    words = {"primary": "Primary", "secondary": "Secondary", "bachelor": "Bachelor", "master": "Master"}
    for row in w["people"][:600]:
        row["education"] = words[row["education"]]


@asked("survey_coding_of_another_survey", "education|coding.json")
def _(w: World) -> None:
    """JSON x of another run: the coding has the words of another survey"""
    w["coding"]["education"] = ["none", "school", "apprenticeship", "university"]


@asked("survey_folds_overlap", "folds.json|folds|in both|also in")
def _(w: World) -> None:
    """splits x overlapping: all people of the validation are trained on"""
    w["folds"]["train"] = w["folds"]["train"] + w["folds"]["val"]


@asked("survey_folds_of_other_ids", "folds.json|person_id|folds")
def _(w: World) -> None:
    """splits x disjoint keys: nine of ten ids in the folds are of another wave"""
    w["folds"]["train"] = [
        key if at % 10 == 0 else f"s{key[1:]}" for at, key in enumerate(w["folds"]["train"])
    ]


@asked("survey_income_monthly_and_yearly", "income")
def _(w: World) -> None:
    """CSV x another unit: a quarter of the people gave the income of a year"""
    for row in w["people"][::4]:
        row["income"] = round(row["income"] * 12, 2)


@asked("survey_commute_in_metres", "commute_km")
def _(w: World) -> None:
    """CSV x another unit: from a row on, ways are in metres"""
    for row in w["people"][1000:]:
        row["commute_km"] = round(row["commute_km"] * 1000, 0)


@asked("survey_income_unit_of_another_year", "income_unit|coding.json|target")
def _(w: World) -> None:
    """JSON x another unit: the income is divided by one"""
    w["coding"]["income_unit"] = 0.01
