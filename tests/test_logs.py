"""What the script prints: read, and passed through untouched."""

import io
import math
import os
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import premortem
from premortem.terminal import printed_lines
from premortem.terminal.printed_lines import RATE, Tee, parse, unread

# --- parsing ---------------------------------------------------------------------------------


def values(line):
    return [(label, value) for label, _text, value in parse(line).values]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("loss=0.5 lr=2e-3", [("loss", 0.5), ("lr", 0.002)]),
        ("loss: 0.5, acc: .75", [("loss", 0.5), ("acc", 0.75)]),
        ("| a 0.1 | b 2e-3", [("a", 0.1), ("b", 0.002)]),
        ("{'loss': 0.25, 'step': 3}", [("loss", 0.25), ("step", 3)]),
        ("accuracy 93.1%", [("accuracy", 93.1)]),
        ("Epoch 3/10", [("epoch", 3), ("of", 10)]),
        ("Epoch [ 3 / 10 ] loss -1.5", [("epoch", 3), ("of", 10), ("loss", -1.5)]),
        ("epoch3 loss 1", [("epoch", 3), ("loss", 1)]),
        ("loss inf grad -inf", [("loss", math.inf), ("grad", -math.inf)]),
        ("step 1,200,000: loss 3", [("step", 1_200_000), ("loss", 3)]),
        ("f1 0.7 acc@5 0.9 top5=0.8 layer2.weight 1.0",
         [("f1", 0.7), ("acc@5", 0.9), ("top5", 0.8), ("layer2.weight", 1.0)]),
        ("loss: tensor(0.34, grad_fn=<MseLossBackward0>)", [("loss", 0.34)]),
        ("loss is now np.float64(0.25)", [("loss", 0.25)]),
        ("took 3.5s at 45.2it/s, loss 1", [("took", 3.5), ("took", 45.2), ("loss", 1)]),
        ("2024-05-01 12:30:45,123 lr 1", [("lr", 1)]),
        ("\x1b[32mval_acc\x1b[0m 0.5", [("val_acc", 0.5)]),
        ("model at 0xff", [("model", 255)]),
        ("Verlust-Größe 0.5", [("verlust-größe", 0.5)]),
    ],
)  # fmt: skip
def test_numbers_and_their_names(line, expected):
    assert values(line) == expected


@pytest.mark.parametrize("text", ["nan", "NaN", "nan%"])
def test_nan_is_a_number_too(text):
    ((label, _text, value),) = parse(f"val_loss {text}").values
    assert label == "val_loss"
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("train loss 0.5 acc 0.9 | val loss 0.6 acc 0.8", "train_loss train_acc val_loss val_acc"),
        (
            "Test set: Average loss: 0.05, Accuracy: 9832/10000 (98%)",
            "test_loss test_accuracy of test_accuracy",
        ),
        ("Validation: cls_loss 0.5 lr 0.1", "val_cls_loss lr"),
        ("train loss 0.5 val_loss 0.6", "train_loss val_loss"),
        ("val 0.5 loss/train 0.1", "val loss/train"),
    ],
)
def test_a_metric_carries_the_name_of_its_split(line, expected):
    assert [label for label, _value in values(line)] == expected.split()


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-05-01 12:00:03,123 - INFO - ",
        "2026-05-01T12:00:03.5Z ",
        "[12:00:03] ",
        "[05/01 12:00:03] ",
        "12:00:03 | ",
    ],
)
def test_the_time_of_a_logged_line_is_not_part_of_it(stamp):
    line = parse(stamp + "epoch 3 loss 0.52")
    assert line is not None
    assert [(label, value) for label, _, value in line.values] == [("epoch", 3.0), ("loss", 0.52)]


def test_a_ratio_of_counts_at_the_start_is_no_time():
    line = parse("3/10 loss 0.52")
    assert line is not None
    assert [value for _, _, value in line.values] == [3.0, 10.0, 0.52]


def test_the_template_is_the_line_without_its_numbers():
    line = parse("  Epoch 3/10: loss=0.52 (81.0%)\r\n".rstrip("\n"), step=7)
    assert (line.text, line.template) == ("Epoch 3/10: loss=0.52 (81.0%)", "Epoch #/#: loss=# (#%)")
    assert (line.step, line.values[2]) == (7, ("loss", "0.52", 0.52))


@pytest.mark.parametrize(
    "line",
    [
        "no number here",
        "",
        "100%|████| 40/40 [00:02<00:00, 17.3it/s, loss=0.3]",
        "40it [00:02, 17.3it/s]",
        "conv2d of resnet",
        "saved best.pt",
    ],
)
def test_what_is_no_evidence_is_left_out(line):
    assert parse(line) is None


@given(st.text(st.characters() | st.sampled_from("0123456789.,-+eExX/%|=:# nainf\r\x1b[")))
def test_any_text_can_be_parsed(text):
    line = parse(text)
    if line is not None:
        assert line.values
        assert all(isinstance(value, float) for _label, _text, value in line.values)
        assert line.template.count("#") == line.text.count("#") + len(line.values)


# --- listening -------------------------------------------------------------------------------


class Listened:
    """A stream with a Tee on it, and what came out at both ends."""

    def __init__(self, clock=lambda: 0.0, emit=None):
        self.raw = io.BytesIO()
        self.stream = io.TextIOWrapper(self.raw, encoding="utf-8", newline="\n", write_through=True)
        self.lines = []
        self.tee = Tee(self.stream, emit or self.lines.append, clock=clock)

    @property
    def written(self):
        return self.raw.getvalue().decode()

    @property
    def texts(self):
        return [line.text for line in self.lines]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_what_is_written_is_passed_through_unchanged(pieces):
    plain, watched = io.StringIO(newline=""), Listened()
    assert [watched.stream.write(piece) for piece in pieces] == [plain.write(piece) for piece in pieces]
    watched.stream.writelines(pieces)
    assert watched.written == plain.getvalue() * 2


@given(st.text(st.sampled_from("ab 0123.\n")), st.lists(st.integers(0, 40)))
def test_how_the_text_is_cut_into_writes_does_not_matter(text, cuts):
    whole, cut = Listened(), Listened()
    whole.stream.write(text)
    edges = [0, *sorted(cuts), len(text)]
    for start, end in pairwise(edges):
        cut.stream.write(text[start:end])
    assert cut.lines == whole.lines


def test_print_is_heard_line_by_line():
    watched = Listened()
    print("epoch", 1, "loss", 0.5, file=watched.stream)
    print("no number", file=watched.stream)
    print("epoch 2\nepoch 3\nepoch", end="", file=watched.stream)
    print(" 4", file=watched.stream)
    assert watched.texts == ["epoch 1 loss 0.5", "epoch 2", "epoch 3", "epoch 4"]


def test_a_bar_that_is_redrawn_is_not_a_log():
    watched = Listened()
    for n in range(1000):
        watched.stream.write(f"\r{n}/1000 loss {n}")
    assert watched.lines == []
    watched.stream.write("\r" + " " * 40 + "\rval loss 0.5\n")
    assert watched.texts == ["val loss 0.5"]


def test_the_stream_stays_the_same_object():
    watched = Listened()
    assert type(watched.stream) is io.TextIOWrapper
    assert (watched.stream.encoding, watched.stream.isatty()) == ("utf-8", False)
    watched.tee.close()
    watched.tee.close()
    assert "write" not in vars(watched.stream)
    watched.stream.write("loss 1\n")
    assert (watched.lines, watched.written) == ([], "loss 1\n")


def test_tees_can_be_nested_and_closed_in_any_order():
    outer = Listened()
    inner = Tee(outer.stream, outer.lines.append, clock=lambda: 0.0)
    outer.tee.close()  # the inner one covers it: it stays and only passes on
    outer.stream.write("loss 1\n")
    assert outer.texts == ["loss 1"]
    inner.close()
    outer.stream.write("loss 2\n")
    assert outer.written == "loss 1\nloss 2\n"
    assert outer.texts == ["loss 1"]


@pytest.mark.parametrize("stream", [None, object()])
def test_a_stream_that_cannot_be_covered_is_left_alone(stream):
    Tee(stream, pytest.fail).close()


def test_errors_of_the_stream_are_the_callers():
    watched = Listened()
    with pytest.raises(TypeError):
        watched.stream.write(b"bytes")
    watched.stream.close()
    with pytest.raises(ValueError, match="closed file"):
        watched.stream.write("loss 1\n")


def test_errors_of_the_listener_are_not():
    def fail(_line):
        raise RuntimeError

    watched = Listened(emit=fail)
    watched.stream.write("loss 1\nloss 2\n")
    assert watched.written == "loss 1\nloss 2\n"


def test_a_listener_that_prints_does_not_hear_itself():
    heard = []

    def echo(line):
        heard.append(line.text)
        watched.stream.write(f"heard {len(heard)} lines\n")

    watched = Listened(emit=echo)
    watched.stream.write("loss 1\n")
    assert heard == ["loss 1"]


def test_what_premortem_itself_writes_is_not_read():
    watched = Listened()
    with unread():
        watched.stream.write("error at step 12\n")
    watched.stream.write("loss 1\n")
    assert watched.texts == ["loss 1"]


def test_threads_that_print_at_once_do_not_mix_their_lines():
    watched = Listened()

    def work(name):
        for n in range(20):
            watched.stream.write(f"{name} ")
            watched.stream.write(f"{n}\n")

    threads = [threading.Thread(target=work, args=(name,)) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(watched.texts) == sorted(f"{name} {n}" for name in ("left", "right") for n in range(20))


def test_the_cost_of_a_flood_is_bounded():
    now = 0.0
    watched = Listened(clock=lambda: now)
    watched.stream.write("loss 1\n" * 10_000)
    assert len(watched.lines) == RATE
    now = 1.0
    watched.stream.write("loss 2\n")
    assert watched.texts[-1] == "loss 2"


def test_a_line_of_any_length_is_cut():
    watched = Listened()
    watched.stream.write("loss 1 " * 1_000_000)
    watched.stream.write("\nloss 2\n")
    first, second = watched.lines
    assert (len(first.text) <= printed_lines.LENGTH, len(first.values), second.text) == (
        True,
        printed_lines.NUMBERS,
        "loss 2",
    )


def test_a_forked_child_is_not_heard():
    watched = Listened()
    child = os.fork()
    if child == 0:
        watched.stream.write("loss 1\n")
        os._exit(len(watched.lines))
    assert os.waitpid(child, 0)[1] == 0


def test_the_real_stdout_can_be_covered():
    code = (
        "import sys; from premortem.terminal.printed_lines import Tee; before = sys.stdout; lines = []; tee = Tee(sys.stdout, lines.append)\n"
        "print('loss', 0.5); assert sys.stdout is before and sys.stdout.fileno() == 1\n"
        "tee.close(); print(lines[0].values)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(premortem.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout == "loss 0.5\n(('loss', '0.5', 0.5),)\n"
