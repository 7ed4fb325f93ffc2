"""Same script, two worlds: what is wrong in the bad one, and what counts as naming it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from bench.split import is_closed
from bench.worlds import base
from bench.worlds.base import World

ALL: dict[str, Case] = {}


@dataclass
class Case:
    name: str
    script: str
    family: str
    make: Callable[[], World]
    write: Callable[[World, Path], None]
    spoil: Callable[[World], None]
    near: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    boundary: str = ""
    says: str = field(default="")

    @property
    def closed(self) -> bool:
        """Half of them, by the hash of their names: never tuned on."""
        return is_closed(self.name, "worlds")

    def build(self, out: Path, bad: bool) -> None:
        out.mkdir(parents=True, exist_ok=True)
        world = self.make()
        if bad:
            self.spoil(world)
        self.write(world, out)


def case(
    name: str,
    family: str,
    script: str,
    make: Callable[[], World],
    write: Callable[[World, Path], None],
    near: str = "",
    argv: str = "",
) -> Callable[[Callable[[World], None]], Callable[[World], None]]:
    def add(spoil: Callable[[World], None]) -> Callable[[World], None]:
        boundary = (spoil.__doc__ or "").strip()
        ALL[name] = Case(
            name, script, family, make, write, spoil, tuple(near.split()), tuple(argv.split()), boundary
        )
        return spoil

    return add


def table(name: str, family: str, suffix: str, near: str = "", argv: str = "", seed: int = 7):
    return case(
        name,
        family,
        "scripts/tabular.py",
        lambda: base.tabular(seed),
        lambda w, o: base.write_tabular(w, o, suffix),
        near,
        argv,
    )


def arrays(name: str, family: str, suffix: str, near: str = "", argv: str = "", seed: int = 11):
    return case(
        name,
        family,
        "scripts/arrays.py",
        lambda: base.minerals(seed),
        lambda w, o: base.write_arrays(w, o, suffix),
        near,
        argv,
    )


def pictures(name: str, family: str, how: str, near: str = "", seed: int = 13):
    return case(
        name,
        family,
        "scripts/pictures.py",
        lambda: base.tiles(seed),
        lambda w, o: base.write_tiles(w, o, how),
        near,
    )


def series(name: str, family: str, near: str = "", seed: int = 17):
    return case(name, family, "scripts/series.py", lambda: base.bridge(seed), base.write_bridge, near)


def words(name: str, family: str, near: str = "", seed: int = 19):
    return case(name, family, "scripts/messages.py", lambda: base.messages(seed), base.write_messages, near)


def resumed(name: str, family: str, near: str = "", seed: int = 23):
    return case(name, family, "scripts/resumed.py", lambda: base.sums(seed), base.write_sums, near)


def steered(name: str, family: str, near: str = "", seed: int = 29):
    return case(name, family, "scripts/steered.py", lambda: base.gait(seed), base.write_gait, near)


def some(number: int, share: float, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).random(number) < share


# --- tables by name --------------------------------------------------------------------------


def gone(*columns: str, value: float, share: float = 0.04) -> Callable[[World], None]:
    def spoil(w: World) -> None:
        for at, column in enumerate(columns):
            for part in ("train", "valid"):
                w[part][column][some(len(w[part][column]), share, at)] = value

    return spoil


table("csv_minus_9999", "data-scale", "csv", "data-empty numerics-masked", "--target yield")(
    gone("height", "soil", value=-9999.0)
)
table("csv_65535", "data-scale", "csv", "data-empty numerics-masked", "--target yield", 8)(
    gone("soil", value=65535.0)
)
table("csv_1e20", "data-scale", "csv", "data-empty numerics-masked numerics-overflow", "--target yield", 9)(
    gone("height", value=1e20, share=0.02)
)
table("parquet_minus_999", "data-scale", "parquet", "data-empty numerics-masked", "--target yield", 10)(
    gone("slope", "soil", value=-999.0)
)
table("jsonl_999999", "data-scale", "jsonl", "data-empty numerics-masked", "--target yield", 11)(
    gone("rain", value=999999.0)
)


@table("csv_nan_cell", "numerics-nan", "csv", "data-empty data-scale")
def _(w: World) -> None:
    """one cell is nan"""
    w["train"]["rain"][417] = np.nan


@table("csv_join_left_default", "data-scale", "csv", "data-empty data-labels", "--target yield")
def _(w: World) -> None:
    """a join that failed: one feature is its default everywhere"""
    w["train"]["height"][:] = w["valid"]["height"][:] = 250.0


@table("csv_valid_in_feet", "data-scale", "csv", "data-augment", "--target yield", 12)
def _(w: World) -> None:
    """the newer export has the height in feet"""
    w["valid"]["height"] *= 3.2808


@table("parquet_valid_in_inches", "data-scale", "parquet", "data-augment", "--target yield", 13)
def _(w: World) -> None:
    """rain in inches in one file, in millimetres in the other"""
    w["valid"]["rain"] /= 25.4


@table("jsonl_valid_in_grams", "data-scale", "jsonl", "data-augment", "--target yield", 14)
def _(w: World) -> None:
    """soil acidity as a concentration in one file"""
    w["valid"]["soil"] = 1000 * w["valid"]["soil"]


@table("csv_units_change_halfway", "data-scale", "csv", "", "--target yield", 15)
def _(w: World) -> None:
    """the station was replaced in the middle of the recording: rain in micrometres from there on"""
    w["train"]["rain"][650:] *= 1000


@table("csv_valid_column_empty", "data-scale", "csv", "data-empty", "--target yield", 16)
def _(w: World) -> None:
    """a column that the newer export no longer fills"""
    w["valid"]["height"][:] = 420.0


@table("csv_header_exchanged", "data-scale", "csv", "data-order", "--target yield", 17)
def _(w: World) -> None:
    """two headers of the validation file are exchanged"""
    v = w["valid"]
    v["height"], v["slope"] = v["slope"], v["height"]


def copied(share: float = 1.0, seed: int = 3) -> Callable[[World], None]:
    def spoil(w: World) -> None:
        rng = np.random.default_rng(seed)
        size = len(w["valid"]["kind"])
        chosen, put = rng.permutation(len(w["train"]["kind"]))[:size], rng.random(size) < share
        for name in w["valid"]:
            w["valid"][name] = np.where(put, w["train"][name][chosen], w["valid"][name])

    return spoil


def noisy_tabular(seed: int) -> Callable[[], World]:
    def make() -> World:
        w = base.tabular(seed)
        rng = np.random.default_rng(seed)
        for part in ("train", "valid"):
            pick = rng.random(len(w[part]["kind"])) < 0.45
            w[part]["kind"] = np.where(
                pick, rng.choice(["ash", "birch", "cedar", "oak"], len(pick)), w[part]["kind"]
            )
        return w

    return make


for _name, _suffix, _share, _seed in (
    ("csv_valid_is_train", "csv", 1.0, 21),
    ("parquet_valid_mostly_train", "parquet", 0.7, 22),
    ("jsonl_valid_is_train", "jsonl", 1.0, 23),
):
    case(
        _name,
        "data-order",
        "scripts/tabular.py",
        noisy_tabular(_seed),
        partial(base.write_tabular, suffix=_suffix),
        "data-labels eval-stale",
        "--epochs 60",
    )(copied(_share))


@table("csv_train_broke_off", "data-empty", "csv", "config", "--target yield", 24)
def _(w: World) -> None:
    """the copy of the training file broke off after 45 rows"""
    w["train"] = {name: values[:45] for name, values in w["train"].items()}


@table("csv_class_gone", "data-labels", "csv", "data-empty", "", 25)
def _(w: World) -> None:
    """an export without one class"""
    keep = w["train"]["kind"] != "cedar"
    w["train"] = {name: values[keep] for name, values in w["train"].items()}


@table("jsonl_class_gone", "data-labels", "jsonl", "data-empty", "", 26)
def _(w: World) -> None:
    """the shard with one class was never downloaded"""
    keep = w["train"]["kind"] != "oak"
    w["train"] = {name: values[keep] for name, values in w["train"].items()}


@table("csv_labels_spelled_anew", "data-labels", "csv", "data-empty", "", 27)
def _(w: World) -> None:
    """the newer file spells a class with a capital"""
    w["valid"]["kind"] = np.array(
        ["Oak" if k == "oak" else "Ash" if k == "ash" else k for k in w["valid"]["kind"]]
    )


@table("csv_labels_sorted_apart", "data-labels", "csv", "data-order", "", 28)
def _(w: World) -> None:
    """labels and features were sorted apart before they were joined"""
    rng = np.random.default_rng(4)
    w["train"]["kind"] = rng.permutation(w["train"]["kind"])


@table("parquet_labels_one_row_off", "data-labels", "parquet", "data-order", "", 29)
def _(w: World) -> None:
    """the labels begin one row too early"""
    w["train"]["kind"] = np.roll(w["train"]["kind"], 1)
    w["valid"]["kind"] = np.roll(w["valid"]["kind"], 1)


def leaking(w: World) -> None:
    """a column that is filled in after the fact"""
    for part in ("train", "valid"):
        w[part]["wind"] = 3.5 * w[part]["yield"] - 12.0


table("csv_price_in_features", "data-labels", "csv", "data-order loss-definition", "--target yield", 30)(
    leaking
)


@table("jsonl_code_is_the_class", "data-labels", "jsonl", "data-order", "", 31)
def _(w: World) -> None:
    """the age column holds the number of the class"""
    code = {"ash": 4.0, "birch": 9.0, "cedar": 17.0, "oak": 30.0}
    for part in ("train", "valid"):
        w[part]["age"] = np.array([code[k] for k in w[part]["kind"]])


# --- arrays by position ----------------------------------------------------------------------


def without(label: int) -> Callable[[World], None]:
    def spoil(w: World) -> None:
        keep = w["ty"] != label
        w["tx"], w["ty"] = w["tx"][keep], w["ty"][keep]

    return spoil


arrays("npz_class_gone", "data-labels", "npz", "data-empty")(without(3))
arrays("h5_class_gone", "data-labels", "h5", "data-empty", "", 12)(without(1))
arrays("pt_class_gone", "data-labels", "pt", "data-empty", "", 13)(without(0))


@arrays("npz_labels_from_one", "data-labels", "npz", "data-empty", "", 14)
def _(w: World) -> None:
    """validation labels are numbered from 1"""
    w["vy"] = w["vy"] + 1
    w["vy"][w["vy"] == 5] = 4


@arrays("npy_val_column_rescaled", "data-scale", "npy", "data-augment", "", 15)
def _(w: World) -> None:
    """one band of the validation file is in another unit"""
    w["vx"][:, 6] *= 0.001


@arrays("npz_columns_exchanged", "data-scale", "npz", "data-order data-augment", "", 16)
def _(w: World) -> None:
    """two bands of the validation file have changed places"""
    w["vx"] = w["vx"][:, [0, 1, 6, 3, 4, 5, 2, 7, 8, 9]]


@arrays("h5_sentinel", "data-scale", "h5", "data-empty numerics-masked", "", 17)
def _(w: World) -> None:
    """saturated pixels are written as 32767"""
    for part in ("tx", "vx"):
        for column in (0, 2, 4, 8):
            w[part][some(len(w[part]), 0.04, column), column] = 32767


@arrays("npz_dead_band", "data-scale", "npz", "data-empty", "", 18)
def _(w: World) -> None:
    """three detectors stand still"""
    for column in (1, 5):
        w["tx"][:, column] = w["vx"][:, column] = 12.5


@arrays("npy_labels_rolled", "data-labels", "npy", "data-order", "", 19)
def _(w: World) -> None:
    """labels are one row off"""
    w["ty"] = np.roll(w["ty"], 1)


@arrays("pt_labels_shuffled", "data-labels", "pt", "data-order", "", 20)
def _(w: World) -> None:
    """x was shuffled without y"""
    w["tx"] = np.random.default_rng(2).permutation(w["tx"])


def noisy_minerals(seed: int) -> Callable[[], World]:
    def make() -> World:
        w = base.minerals(seed, 1200)
        rng = np.random.default_rng(seed)
        for y in (w["ty"], w["vy"]):
            pick = rng.random(len(y)) < 0.5
            y[pick] = rng.integers(0, 5, pick.sum())
        return w

    return make


def val_is_train(w: World) -> None:
    """the split job drew the validation rows from the training rows"""
    chosen = np.random.default_rng(5).permutation(len(w["tx"]))[: len(w["vx"])]
    w["vx"], w["vy"] = w["tx"][chosen], w["ty"][chosen]


for _name, _suffix, _seed in (
    ("npz_val_is_train", "npz", 41),
    ("npy_val_is_train", "npy", 42),
    ("h5_val_is_train", "h5", 43),
    ("pt_val_is_train", "pt", 44),
):
    case(
        _name,
        "data-order",
        "scripts/arrays.py",
        noisy_minerals(_seed),
        partial(base.write_arrays, suffix=_suffix),
        "data-labels eval-stale",
        "--epochs 40",
    )(val_is_train)


@arrays("npz_train_of_a_smoke_test", "data-empty", "npz", "config", "", 45)
def _(w: World) -> None:
    """the training file is that of a smoke test"""
    w["tx"], w["ty"] = w["tx"][:48], w["ty"][:48]


def standard(seed: int) -> Callable[[], World]:
    def make() -> World:
        w = base.minerals(seed)
        mean, std = w["tx"].mean(0), w["tx"].std(0)
        w["tx"], w["vx"] = (w["tx"] - mean) / std, (w["vx"] - mean) / std
        return w

    return make


def prepared(name: str, family: str, near: str = "", seed: int = 50):
    return case(
        name,
        family,
        "scripts/arrays.py",
        standard(seed),
        lambda w, o: base.write_arrays(w, o, "npz"),
        near,
        "--raw",
    )


@prepared("npz_prepared_twice", "data-scale", "vanishing init-saturation config", 51)
def _(w: World) -> None:
    """standardised a second time, with the statistics of the raw units"""
    w["tx"], w["vx"] = (w["tx"] - 310.0) / 420.0, (w["vx"] - 310.0) / 420.0


@prepared("npz_val_not_prepared", "data-scale", "data-augment", 52)
def _(w: World) -> None:
    """the validation file was not standardised"""
    w["vx"] = w["vx"] * 14.0 + 60.0


# --- pictures --------------------------------------------------------------------------------


@pictures("png_val_bgr", "data-scale", "folder", "data-augment data-order")
def _(w: World) -> None:
    """the validation tiles were written by a library that begins with blue"""
    w["val"] = (w["val"][0][..., ::-1].copy(), w["val"][1])


@pictures("tar_val_bgr", "data-scale", "tar", "data-augment data-order", 14)
def _(w: World) -> None:
    """the same in a shard"""
    w["val"] = (w["val"][0][..., ::-1].copy(), w["val"][1])


@pictures("zip_val_dark", "data-scale", "zip", "data-augment", 15)
def _(w: World) -> None:
    """12-bit values cut to 8: the validation tiles are nearly black"""
    w["val"] = (w["val"][0] // 12, w["val"][1])


@pictures("png_train_blank", "data-scale", "folder", "data-empty data-labels", 16)
def _(w: World) -> None:
    """a decoder that failed wrote one grey for every pixel"""
    x, y = w["train"]
    w["train"] = (np.full_like(x, 128), y)


@pictures("png_class_gone", "data-labels", "folder", "data-empty", 17)
def _(w: World) -> None:
    """one class folder of the training split was not copied"""
    x, y = w["train"]
    w["train"] = (x[y != 3], y[y != 3])


@pictures("zip_class_gone", "data-labels", "zip", "data-empty", 18)
def _(w: World) -> None:
    """the archive was cut before its last folder"""
    x, y = w["train"]
    w["train"] = (x[y != 3], y[y != 3])


@pictures("png_labels_mixed", "data-labels", "folder", "data-order", 19)
def _(w: World) -> None:
    """files were put into folders by position, in another order"""
    rng = np.random.default_rng(3)
    w["train"] = (w["train"][0], rng.permutation(w["train"][1]))


def noisy_tiles(seed: int) -> Callable[[], World]:
    def make() -> World:
        w = base.tiles(seed, 240, 120)
        rng = np.random.default_rng(seed)
        for split in ("train", "val"):
            x, y = w[split]
            pick = rng.random(len(y)) < 0.55
            y = y.copy()
            shown = np.clip(x.astype(int) + rng.integers(-3, 4, x.shape), 0, 255).astype("uint8")
            y[pick] = rng.integers(0, 4, pick.sum())
            w[split] = (shown, y)
        return w

    return make


def tiles_again(w: World) -> None:
    """every validation tile is a training tile"""
    x, y = w["train"]
    chosen = np.random.default_rng(6).permutation(len(x))[: len(w["val"][1])]
    w["val"] = (x[chosen], y[chosen])


for _name, _how, _seed in (
    ("png_val_is_train", "folder", 61),
    ("zip_val_is_train", "zip", 62),
    ("tar_val_is_train", "tar", 63),
):
    case(
        _name,
        "data-order",
        "scripts/pictures.py",
        noisy_tiles(_seed),
        partial(base.write_tiles, how=_how),
        "data-labels eval-stale",
        "--epochs 60",
    )(tiles_again)


def with_stats(seed: int) -> Callable[[], World]:
    def make() -> World:
        w = base.tiles(seed)
        pixels = w["train"][0].reshape(-1, 3) / 255
        w["stats"] = {
            "mean": [round(float(v), 4) for v in pixels.mean(0)],
            "std": [round(float(v), 4) for v in pixels.std(0)],
        }
        return w

    return make


for _name, _how, _seed in (("png_stats_of_raw_frames", "folder", 64), ("zip_stats_of_raw_frames", "zip", 65)):

    @case(
        _name,
        "data-scale",
        "scripts/pictures.py",
        with_stats(_seed),
        partial(base.write_tiles, how=_how),
        "config vanishing init-saturation",
    )
    def _(w: World) -> None:
        """mean and standard deviation of the raw 16-bit frames"""
        w["stats"] = {"mean": [9120.0, 8800.0, 7600.0], "std": [5100.0, 4900.0, 4400.0]}


# --- series in shards ------------------------------------------------------------------------


@series("shards_one_in_volts", "data-scale")
def _(w: World) -> None:
    """one shard of four has the second sensor in millivolts"""

    def change(part: np.ndarray) -> np.ndarray:
        part[:, :-1, 1] *= 1000
        return part

    w["change"] = {2: change}


@series("shards_one_of_zeros", "data-scale", "data-empty data-labels", 18)
def _(w: World) -> None:
    """one shard was allocated and never written"""
    w["change"] = {1: lambda part: part * 0}


@series("series_gaps_as_minus_999", "data-scale", "data-empty numerics-masked", 19)
def _(w: World) -> None:
    """gaps in the recording are written as -999"""
    hole = np.random.default_rng(1).random(w["x"].shape) < 0.01
    w["x"] = np.where(hole, -999, w["x"]).astype("float32")


@series("series_nan", "numerics-nan", "data-empty data-scale", 20)
def _(w: World) -> None:
    """one reading is NaN"""
    w["x"][77, 5, 1] = np.nan


@series("series_sensors_exchanged", "data-scale", "data-order data-augment", 21)
def _(w: World) -> None:
    """two sensors of the validation recording are plugged the other way round"""
    w["vx"] = w["x"][900:][:, :, [1, 0, 2]]


# --- words -----------------------------------------------------------------------------------


@words("vocab_of_other_text", "data-labels", "config data-empty data-scale")
def _(w: World) -> None:
    """the vocabulary belongs to another collection: nearly every word is unknown"""
    w["vocab"] = {"<pad>": 0, "<unk>": 1, **{f"xe{word}": at + 2 for at, word in enumerate(base.WORDS)}}


def noisy_messages() -> World:
    w = base.messages(31, 400, 200)
    rng = np.random.default_rng(31)
    for split in ("train", "val"):
        for row in w[split]:
            if rng.random() < 0.5:
                row["topic"] = int(rng.integers(4))
    return w


@case(
    "messages_val_is_train",
    "data-order",
    "scripts/messages.py",
    noisy_messages,
    base.write_messages,
    "data-labels eval-stale",
    "--epochs 60",
)
def _(w: World) -> None:
    """the validation messages are training messages"""
    w["val"] = w["train"][100:300]


# --- a checkpoint ----------------------------------------------------------------------------


@resumed("resume_finished", "checkpoint", "config persistence scheduler")
def _(w: World) -> None:
    """the file says that all epochs are done"""
    w["epoch"] = 7


@resumed("resume_rate_spent", "checkpoint", "lr scheduler persistence config", 24)
def _(w: World) -> None:
    """the rate in the file is what the last schedule has left"""
    w["spoil"] = lambda state: state["optimizer"]["param_groups"][0].update(lr=2e-9)


@resumed("resume_other_names", "checkpoint", "persistence config", 25)
def _(w: World) -> None:
    """the weights carry the names of a wrapper, and strict=False drops them"""
    w["trained"] = 30
    w["spoil"] = lambda state: state.update(model={f"module.{k}": v for k, v in state["model"].items()})


@resumed("resume_record_of_other_data", "checkpoint", "persistence config", 26)
def _(w: World) -> None:
    """the best score in the file is that of an easier dataset: nothing is kept"""
    w["spoil"] = lambda state: state.update(best_acc=0.9991)


# --- steering --------------------------------------------------------------------------------


@steered("env_rows", "config", "environment data-empty")
def _(w: World) -> None:
    """GAIT_ROWS=40 is left in the environment"""
    w["env"] = {"GAIT_ROWS": "40"}


@steered("env_share", "config", "environment data-empty", 30)
def _(w: World) -> None:
    """GAIT_SHARE=0.04 is left in the environment"""
    w["env"] = {"GAIT_SHARE": "0.04"}


@steered("env_debug", "config", "environment data-empty", 31)
def _(w: World) -> None:
    """GAIT_DEBUG=1 is left in the environment"""
    w["env"] = {"GAIT_DEBUG": "1"}


@steered("limits_in_a_file", "config", "data-empty", 32)
def _(w: World) -> None:
    """limits.json of a smoke test lies beside the data"""
    w["rows"] = 40


@steered("weights_of_other_classes", "data-labels", "config loss-definition", 33)
def _(w: World) -> None:
    """the class weights are in the order of another list of classes"""
    w["weights"] = [2.6, 1.3, 0.7, 0.02]
