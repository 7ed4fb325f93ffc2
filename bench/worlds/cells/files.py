"""Arrays, pictures and graphs: shards, labels, lists and boxes beside them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from bench.worlds.base import World
from bench.worlds.cells.made import boundary, write_csv

# --- shards of arrays ------------------------------------------------------------------------


def shards() -> World:
    rng = np.random.default_rng(51)
    centre = rng.normal(0, 1.1, (4, 9))
    scale, start = rng.uniform(0.5, 30, 9), rng.normal(0, 60, 9)
    made = World(x=[], y=[])
    for _ in range(8):
        y = rng.integers(0, 4, 400)
        made["x"].append(((centre[y] + rng.normal(0, 1, (400, 9))) * scale + start).astype("float32"))
        made["y"].append(y)
    whole = np.concatenate(made["x"])
    made["stats"] = {"mean": whole.mean(0).tolist(), "std": whole.std(0).tolist(), "rows": len(whole)}
    return made


def write_shards(w: World, out: Path) -> None:
    for at, (x, y) in enumerate(zip(w["x"], w["y"], strict=True)):
        np.save(out / f"signal_{at}.npy", x)
        np.save(out / f"fault_{at}.npy", y)
    (out / "stats.json").write_text(json.dumps(w["stats"]))


shard = boundary("shards", shards, write_shards)


@shard("shard_of_another_unit", "signal_3")
def _(w: World) -> None:
    """npy x another unit: two shards are in thousandths"""
    w["x"][3] *= 1000


@shard("shard_labels_from_one", "fault_[25]")
def _(w: World) -> None:
    """labels x shifted by one: two shards number the classes in another order"""
    for at in (2, 5):
        w["y"][at] = (w["y"][at] + 1) % 4


@shard("shard_labels_rolled", "fault_|label|one row")
def _(w: World) -> None:
    """labels x shifted by one: in three shards, each label is that of the row before"""
    for at in (1, 2, 4, 5):
        w["y"][at] = np.roll(w["y"][at], 1)


@shard("shard_validation_is_a_training_shard", "signal_7|signal_0|both|also in")
def _(w: World) -> None:
    """npy x overlapping: the shard for validation is a copy of the first, in another order"""
    order = np.random.default_rng(1).permutation(400)
    w["x"][7], w["y"][7] = w["x"][0][order], w["y"][0][order]
    for at in range(8):
        w["y"][at] = np.where(
            (w["x"][at][:, 0] * 1000).astype(int) % 3 == 0, (w["y"][at] + 2) % 4, w["y"][at]
        )


@shard("shard_statistics_of_another_machine", "stats.json|mean|statistics")
def _(w: World) -> None:
    """statistics x of another run: mean and deviation of another machine"""
    w["stats"]["mean"] = [m * 3 + 200 for m in w["stats"]["mean"]]
    w["stats"]["std"] = [s * 40 for s in w["stats"]["std"]]


@shard("shard_columns_in_another_order", "signal_")
def _(w: World) -> None:
    """npy x another order: the columns of the validation shard are sorted otherwise"""
    w["x"][7] = w["x"][7][:, [3, 0, 1, 2, 4, 5, 6, 8, 7]]


@shard("shard_saturated", "signal_|saturat|ceiling|cut")
def _(w: World) -> None:
    """npy x saturated: the sensor of five channels ends where its range ends"""
    for x in w["x"]:
        for column in range(0, 9, 2):
            low, high = np.quantile(w["x"][0][:, column], [0.35, 0.55])
            x[:, column] = x[:, column].clip(low, high)


@shard("shard_rows_missing_in_labels", "fault_4|signal_4|rows")
def _(w: World) -> None:
    """npy x truncated: one shard has a row less than its labels, another one more, so that all others are moved"""
    w["x"][1] = w["x"][1][1:]
    w["x"][6] = np.concatenate([w["x"][6][:1], w["x"][6]])


@shard("shard_never_filled", "signal_[45]")
def _(w: World) -> None:
    """npy x missing: two shards were allocated and only begun"""
    for at in (4, 5):
        w["x"][at][30:] = 0


# --- pictures with a table and a list of splits ----------------------------------------------


def leaves() -> World:
    rng = np.random.default_rng(52)
    kinds = ["ash", "beech", "elm", "oak"]
    pictures, labels = {}, {}
    colour = np.array([[70, 120, 60], [120, 110, 40], [60, 90, 110], [130, 70, 70]])
    for _at in range(520):
        kind = int(rng.integers(0, 4))
        picture = rng.normal(0, 22, (28, 28, 3)) + colour[kind] + rng.normal(0, 18, 3)
        rows = np.arange(28)
        width = (4, 9, 6, 12)[kind]
        picture[np.abs(rows[:, None] - 14) + np.abs(rows[None] - 14) < width] += 60
        key = f"leaf_{rng.integers(10**6):06d}"
        pictures[key] = picture.clip(0, 255).astype("uint8")
        labels[key] = kinds[kind]
    ids = list(pictures)
    return World(
        pictures=pictures, labels=labels, classes=kinds, splits={"train": ids[:400], "val": ids[400:]}
    )


def write_leaves(w: World, out: Path) -> None:
    from PIL import Image

    (out / "images").mkdir()
    for key, picture in w["pictures"].items():
        Image.fromarray(picture).save(out / "images" / f"{key}.png")
    write_csv(out / "labels.csv", ({"image_id": k, "species": v} for k, v in w["labels"].items()))
    (out / "classes.json").write_text(json.dumps(w["classes"]))
    (out / "splits.json").write_text(json.dumps(w["splits"]))


leaf = boundary("leaves", leaves, write_leaves)


@leaf("leaf_splits_overlap", "splits.json|both|in the training|also in")
def _(w: World) -> None:
    """splits x overlapping: two thirds of the validation are trained on"""
    w["splits"]["train"] += w["splits"]["val"][:80]
    keys = list(w["labels"])
    rng = np.random.default_rng(3)
    for key in keys:
        if rng.random() < 0.35:
            w["labels"][key] = w["classes"][int(rng.integers(0, 4))]


@leaf("leaf_splits_of_another_export", "splits.json|leaf_")
def _(w: World) -> None:
    """splits x disjoint keys: most names in the list are those of another export"""
    w["splits"]["train"] = [
        k if at % 12 == 0 else k.replace("leaf_", "leaf-") for at, k in enumerate(w["splits"]["train"])
    ]


@leaf("leaf_labels_one_row_off", "species|label")
def _(w: World) -> None:
    """labels x shifted by one: the species stands one row below its picture"""
    made = list(w["labels"].values())
    w["labels"] = dict(zip(w["labels"], made[-1:] + made[:-1], strict=True))


@leaf("leaf_pictures_mostly_missing", "images|image_id|png|not there|missing")
def _(w: World) -> None:
    """images x missing: the folder was copied in part"""
    for key in list(w["pictures"])[40:400]:
        del w["pictures"][key]


@leaf("leaf_copies_under_other_names", "copies|both|same|twice|also in")
def _(w: World) -> None:
    """images x overlapping: pictures of the validation are copies of training pictures under other names"""
    rng = np.random.default_rng(5)
    for a, b in zip(w["splits"]["val"], w["splits"]["train"], strict=False):
        w["pictures"][a], w["labels"][a] = w["pictures"][b], w["labels"][b]
    for a, b in zip(w["splits"]["val"], w["splits"]["train"], strict=False):
        if rng.random() < 0.4:
            w["labels"][a] = w["labels"][b] = w["classes"][int(rng.integers(0, 4))]


@leaf("leaf_channels_of_the_validation_exchanged", "channel|colou?r|RGB|BGR")
def _(w: World) -> None:
    """images x another order: pictures of the validation were written by a library that takes blue first"""
    for key in w["splits"]["val"]:
        w["pictures"][key] = w["pictures"][key][:, :, ::-1].copy()


@leaf("leaf_black_pictures", "black|blank|one value|same|flat|empty|constant")
def _(w: World) -> None:
    """images x missing: a third of the pictures is black"""
    for key in list(w["pictures"])[::3]:
        w["pictures"][key] = np.zeros((28, 28, 3), "uint8")


@leaf("leaf_one_class_was_named_anew", "species|class")
def _(w: World) -> None:
    """class names x mixed: half of the elms are called oak in the older part"""
    for key in list(w["labels"])[:400]:
        if w["labels"][key] == "elm":
            w["labels"][key] = "oak"


# --- a graph ---------------------------------------------------------------------------------


def citations() -> World:
    rng = np.random.default_rng(53)
    subject = rng.integers(0, 5, 700)
    centre = rng.normal(0, 0.55, (5, 20))
    features = (centre[subject] + rng.normal(0, 1, (700, 20))).astype("float32")
    ids = rng.permutation(900)[:700]
    edges = []
    for a in range(700):
        same = np.flatnonzero(subject == subject[a])
        edges += [(int(ids[a]), int(ids[b])) for b in rng.choice(same, 4)]
        edges.append((int(ids[a]), int(ids[rng.integers(0, 700)])))
    train = rng.random(700) < 0.3
    papers = [
        {"paper_id": int(i), "subject": int(s), "split": "train" if t else "test"}
        for i, s, t in zip(ids, subject, train, strict=True)
    ]
    return World(papers=papers, features=features, edges=edges)


def write_citations(w: World, out: Path) -> None:
    write_csv(out / "papers.csv", w["papers"])
    write_csv(out / "cites.csv", ({"source": a, "target": b} for a, b in w["edges"]))
    np.save(out / "features.npy", w["features"])


paper = boundary("citations", citations, write_citations)


@paper("papers_edges_one_off", "cites.csv|source|target")
def _(w: World) -> None:
    """join keys x shifted by one: edges count from one, nodes from zero"""
    w["edges"] = [(a + 1, b + 1) for a, b in w["edges"]]


@paper("papers_features_in_another_order", "features.npy")
def _(w: World) -> None:
    """npy x another order: features are sorted by the id, the table is not"""
    w["features"] = w["features"][np.argsort([row["paper_id"] for row in w["papers"]])]


@paper("papers_edges_of_another_crawl", "cites.csv|source|target|paper_id")
def _(w: World) -> None:
    """join keys x disjoint: most edges name papers that are not there"""
    w["edges"] = [(a, b) if at % 8 == 0 else (a + 5000, b + 5000) for at, (a, b) in enumerate(w["edges"])]


@paper("papers_features_saturated", "features.npy")
def _(w: World) -> None:
    """npy x another type: features were stored as whole numbers without a sign"""
    w["features"] = w["features"].clip(0, None).astype("uint8")


# --- boxes -----------------------------------------------------------------------------------


def crops() -> World:
    rng = np.random.default_rng(54)
    made = World(pictures={}, train=[], val=[])
    colour = np.array([[200, 60, 60], [60, 200, 60], [60, 60, 200], [190, 190, 60]])
    for at in range(160):
        picture = rng.normal(110, 25, (72, 96, 3))
        split = "train" if at < 110 else "val"
        for _ in range(3):
            kind = int(rng.integers(0, 4))
            width, height = int(rng.integers(10, 22)), int(rng.integers(10, 22))
            left, top = int(rng.integers(0, 96 - width)), int(rng.integers(0, 72 - height))
            picture[top : top + height, left : left + width] = (
                0.5 * picture[top : top + height, left : left + width] + 0.5 * colour[kind]
            )
            made[split].append((at, kind, [left, top, width, height]))
        made["pictures"][at] = picture.clip(0, 255).astype("uint8")
    made["sizes"] = (96, 72)
    return made


def write_crops(w: World, out: Path) -> None:
    from PIL import Image

    (out / "images").mkdir()
    for at, picture in w["pictures"].items():
        Image.fromarray(picture).save(out / "images" / f"shot{at:04d}.png")
    for split in ("train", "val"):
        seen = sorted({at for at, _, _ in w[split]})
        (out / f"{split}.json").write_text(
            json.dumps(
                {
                    "images": [
                        {
                            "id": at,
                            "file_name": f"shot{at:04d}.png",
                            "width": w["sizes"][0],
                            "height": w["sizes"][1],
                        }
                        for at in seen
                    ],
                    "categories": [
                        {"id": k + 1, "name": n}
                        for k, n in enumerate(w.get("names", ["cup", "pen", "key", "box"]))
                    ],
                    "annotations": [
                        {"id": n, "image_id": at, "category_id": kind + 1, "bbox": box}
                        for n, (at, kind, box) in enumerate(w[split])
                    ],
                }
            )
        )


box = boundary("crops", crops, write_crops)


@box("boxes_by_their_corners", "box")
def _(w: World) -> None:
    """boxes x another unit: the training boxes end where their corner is"""
    w["train"] = [(a, k, [x, y, x + v, y + h]) for a, k, (x, y, v, h) in w["train"]]


@box("boxes_of_larger_pictures", "box|width|size|96|192")
def _(w: World) -> None:
    """boxes x of another run: pictures were made half as large, boxes were not"""
    for split in ("train", "val"):
        w[split] = [(a, k, [2 * v for v in b]) for a, k, b in w[split]]
    w["sizes"] = (192, 144)


@box("boxes_of_other_pictures", "image_id|box|picture")
def _(w: World) -> None:
    """boxes x shifted by one: boxes of the training name the picture after theirs"""
    w["train"] = [((a + 1) % 110, k, b) for a, k, b in w["train"]]


@box("boxes_with_x_and_y_exchanged", "box")
def _(w: World) -> None:
    """boxes x another order: rows before columns"""
    for split in ("train",):
        w[split] = [(a, k, [y, x, h, v]) for a, k, (x, y, v, h) in w[split]]
