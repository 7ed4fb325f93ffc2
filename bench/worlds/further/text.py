"""Words: encodings, vocabularies, vectors."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from bench.worlds.base import World
from bench.worlds.cases import case

_CUISINES = {
    "french": "crème pâté brûlée soufflé ragoût gâteau",
    "spanish": "jamón piñón cañas puré ñoras salmón",
    "german": "klöße brühe spätzle grünkohl käse würste",
    "turkish": "börek köfte çorba döner künefe gözleme",
}
_PLAIN = (
    "the food was good and we ate a lot with friends near here again soon very fresh warm plate table".split()
)


def kitchens() -> World:
    rng = np.random.default_rng(101)

    def row() -> dict[str, str]:
        name = str(rng.choice(list(_CUISINES)))
        own = rng.choice(_CUISINES[name].split(), 2)
        words = [*rng.choice(_PLAIN, int(rng.integers(5, 9))), *own]
        return {"text": " ".join(rng.permutation(words)), "cuisine": name}

    return World(train=[row() for _ in range(700)], val=[row() for _ in range(250)], encoding="utf-8")


def write_kitchens(w: World, out: Path) -> None:
    for split in ("train", "val"):
        encoding = w["encoding"] if split == "val" else "utf-8"
        with (out / f"{split}.csv").open("w", newline="", encoding=encoding) as file:
            writer = csv.DictWriter(file, ["text", "cuisine"])
            writer.writeheader()
            writer.writerows(w[split])


@case(
    "reviews_latin1",
    "data-scale",
    "further/scripts/reviews.py",
    kitchens,
    write_kitchens,
    "data-empty data-labels config",
)
def _(w: World) -> None:
    """the validation file is latin-1: every word with an accent becomes another one"""
    w["encoding"] = "latin-1"


_SECTIONS = [
    "goal match team coach league striker".split(),
    "market shares bank profit merger bonds".split(),
    "storm rain flood winds frost drought".split(),
    "film actor stage opera novel museum".split(),
]
_COMMON = "new old city council report final night week says after over first plans".split()


def paper(capitals: bool = False) -> World:
    rng = np.random.default_rng(102)

    def row() -> dict[str, Any]:
        section = int(rng.integers(4))
        words = [*rng.choice(_SECTIONS[section], 3), *rng.choice(_COMMON, int(rng.integers(3, 6)))]
        text = " ".join(rng.permutation(words))
        return {"headline": text.title() if capitals else text, "section": section}

    words = sorted({*_COMMON, *(word for section in _SECTIONS for word in section)})
    return World(train=[row() for _ in range(500)], val=[row() for _ in range(200)], words=words, end="\n")


def write_paper(w: World, out: Path) -> None:
    for split in ("train", "val"):
        (out / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in w[split]))
    if "lowercase" in w:
        vocab = {"<pad>": 0, "<unk>": 1, **{word: at + 2 for at, word in enumerate(w["words"])}}
        (out / "tokenizer.json").write_text(json.dumps({"vocab": vocab, "lowercase": w["lowercase"]}))
    else:
        (out / "words.txt").write_bytes(w["end"].join(w["words"]).encode() + w["end"].encode())


_LOST = "data-scale data-empty config"


@case("words_crlf", "data-labels", "further/scripts/headlines.py", paper, write_paper, _LOST)
def _(w: World) -> None:
    """the list of words went through Windows: each word has a carriage return, and none is found"""
    w["end"] = "\r\n"


def capitals() -> World:
    return World(paper(True) | {"lowercase": True})


@case("tokenizer_cased", "data-labels", "further/scripts/headlines.py", capitals, write_paper, _LOST)
def _(w: World) -> None:
    """the tokenizer of another version: it keeps capitals, its words are lower case"""
    w["lowercase"] = False


def questions() -> World:
    rng = np.random.default_rng(103)
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in ("lt", "rn", "sk", "mp", "nd", "x")]
    order = rng.permutation(len(words))
    centre = rng.normal(0, 1, (5, 16))
    topic = np.arange(len(words)) % 5
    vectors = (centre[topic] + rng.normal(0, 0.6, (len(words), 16))).astype("float32")

    def rows(number: int, own: np.ndarray) -> list[dict[str, Any]]:
        made = []
        for _ in range(number):
            label = int(rng.integers(5))
            pool = [at for at in own if topic[at] == label]
            chosen = [*rng.choice(pool, 4), *rng.choice(own, 3)]
            made.append({"question": " ".join(words[at] for at in chosen), "topic": label})
        return made

    # Training has seen half of the words: what is known of the others comes from their vectors.
    return World(train=rows(400, order[:60]), val=rows(300, order[30:]), words=words, vectors=vectors)


def write_questions(w: World, out: Path) -> None:
    for split in ("train", "val"):
        with (out / f"{split}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["question", "topic"])
            writer.writeheader()
            writer.writerows(w[split])
    (out / "words.txt").write_text("\n".join(w["words"]) + "\n")
    np.save(out / "vectors.npy", w["vectors"])


@case(
    "vectors_resorted",
    "data-order",
    "further/scripts/vectors.py",
    questions,
    write_questions,
    "data-labels data-scale config",
)
def _(w: World) -> None:
    """the list of words was sorted, its vectors were not"""
    w["words"] = sorted(w["words"], key=lambda word: word[::-1])
