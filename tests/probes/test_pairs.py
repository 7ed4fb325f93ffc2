"""Whether inputs say anything about their labels, on real pairs."""

import torch
from torch import nn
from torch.nn import functional as F

from premortem.events import LabelsWeighed
from premortem.probes import Attachment
from premortem.probes.label_information import Dependence, features_of, marks_of


def blobs(n=600, classes=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(classes, 10, generator=torch.Generator().manual_seed(1)) * 2
    y = torch.randint(0, classes, (n,), generator=generator)
    return centres[y] + torch.randn(n, 10, generator=generator), y


def weighed(x, y, epochs=3, size=50):
    torch.manual_seed(0)
    heard, faults = [], []
    attachment = Attachment(heard.append, lambda unit, error: faults.append((unit, error)))
    model = nn.Linear(10, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(epochs):
        for i in range(0, len(x), size):
            loss = F.cross_entropy(model(x[i : i + size]), y[i : i + size])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    attachment.drain()
    attachment.detach()
    assert faults == []
    return [event for event in heard if isinstance(event, LabelsWeighed)]


def test_labels_that_fit_stand_out_from_shuffled_ones():
    first, again = weighed(*blobs())
    assert first.information > 20
    assert (again.repeats >= 200, again.agreed) == (True, 1.0)


def test_labels_that_were_torn_off_say_nothing():
    x, y = blobs()
    first, again = weighed(x[torch.randperm(len(x))], y)
    assert first.information < 3
    assert again.agreed == 1.0  # they are wrong, but always the same


def test_labels_one_row_off_are_found_one_row_off():
    x, y = blobs()
    first, _ = weighed(x, y.roll(1))
    assert first.information < 3
    assert (abs(first.shift), first.shifted_information > 20) == (1, True)


def test_the_same_input_with_another_label_each_time_is_noticed():
    x, y = blobs(200)
    torn = y.repeat(4)[torch.randperm(800)]
    _, again = weighed(x.repeat(4, 1), torn)
    assert again.agreed < 0.4


def test_the_random_numbers_of_the_run_are_not_touched():
    x, y = blobs()
    before = torch.get_rng_state()
    Dependence(y.double(), discrete=True).strongest(x)
    assert torch.equal(torch.get_rng_state(), before)


def test_texts_that_come_again_are_the_same_texts():
    """As counts of words they hold few different numbers: which words they are tells them apart."""
    words = torch.randint(0, 60, (40, 18), generator=torch.Generator().manual_seed(3))
    rows = features_of(words)
    first, again = marks_of(rows), marks_of(rows.clone())
    assert first == again
    assert len(set(first)) == len(words)


def test_flags_that_are_equal_may_be_two_samples():
    flags = torch.randint(0, 2, (40, 6)).float()
    assert set(marks_of(flags)).isdisjoint(marks_of(flags.clone()))
