"""Healthy data that looks as if it broke one of the truths of test_truths.py: not a single warning."""

import ast
import hashlib
import json

import numpy as np
import pytest

from premortem.files.syntax import numbers_asked
from premortem.preflight.data.code import habits, mentions
from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.relations import limits
from tests.preflight.data.test_truths import WORDS, found, looms, series, sounds, table

# --- what a script does with a file ------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "reads"),
    [
        ("np.load('pred.npy')", True),
        ("np.save('pred.npy', made)", False),
        ("OUT = 'pred.npy'\nnp.save(OUT, made)", False),
        ("OUT = 'pred.npy'\nnp.save(OUT, made)\nnp.load(OUT)", True),
        ("for path in root.glob('*.npy'): pass", True),
        ("for path in root.glob('*.wav'): pass", False),
    ],
)
def test_a_file_that_is_only_written_is_not_read(script, reads):
    tree = ast.parse(script)
    words = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    assert DataFacts(words=frozenset(words), writes=habits.only_written([tree])).reads("a/pred.npy") is reads


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("y = [int(row['late']) for row in rows]", {"late"}),
        ("x, y = frame.drop(columns='late'), frame.pop('late')", {"late"}),
        ("TARGET = 'late'", {"late"}),
        ("parser.add_argument('--label', default='late')", {"late"}),
        ("labels.append(row['late'])", {"late"}),
        ("y = table[:, -1]", {"-1"}),
        ("price = row['price']", set()),
    ],
)
def test_what_the_script_predicts(script, names):
    assert set(habits.targets(ast.parse(script))) == names


@pytest.mark.parametrize(
    ("script", "places"),
    [
        ("csv.reader(open(p))", True),
        ("np.loadtxt(p, delimiter=',')", True),
        ("x = pd.read_csv(p).values", True),
        ("frame = pd.read_csv(p)\nx = frame.drop(columns=['a']).to_numpy()", True),
        ("frame = pd.read_csv(p)\nx = frame[config.features].to_numpy()", False),
        ("frame = pd.read_csv(p)\nx = frame.loc[:, features].values", False),
        ("csv.DictReader(open(p))", False),
        ("for row in csv.reader(open(p)):\n    row = dict(zip(header, row))", False),
        ("x = values", False),
    ],
)
def test_whether_columns_are_read_by_place(script, places):
    assert habits.by_place([ast.parse(script)]) is places


@pytest.mark.parametrize(
    ("script", "lists"),
    [
        ("KINDS = ['dog', 'cat']\ny = KINDS.index(word)", [("dog", "cat")]),
        ("CODES = {'dog': 0, 'cat': 1}\ny = CODES[word]", [("dog", "cat")]),
        ("parser.add_argument('--plot', default=['dog', 'cat'])", []),
        ("COLOURS = ['dog', 'cat']\nplot(COLOURS)", []),
    ],
)
def test_lists_by_which_words_are_numbered(script, lists):
    assert list(habits.lists_of_words(ast.parse(script))) == lists


@pytest.mark.parametrize(
    ("script", "patterns"),
    [
        ("last = sorted(glob('v_*.pt'))[-1]", ["v_*.pt"]),
        ("files = sorted(glob('v_*.pt'))\nif files:\n    last = files[-1]", ["v_*.pt"]),
        ("files = sorted(glob('v_*.pt'))\ntest = files[-1]\ntrain = files[:-1]", []),
        ("files = sorted(glob('v_*.pt'))\nlast = files[-1]\nfor file in files: pass", []),
    ],
)
def test_of_a_list_that_is_used_whole_the_last_is_not_the_latest(script, patterns):
    assert list(habits.latest(ast.parse(script))) == patterns


@pytest.mark.parametrize(
    ("script", "asks"),
    [
        ("x = np.nan_to_num(np.load(p))", True),
        ("x = torch.from_numpy(np.load(p))\nx = torch.where(torch.isfinite(x), x, 0)", True),
        ("def __getitem__(self, at):\n    return torch.nan_to_num(self.rows[at])", True),
        ("frame = frame.interpolate(method='linear')", True),
        ("loss = f(model(x), y)\nif not torch.isfinite(loss): raise ValueError", False),
        ("if np.isnan(loss.item()): stop()", False),
        ("x = np.load(p)\nloss = f(model(x), y)\nif math.isnan(loss): stop()", False),
        ("y = F.interpolate(x, scale_factor=2)", False),
        ("y = nn.functional.interpolate(x, size=8)", False),
    ],
)
def test_to_ask_a_loss_is_to_know_nothing_of_the_data(script, asks):
    assert mentions.asks_what_was_read(ast.parse(script)) is asks


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hash", "checksum", "sha256"])
def test_a_number_of_64_digits_may_be_another_checksum(world, rng, name):
    def other(path):
        return hashlib.blake2b(path.read_bytes(), digest_size=32).hexdigest()

    for at in range(5):
        np.save(world / f"x{at}.npy", rng.normal(0, 1, (50, 3)))
    files = sorted(world.glob("*.npy"))
    table(world / "index.csv", {"file": [p.name for p in files], name: [other(p) for p in files]})
    (world / "index.json").write_text(json.dumps([{"file": p.name, name: other(p)} for p in files]))
    (world / "checksums.txt").write_text("".join(f"{other(p)}  {p.name}\n" for p in files))
    assert not found(world, "PM723")
    sums = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
    (world / "index.json").write_text(json.dumps({name: sums | {"x3.npy": other(files[3])}}))
    assert [f.evidence["files"] for f in found(world, "PM723")] == [1]


def test_a_checksum_is_of_the_file_beside_its_list(world, rng):
    (world / "old").mkdir()
    (world / "new").mkdir()
    np.save(world / "new" / "x.npy", rng.normal(0, 1, (50, 3)))
    np.save(world / "new" / "y.npy", rng.normal(0, 1, (50, 3)))
    right = hashlib.sha256((world / "new" / "y.npy").read_bytes()).hexdigest()
    (world / "old" / "sums.json").write_text(json.dumps({"sha256": {"x.npy": "0" * 64, "y.npy": right}}))
    assert not found(world, "PM723")


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("x = open('train.npz'), open('val.npz')\n", True),
        ("x = open('train.npz'), open('val.npz')\nmodel.generate(x)\n", False),
        ("x = open('train.npz'), open('val.npz')\nmodel(x, attention_mask=m)\n", False),
    ],
)
def test_a_language_model_goes_on_from_the_end(world, rng, script, named):
    for name in ("train", "val"):
        ids = rng.integers(1, 90, (200, 20))
        ids[np.arange(20)[None] >= rng.integers(6, 20, (200, 1))] = 0
        np.savez(world / f"{name}.npz", ids=ids[:, ::-1] if name == "val" else ids)
    assert bool(found(world, "PM740", script)) is named


@pytest.mark.parametrize(("name", "alike"), [("day_id", 0.0), ("site_id", 0.0), ("site_id", 0.9)])
def test_what_follows_yesterday_has_its_own_key(world, rng, name, alike):
    rain = rng.normal(0, 1, (200, 3))
    for at in range(1, 200):
        rain[at] += alike * rain[at - 1]
    flow = np.roll(rain @ [1, -1, 0.5], 1) + rng.normal(0, 0.1, 200)
    table(world / "rain.csv", {name: range(200)} | {c: rain[:, at].round(3) for at, c in enumerate("abc")})
    table(world / "flow.csv", {name: range(1, 200), "flow": flow[1:].round(3)})
    assert not found(world, "PM717")


@pytest.mark.parametrize("name", ["predictions", "said", "cleaned"])
def test_what_a_model_says_of_a_column_is_no_copy(world, rng, name):
    size = rng.gamma(3, 4, 500).round(2)
    said = np.where(rng.random(500) < 0.88, size, size + rng.normal(0, 2, 500))
    table(world / "test.csv", {"x": rng.normal(0, 1, 500).round(3), "size": size})
    np.save(world / f"{name}.npy", said)
    assert not found(world, "PM724", f"open('test.csv'), open('{name}.npy')\n")


@pytest.mark.parametrize(
    ("codes", "script"),
    [
        ([2, 3, 1, 0], f"STATES = {WORDS}\nSTATES.index(word)\n"),  # in the order of the alphabet
        ([0, 2, 1, 3], f"parser.add_argument('--plot', default={WORDS})\n"),
    ],
)
def test_a_list_that_numbers_nothing_is_not_asked(world, rng, codes, script):
    looms(world, rng, lambda x: x, codes)
    assert not found(world, "PM724", f"{script}open('train.csv'), open('cache.npz')\n")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("word_counts.json", lambda words: {w: 5000 // (at + 1) + 7 * at for at, w in enumerate(words)}),
        (
            "vocab_info.json",
            lambda words: {"train": {w: at for at, w in enumerate(words)}, "val": dict.fromkeys(words, 3)},
        ),
        ("stopwords.json", lambda words: [*words[:25], *(f"no{at}" for at in range(9))]),
    ],
)
def test_counts_of_words_are_no_numbers_of_words(world, rng, name, content):
    words = [
        f"{a}{b}{c}" for a in ("ba", "ce", "di") for b in ("lan", "mir", "sot") for c in ("o", "e", "u", "y")
    ]
    kept = rng.permutation(words).tolist()
    texts = [rng.choice(words, 6).tolist() for _ in range(200)]
    lines = [json.dumps({"text": " ".join(text), "y": 1}) + "\n" for text in texts]
    (world / "train.jsonl").write_text("".join(lines))
    np.save(world / "ids.npy", np.array([[1 + kept.index(word) for word in text] for text in texts]))
    made = content(words)
    if name == "vocab_info.json":
        made["train"] = {w: 1 + kept.index(w) for w in words}
    (world / name).write_text(json.dumps(made))
    assert not found(world, "PM716", f"open('train.jsonl'), open('ids.npy'), open('{name}')\n")


@pytest.mark.parametrize("script", ["", "from imblearn.over_sampling import SMOTE\n"])
def test_training_rows_that_were_mixed_have_digits(world, rng, script):
    age = rng.integers(20, 60, 500)
    table(
        world / "train.csv",
        {"age": (age[:300] + rng.random(300)).round(4), "x": rng.normal(0, 1, 300).round(3)},
    )
    table(world / "val.csv", {"age": age[300:], "x": rng.normal(0, 1, 200).round(3)})
    assert not found(world, "PM739", f"{script}open('train.csv'), open('val.csv')\n")


def test_the_last_column_is_the_label_where_the_script_says_so(world, rng):
    kind = rng.integers(0, 2, 800)
    table(
        world / "offers.csv",
        {
            "size": rng.normal(0, 1, 800).round(3),
            "age": rng.normal(0, 1, 800).round(3),
            "price": (np.where(kind == 1, 900, 20) + rng.normal(0, 9, 800)).round(2),
            "currency": [("EUR", "JPY")[k] for k in kind],
        },
    )
    assert not found(world, "PM721", "open('offers.csv'); y = row['size']\n")
    assert not found(world, "PM721", "open('offers.csv')\n")
    assert found(world, "PM721", "open('offers.csv'); y = row['currency']\n")


def sentences(rng, count):
    words = np.array("a small green house stands beside the long river and a dog runs there".split())
    return [" ".join(rng.choice(words, rng.integers(4, 30))) for _ in range(count)]


@pytest.mark.parametrize("with_key", [True, False])
def test_a_document_in_pieces_is_not_cut(world, rng, with_key):
    pieces = [
        (f"d{at}", whole[begin : begin + 256])
        for at in range(40)
        for whole in [" ".join(sentences(rng, 15))]
        for begin in range(0, len(whole), 256)
    ]
    columns = {"text": [text for _, text in pieces], "label": rng.integers(0, 2, len(pieces))}
    if with_key:
        columns["document"] = [key for key, _ in pieces]
    table(world / "corpus.csv", columns)
    assert not found(world, "PM730", "open('corpus.csv'); row['text']\n")


def test_texts_that_are_missing_in_all_splits_or_have_another_beside_them(world, rng):
    for name, count in (("train.csv", 300), ("val.csv", 150)):
        half = [*[""] * (count // 3), *sentences(rng, count - count // 3)]
        table(world / name, {"text": half, "label": rng.integers(0, 2, count)})
    assert not found(world, "PM730", "open('train.csv'), open('val.csv')\n")
    second = [text.replace(" ", "x ") + "x" for text in sentences(rng, 200)]
    tasks = {"first": sentences(rng, 300), "second": [*[""] * 100, *second]}
    table(world / "tasks.csv", tasks | {"label": rng.integers(0, 2, 300)})
    assert not found(world, "PM730", "open('tasks.csv')\n")


@pytest.mark.parametrize("reads", ["csv.DictReader", "pandas.read_csv"])
def test_columns_that_are_read_by_name_may_stand_anywhere(world, rng, reads):
    columns = {name: rng.normal(0, 1, 300).round(3) for name in ("age", "income", "size", "rate")}
    table(world / "train.csv", columns)
    table(world / "val.csv", {name: columns[name] for name in ("age", "rate", "size", "income")})
    script = (
        f"t = {reads}(open('train.csv')), {reads}(open('val.csv'))\nx = [[r[n] for n in names] for r in t]\n"
    )
    assert not found(world, "PM735", script)


def test_rows_in_the_order_of_file_names_may_be_mixed(world, rng):
    columns = series(rng)
    order = sorted(range(1200), key=str)
    made = {name: [column[at] for at in order] for name, column in columns.items()}
    table(world / "frames.csv", made | {"hour": [f"frame_{at}.png" for at in order]})
    script = "t = open('frames.csv')\nloader = DataLoader(t, shuffle=True)\n"
    assert not found(world, "PM719", script)
    assert found(world, "PM719", script.replace(", shuffle=True", ""))


def test_an_angle_goes_round_and_a_clipped_input_is_to_be_restored(world, rng):
    turned = np.cumsum(rng.normal(0.2, 0.1, (64, 600)), axis=1)
    phase = ((turned + np.pi) % (2 * np.pi) - np.pi) / np.pi
    angle = (32767 * phase).astype("int16")
    assert not limits.goes_round(angle[0])
    np.save(world / "train.npy", angle)
    assert not found(world, "PM718")
    sounds(world, lambda wide: (8 * wide).clip(-32768, 32767))
    assert found(world, "PM718", "glob('*.wav')\n")
    assert not found(world, "PM718", "glob('*.wav')\nmodel = Declipper()\n")
    assert not found(world, "PM718", "glob('*.npy')\n")


@pytest.mark.parametrize("row", ["{at},2,3", "{at}", "{at},2,3,4,,"])
def test_cells_that_are_left_out_at_the_end_are_empty(world, row):
    lines = [row.format(at=at) if at % 4 == 0 else f"{at},2,3,4" for at in range(200)]
    (world / "sheet.csv").write_text("\n".join(["a,b,c,d", *lines]))
    assert not found(world, "PM733", "open('sheet.csv')\n")


@pytest.mark.parametrize(
    "word",
    ["frame.text.str.normalize('NFC')", "import sentencepiece", "from tokenizers.normalizers import NFKC"],
)
def test_a_tokenizer_may_bring_accents_into_one_form(world, word):
    words = [f"{one}e\u0301{two}" for one in "bcdfghkl" for two in ("ra", "lo", "mi")]
    texts = [" ".join(np.random.default_rng(at).choice(words, 5)) for at in range(80)]
    table(world / "train.csv", {"text": texts, "kind": [at % 2 for at in range(80)]})
    given = {w.replace("e\u0301", "\u00e9"): at for at, w in enumerate(words)}
    (world / "vocab.json").write_text(json.dumps(given))
    script = "open('train.csv'), open('vocab.json')\n"
    assert found(world, "PM695", script)
    assert not found(world, "PM695", script + word)


@pytest.mark.parametrize(("key", "shown"), [("password", False), ("api_key", False), ("lr", True)])
def test_a_secret_that_stands_twice_is_not_printed(world, key, shown):
    (world / "run.yaml").write_text(f"{key}: hunter2secret\nwidth: 3\n{key}: other4secret\n")
    np.save(world / "x.npy", np.arange(300.0).reshape(100, 3))
    (said,) = found(world, "PM729", "open('run.yaml')\n")
    assert ("hunter2secret" in f"{said.message} {said.cause}") is shown
    assert ("other4secret" in f"{said.message} {said.cause}") is shown


@pytest.mark.parametrize("read", [True, False])
def test_only_what_the_script_reads_is_compared(world, rng, read):
    x = rng.normal(0, 1, (600, 6))
    np.savez(world / "train.npz", x=x[:400])
    np.savez(world / "val.npz", x=x[100:300].round(2))
    waves = [np.sin(s * np.arange(200) / rng.uniform(4, 6, (100, 1))) for s in (1.0, 0.4)]
    np.savez(world / "train_w.npz", w=waves[0] + rng.normal(0, 0.01, (100, 200)))
    np.savez(world / "val_w.npz", w=waves[1] + rng.normal(0, 0.01, (100, 200)))
    made = rng.normal(0, 1, (40, 3)).round(3)[np.arange(800) % 40]
    table(world / "train_t.csv", {c: made[:, at] for at, c in enumerate("abc")})
    table(world / "val_t.csv", {c: rng.normal(0, 1, 400).round(3) for c in "abc"})
    for name, size in (("train_s", rng.integers(1, 30, 300)), ("val_s", rng.gamma(3, 4, 300).round(3))):
        table(world / f"{name}.csv", {"size": size, "x": rng.normal(0, 1, 300).round(3)})
    names = [
        f"{split}{name}" for name in (".npz", "_w.npz", "_t.csv", "_s.csv") for split in ("train", "val")
    ]
    script = f"open({', '.join(map(repr, names))})\n" if read else "open('other.csv')\n"
    for code in ("PM732", "PM741", "PM715", "PM739"):
        assert bool(found(world, code, script)) is read, code


def test_notes_of_files_that_are_not_read_may_differ(world, rng):
    h5py = pytest.importorskip("h5py")
    for name, scale in (("train.h5", 0.001), ("val.h5", 0.002)):
        with h5py.File(world / name, "w") as file:
            made = file.create_dataset("x", data=rng.integers(-900, 900, (100, 8)).astype("int16"))
            made.attrs["scale_factor"] = scale
    assert found(world, "PM736", "open('train.h5'), open('val.h5')\n")
    assert not found(world, "PM736", "open('other.h5')\n")


def test_gaps_are_news_to_a_script_that_only_guards_its_loss(world, rng):
    made = rng.normal(0, 1, (300, 8))
    made[[3, 70, 200], [1, 4, 6]] = np.nan
    np.save(world / "x.npy", made)
    script = "x = np.load('x.npy')\n"
    assert found(world, "PM662", script + "loss = f(x)\nif not torch.isfinite(loss): raise ValueError\n")
    assert not found(world, "PM662", script + "x = x[np.isfinite(x).all(1)]\n")


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("files = sorted(glob('fold_*.csv'))\ntest = files[-1]\ntrain = files[:-1]\n", False),
        ("test = sorted(glob('fold_*.csv'))[-1]\n", False),
        ("newest = sorted(glob('v_*.csv'))[-1]\n", True),
    ],
)
def test_the_last_fold_is_as_good_as_any(world, rng, script, named):
    for at in range(1, 12):
        for name in ("fold", "v"):
            table(
                world / f"{name}_{at}.csv", {"x": rng.normal(0, 1, 30).round(3), "y": rng.integers(0, 2, 30)}
            )
    assert bool(found(world, "PM728", script)) is named


def test_one_side_of_pairs_may_be_clipped(world):
    for name, gain in (("noisy", 8), ("clean", 1)):
        (world / name).mkdir()
        sounds(world / name, lambda wide, gain=gain: (gain * wide).clip(-32768, 32767))
    assert not found(world, "PM718")


@pytest.mark.parametrize(
    ("file", "day", "silent"), [("a", "1978-01-{}", True), ("b1978", "{}", True), ("a", "{}", False)]
)
def test_a_constant_that_says_what_the_file_is_of(world, rng, file, day, silent):
    columns = {
        "day": [day.format(at % 30) for at in range(300)],
        "births": rng.normal(9000, 700, 300).round(1),
        "share": rng.normal(0.5, 0.01, 300).round(4),
        "batch": [1978] * 300,
    }
    table(world / f"{file}.csv", columns)
    assert bool(found(world, "PM679")) is not silent


@pytest.mark.parametrize(
    ("script", "silent"),
    [
        (
            "a, b = pd.read_csv('a.csv', dtype={'station': str}), pd.read_csv('b.csv', dtype=str)\na.merge(b)",
            False,
        ),
        ("a, b = csv.DictReader(open('a.csv')), csv.DictReader(open('b.csv'))", False),
        ("a, b = pd.read_csv('a.csv'), pd.read_csv('b.csv')\na.merge(b)", True),
        ("a, b = csv.DictReader(open('a.csv')), csv.DictReader(open('b.csv'))\nkey.zfill(5)", True),
    ],
)
def test_codes_that_have_lost_their_zeros_in_one_of_two_tables(world, rng, script, silent):
    stations = rng.choice(np.arange(100, 20_000), 40, replace=False)
    table(
        world / "a.csv",
        {"station": [f"{each:05d}" for each in stations], "flow": rng.normal(5, 1, 40).round(2)},
    )
    table(
        world / "b.csv",
        {"station": [str(each) for each in stations], "nitrate": rng.normal(3, 1, 40).round(2)},
    )
    assert bool(found(world, "PM629", script)) is not silent


def test_what_a_law_does_not_need_is_no_part_of_it(world, rng):
    """Opening hours of two visits are mostly the same, give or take half an hour; a rate of a few hundredths added to them changes nothing."""
    hours = rng.normal(14, 3, 400).round(1)
    later = np.where(rng.random(400) < 0.5, hours, hours + rng.choice([-2.5, -1, 1, 2.5], 400)).round(1)
    table(world / "shops.csv", {"hours": hours, "later": later, "crime": rng.gamma(4, 0.01, 400).round(6)})
    assert not found(world, "PM703", "x = open('shops.csv')\n")


def test_a_prize_that_is_shared_or_lost(world, rng):
    cash = rng.gamma(3, 2, 400).round(1)
    how = rng.integers(0, 4, 400)
    won = np.select([how == 0, how == 1, how == 2], [cash / 2, cash, 0 * cash], 0).round(2)
    lost = np.select([how == 0, how == 1, how == 2], [cash / 2, 0 * cash, cash], 0).round(2)
    table(world / "show.csv", {"age": rng.integers(18, 60, 400), "cash": cash, "won": won, "lost": lost})
    assert not found(world, "PM703", "x = open('show.csv')\n")


def test_a_number_that_counts_rows_begins_anew(world, rng):
    """Awards of actresses and then of actors, numbered in each; in one year there were two."""
    number = np.concatenate([np.insert(np.arange(1, 92), 40, 40), np.insert(np.arange(1, 92), 40, 40)])
    table(world / "awards.csv", {"number": number, "age": rng.integers(20, 80, len(number))})
    assert not found(world, "PM619", "x = open('awards.csv')\n")


def test_controls_are_listed_in_the_order_of_their_cases(world, rng):
    """Each case, then its two controls in another part of the file: the numbers of the matched sets come again."""
    sets = rng.permutation(np.arange(1, 81))
    table(
        world / "matched.csv",
        {"set": np.tile(sets, 3), "dose": rng.gamma(2, 3, 240).round(2), "case": np.repeat([1, 0, 0], 80)},
    )
    assert not found(world, "PM619", "x = open('matched.csv')\n")


@pytest.mark.parametrize(
    ("name", "mark", "named"), [("time", True, False), ("time", False, True), ("glucose", True, True)]
)
def test_a_time_that_ends_with_the_study_is_marked(world, rng, name, mark, named):
    time = rng.exponential(90, 400).round(1)
    over = time > 104
    status = np.where(over, 0, rng.random(400) < 0.8) if mark else rng.random(400) < 0.5
    table(
        world / "rats.csv",
        {name: time.clip(0, 104), "status": status.astype(int), "arm": rng.integers(0, 2, 400)},
    )
    assert bool(found(world, "PM706", "x = open('rats.csv')\n")) is named


def test_the_highest_level_of_an_index_is_no_ceiling(world, rng):
    levels = np.linspace(-1.93, 2.31, 24).round(4)
    times = np.array([6, 99, 36, 1, 1, 2, 3, 69, 2, 16, 1, 10, 2, 1, 3, 2, 4, 1, 8, 2, 5, 12, 18, 480])
    index = rng.permutation(np.repeat(levels, times))
    table(world / "open.csv", {"openness": index, "trade": rng.gamma(4, 9, len(index)).round(2)})
    assert not found(world, "PM706", "x = open('open.csv')\n")


@pytest.mark.parametrize(("highest", "named"), [(150, False), (9999, True)])
def test_the_last_dose_of_a_ladder_is_measured(world, rng, highest, named):
    doses = [0, 0.01, 0.03, 0.1, 0.3, 0.62, 1, 1.85, 2.34, 3, 5.56, 9.38, 16.67, 37.5, 50]
    dose = np.concatenate([np.repeat(doses, 6), np.repeat(highest, 9), np.repeat(0.1, 9)])
    table(
        world / "doses.csv", {"dose": rng.permutation(dose), "slope": rng.normal(1, 0.3, len(dose)).round(4)}
    )
    assert bool(found(world, "PM674", "x = open('doses.csv')\n")) is named


@pytest.mark.parametrize(
    ("script", "numbers"),
    [
        ("keep = x != 999", {999}),
        ("x[np.isin(x, (-9999, 65535))] = 0", {-9999, 65535}),
        ("frame = pd.read_csv(p, na_values=[999])", {999}),
        ("MISSING = -999.0\nmask = (rows == MISSING).any(1)", {-999}),
        ("SEED = 999\nrng = make(SEED)", set()),
        ("epochs = 999", set()),
    ],
)
def test_numbers_that_the_script_asks_for(script, numbers):
    found = numbers_asked(ast.parse(script))
    assert numbers <= found
    assert bool(numbers) or 999 not in found


def test_a_placeholder_that_the_script_masks(world, rng):
    depth = rng.normal(20, 3, 800).round(2)
    depth[::40] = 999
    table(
        world / "train.csv",
        {"depth": depth, "rain": rng.normal(0, 1, 800).round(3), "y": rng.integers(0, 2, 800)},
    )
    assert found(world, "PM674", "open('train.csv')\n")
    assert not found(world, "PM674", "open('train.csv')\nMISSING = 999\nmask = x != MISSING\n")
