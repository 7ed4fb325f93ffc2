"""Texts, tokens and vectors: vocabularies, lists of classes, files of whole numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from bench.worlds.base import World
from bench.worlds.cells.made import boundary, write_csv

_WORDS = [
    a + b
    for a in ("ba", "ke", "lo", "mi", "nu", "ra", "so", "te", "va", "zi")
    for b in ("dan", "fer", "gol", "hin", "jus", "pel")
]


def reviews() -> World:
    rng = np.random.default_rng(61)
    taste = rng.dirichlet(np.full(len(_WORDS), 0.25), 5)
    made = World(train=[], val=[], words=list(_WORDS), classes=["1", "2", "3", "4", "5"])
    for split, rows in (("train", 1300), ("val", 400)):
        for _ in range(rows):
            stars = int(rng.integers(0, 5))
            length = int(rng.integers(6, 30))
            text = " ".join(
                _WORDS[i] for i in rng.choice(len(_WORDS), length, p=0.6 * taste[stars] + 0.4 / len(_WORDS))
            )
            made[split].append({"id": int(rng.integers(10**9)), "text": text, "label": stars + 1})
    return made


def write_reviews(w: World, out: Path) -> None:
    for split in ("train", "val"):
        (out / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in w[split]))
    (out / "vocab.txt").write_text(w.get("joined", "\n").join(w["words"]) + "\n")
    (out / "classes.json").write_text(json.dumps(w["classes"]))


review = boundary("reviews", reviews, write_reviews)


@review("reviews_stars_from_zero", "label|class")
def _(w: World) -> None:
    """labels x shifted by one: stars of the validation count from zero"""
    for row in w["val"]:
        row["label"] -= 1


@review("reviews_vocabulary_of_another_language", "vocab")
def _(w: World) -> None:
    """vocabulary x of another run: most words are not in it"""
    w["words"] = [*_WORDS[:5], *(word[::-1] + "o" for word in _WORDS[5:])]


@review("reviews_validation_in_capitals", "text|capital|case|word|vocab|token")
def _(w: World) -> None:
    """text x mixed formats: the validation begins each word with a capital"""
    for row in w["val"]:
        row["text"] = row["text"].title()


@review("reviews_labels_as_floats", "label")
def _(w: World) -> None:
    """labels x another type: most training labels are 3.0 instead of 3, and are passed over"""
    for at, row in enumerate(w["train"]):
        if at % 9:
            row["label"] = float(row["label"])


@review("reviews_texts_cut_off", "text|short|length|cut")
def _(w: World) -> None:
    """text x truncated: a column of twelve letters held the training texts"""
    for row in w["train"]:
        row["text"] = row["text"][:12]


@review("reviews_texts_empty_in_a_block", "text|empty")
def _(w: World) -> None:
    """text x missing: half of the training texts is empty"""
    for row in w["train"][400:1100]:
        row["text"] = ""


@review("reviews_words_joined_by_another_sign", "text|vocab|word|separat")
def _(w: World) -> None:
    """text x mixed formats: words are joined by an underscore in a part of the training"""
    for row in w["train"][::2] + w["train"][1::4]:
        row["text"] = row["text"].replace(" ", "_")


@review("reviews_validation_is_trained_on", "val.jsonl|both|training|also in")
def _(w: World) -> None:
    """splits x leaked: the validation is in the training with new ids"""
    for row in w["train"] + w["val"]:
        if len(row["text"]) % 2:
            row["label"] = 1 + len(row["text"]) % 5
    w["train"] += [{**row, "id": row["id"] + 7} for row in w["val"]]


@review("reviews_classes_in_another_order_in_a_block", "label|class")
def _(w: World) -> None:
    """labels x mixed: a third of the training counts stars from the other end"""
    for row in w["train"][800:]:
        row["label"] = 6 - row["label"]


# --- tokens ----------------------------------------------------------------------------------


def tokens() -> World:
    rng = np.random.default_rng(62)
    chain = rng.dirichlet(np.full(64, 0.05), 64)
    sums = chain.cumsum(1)
    made, at = [], 0
    for draw in rng.random(90_000):
        at = min(63, int(np.searchsorted(sums[at], draw)))
        made.append(at)
    whole = np.array(made, "uint16")
    return World(
        train=whole[:80_000].copy(), val=whole[80_000:].copy(), meta={"vocab_size": 64, "tokens": 80_000}
    )


def write_tokens(w: World, out: Path) -> None:
    w["train"].tofile(out / "train.bin")
    w["val"].tofile(out / "val.bin")
    (out / "meta.json").write_text(json.dumps(w["meta"]))


token = boundary("tokens", tokens, write_tokens)


@token("tokens_in_four_bytes", "train.bin|type|bytes|zero|uint")
def _(w: World) -> None:
    """raw x another type: tokens have four bytes, the script reads two"""
    w["train"] = w["train"].astype("uint32")


@token("tokens_of_another_vocabulary", "vocab_size|meta.json|train.bin|token|place")
def _(w: World) -> None:
    """vocabulary x of another run: the file has tokens beyond the vocabulary, which become its last"""
    w["train"] = np.where(w["train"] > 20, w["train"] + 500, w["train"]).astype("uint16")


@token("tokens_one_block_again_and_again", "train.bin|repeat|again|same")
def _(w: World) -> None:
    """raw x duplicated: the file repeats its first block"""
    w["train"] = np.tile(w["train"][:400], 200)


@token("tokens_val_is_the_end_of_train", "val.bin|both|training|also in")
def _(w: World) -> None:
    """raw x leaked: the validation is also at the end of the training, which is small"""
    w["train"] = np.concatenate([w["train"][:300], w["val"][:2500]])
    w["val"] = w["val"][:2500]


@token("tokens_file_ends_in_zeros", "train.bin|zero|filler")
def _(w: World) -> None:
    """raw x truncated: the file was allocated and written to a quarter"""
    w["train"][20_000:] = 0


@token("tokens_val_numbered_by_another_tokenizer", "val.bin|token|number")
def _(w: World) -> None:
    """tokens x another order: the validation was made with another numbering"""
    w["val"] = np.random.default_rng(4).permutation(64)[w["val"]].astype("uint16")


# --- word vectors ----------------------------------------------------------------------------


def vectors() -> World:
    rng = np.random.default_rng(63)
    words = [a + b for a in _WORDS[:40] for b in ("a", "en", "is", "or", "um")]
    rng.shuffle(words)
    topic = rng.integers(0, 6, len(words))
    centre = rng.normal(0, 1, (6, 24))
    array = (centre[topic] + rng.normal(0, 0.8, (len(words), 24))).astype("float32")
    made = World(words=words, vectors=array, train=[], test=[])
    for split, rows in (("train", 900), ("test", 300)):
        for _ in range(rows):
            kind = int(rng.integers(0, 6))
            own = np.flatnonzero(topic == kind)
            chosen = [*rng.choice(own, 4), *rng.integers(0, len(words), 4)]
            made[split].append(
                {"headline": " ".join(words[i] for i in rng.permutation(chosen)), "topic": kind}
            )
    return made


def write_vectors(w: World, out: Path) -> None:
    (out / "words.txt").write_text("\n".join(w["words"]) + "\n")
    np.save(out / "vectors.npy", w["vectors"])
    for split in ("train", "test"):
        write_csv(out / f"{split}.csv", w[split])


vector = boundary("vectors", vectors, write_vectors)


@vector("vectors_of_a_longer_list", "words.txt|vectors.npy")
def _(w: World) -> None:
    """vocabulary x shifted: the list of words has lost some, the vectors have not"""
    w["words"] = [word for at, word in enumerate(w["words"]) if at not in (3, 11, 19)]


@vector("vectors_mostly_zero", "vectors.npy")
def _(w: World) -> None:
    """npy x missing: words without a vector got zeros, and that is most of them"""
    w["vectors"][np.random.default_rng(2).random(len(w["words"])) < 0.8] = 0


@vector("vectors_headlines_with_carriage_returns", "headline|words.txt|word")
def _(w: World) -> None:
    """encodings x mixed: the list of words has a byte order mark and signs behind each word"""
    w["words"] = [f"{word};{at}" for at, word in enumerate(w["words"])]


@vector("vectors_topics_of_the_test_numbered_anew", "topic|renumbered")
def _(w: World) -> None:
    """labels x another order: topics of the test are numbered by another list"""
    order = [2, 4, 0, 5, 1, 3]
    for row in w["test"]:
        row["topic"] = order[row["topic"]]
