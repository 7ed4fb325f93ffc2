"""Padded images come back; the multiple that a model needs is found, and the model is as it was."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from premortem.parts import needed_multiple, pad_to_multiple, unpad


@pytest.mark.parametrize("shape", [(3, 30, 45), (2, 3, 30, 45), (2, 3, 4, 30, 45), (1, 1, 1, 1)])
@pytest.mark.parametrize("mode", ["reflect", "replicate", "constant"])
@pytest.mark.parametrize("multiple", [1, 8, (14, 32), 224])
def test_there_and_back(shape, mode, multiple):
    images = torch.rand(*shape)
    padded, padding = pad_to_multiple(images, multiple, mode=mode)
    both = (multiple, multiple) if isinstance(multiple, int) else multiple
    assert [side % each for side, each in zip(padded.shape[-2:], both, strict=True)] == [0, 0]
    assert torch.equal(unpad(padded, padding), images)


def test_the_modes_are_those_of_torch():
    images = torch.rand(1, 3, 30, 45)
    for mode in ("reflect", "replicate", "constant"):
        padded, _ = pad_to_multiple(images, 16, mode=mode)
        assert torch.equal(padded, F.pad(images, (0, 3, 0, 2), mode=mode))


def test_integers_gradients_and_images_that_fit():
    eight = torch.arange(6, dtype=torch.uint8).reshape(1, 2, 3)
    assert pad_to_multiple(eight, 4)[0][0].tolist() == [
        [0, 1, 2, 1],
        [3, 4, 5, 4],
        [0, 1, 2, 1],
        [3, 4, 5, 4],
    ]
    images = torch.rand(1, 1, 5, 5, requires_grad=True)
    pad_to_multiple(images, 8)[0].sum().backward()
    assert images.grad.sum() == 64
    fitting = torch.rand(1, 3, 32, 32)
    assert pad_to_multiple(fitting, 16)[0] is fitting


@pytest.mark.parametrize(
    ("scale", "sides"), [(1, (100, 90)), (4, (400, 360)), (0.5, (50, 45)), (1 / 14, (8, 7))]
)
def test_outputs_of_another_resolution(scale, sides):
    _padded, padding = pad_to_multiple(torch.rand(1, 3, 100, 90), 14)
    output = torch.rand(1, 5, round(112 * scale), round(98 * scale))
    assert tuple(unpad(output, padding).shape[-2:]) == sides
    assert tuple(unpad(output, padding, scale=scale).shape[-2:]) == sides


def test_what_does_not_fit_together_is_said():
    _padded, padding = pad_to_multiple(torch.rand(1, 3, 100, 90), 14)
    with pytest.raises(
        ValueError,
        match=r"with a scale of 2 an input of 112×98 gives an output of 224×196, and this one is 112×98",
    ):
        unpad(torch.rand(1, 3, 112, 98), padding, scale=2)
    with pytest.raises(ValueError, match="must be height and width"):
        unpad(torch.rand(1, 112, 98, 3), padding)
    with pytest.raises(ValueError, match="a multiple above 0, or two, not 0"):
        pad_to_multiple(torch.rand(1, 3, 4, 4), 0)
    with pytest.raises(ValueError, match="not 'mirror'"):
        pad_to_multiple(torch.rand(1, 3, 5, 5), 4, mode="mirror")


class UNet(nn.Module):
    def __init__(self, depth, volume=False):
        super().__init__()
        convolution = nn.Conv3d if volume else nn.Conv2d
        pool = nn.MaxPool3d((1, 2, 2)) if volume else nn.MaxPool2d(2)
        self.pool, self.up = pool, nn.Upsample(scale_factor=(1, 2, 2) if volume else 2)
        self.inward = nn.ModuleList(convolution(3 if not n else 4, 4, 3, padding=1) for n in range(depth))
        self.outward = nn.ModuleList(convolution(8, 4, 3, padding=1) for _ in range(depth))

    def forward(self, x):
        skips = []
        for layer in self.inward:
            x = layer(x)
            skips.append(x)
            x = self.pool(x)
        for layer in self.outward:
            x = layer(torch.cat([self.up(x), skips.pop()], dim=1))
        return x


class Patches(nn.Module):
    """A vision transformer's first layer; `check` as the common libraries have it."""

    def __init__(self, patch, check=True, fixed=None):
        super().__init__()
        self.patch, self.check, self.fixed = patch, check, fixed
        self.embed = nn.Conv2d(3, 8, patch, stride=patch)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        height, width = x.shape[-2:]
        if self.check:
            assert height % self.patch == 0, f"height {height} is not a multiple of the patch {self.patch}"
            assert width % self.patch == 0
        if self.fixed:
            assert (height, width) == (self.fixed, self.fixed), f"expected {self.fixed}"
        tokens = self.norm(self.embed(x)).flatten(2).transpose(1, 2)
        return self.head(F.scaled_dot_product_attention(tokens, tokens, tokens).mean(1))


class Both(nn.Module):
    """A backbone of 14 pixels beside a decoder of stride 32."""

    def __init__(self):
        super().__init__()
        self.backbone, self.decoder = Patches(14), UNet(5)

    def forward(self, x):
        return self.decoder(x), self.backbone(x)


class CroppingDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.AvgPool2d(4), nn.Upsample(scale_factor=4)

    def forward(self, x):
        return self.up(self.down(x))


class CroppingSkips(nn.Module):
    """Runs at every size; rows at the border are cut off where sizes do not agree."""

    def __init__(self):
        super().__init__()
        self.pool, self.up = nn.MaxPool2d(8), nn.Upsample(scale_factor=8)

    def forward(self, x):
        coarse = self.up(self.pool(x))
        return coarse + x[..., : coarse.shape[-2], : coarse.shape[-1]]


def fully_convolutional():
    return nn.Sequential(
        nn.Conv2d(3, 4, 7, stride=2, padding=3),
        nn.BatchNorm2d(4),
        nn.MaxPool2d(3, 2, 1),
        nn.Conv2d(4, 4, 3, 2, 1),
    )


class LooksAtValues(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = UNet(2)

    def forward(self, x):
        return self.net(x) if x.sum().item() >= 0 else x


CASES = {
    "unet of four": (UNet(4), (16, 16)),
    "clips": (UNet(3, volume=True), (8, 8)),
    "patches with asserts": (Patches(14), (14, 14)),
    "patches that crop": (Patches(16, check=False), (16, 16)),
    "14 and 32": (Both(), (224, 224)),
    "a decoder that crops": (CroppingDecoder(), (4, 4)),
    "skips that crop": (CroppingSkips(), (8, 8)),
    "fully convolutional": (fully_convolutional(), (1, 1)),
    "one per pixel": (nn.Conv2d(3, 3, 1), (1, 1)),
    "no padding": (nn.Conv2d(3, 3, 5), (1, 1)),
    "classifier": (
        nn.Sequential(fully_convolutional(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)),
        (1, 1),
    ),
    "wide patches": (nn.Sequential(nn.PixelUnshuffle(2), nn.Conv2d(12, 4, (1, 3), stride=(1, 3))), (2, 6)),
    "looks at values": (LooksAtValues(), (4, 4)),
    "patch of 11": (Patches(11), (11, 11)),
}


SELDOM = {"clips", "patches that crop", "14 and 32", "a decoder that crops", "wide patches", "patch of 11"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.exhaustive] * (name in SELDOM)) for name in CASES]
)
def test_the_multiple_is_found(name):
    model, expected = CASES[name]
    shape = (1, 3, 2, 70, 90) if name == "clips" else (1, 3, 70, 90)
    needed = needed_multiple(model, torch.rand(*shape))
    assert ((needed.height, needed.width), needed.fixed) == (expected, False)
    padded, padding = pad_to_multiple(torch.rand(*shape), needed)
    with torch.no_grad():
        model.eval()(padded)
    assert padding.size == (70, 90)


def test_it_is_told_in_words():
    words = str(needed_multiple(Patches(14), torch.rand(1, 3, 64, 64)))
    assert words.startswith("the model needs a multiple of 14. Otherwise: AssertionError: ")
    assert (
        str(needed_multiple(nn.Conv2d(3, 3, 1), torch.rand(1, 3, 64, 64)))
        == "the model takes images of any size"
    )
    assert (
        "leave out the last rows or columns"
        in needed_multiple(Patches(16, check=False), torch.rand(1, 3, 64, 64)).why
    )


@pytest.mark.parametrize("fixed", [224, 70])
def test_a_model_of_one_size_is_told(fixed):
    needed = needed_multiple(Patches(14, fixed=fixed), torch.rand(1, 3, 70, 70))
    assert (needed.height, needed.fixed) == (fixed, True)
    assert str(needed).startswith(f"the model takes images of {fixed}×{fixed} and no other size")


def test_a_model_that_never_runs_says_why():
    with pytest.raises(
        ValueError,
        match=r"the model runs at none of \d+ sizes; with the example it says: RuntimeError: .*channels",
    ):
        needed_multiple(nn.Conv2d(4, 4, 3), torch.rand(1, 3, 64, 64))
    with pytest.raises(ValueError, match="needs an example with a batch of images"):
        needed_multiple(nn.Linear(4, 4), torch.rand(1, 4))


def test_several_inputs_are_resized_together():
    class Fused(nn.Module):
        def forward(self, image, *, depth, scale):
            return F.pixel_unshuffle(image + depth, 6) * scale

    example = {
        "image": torch.rand(1, 3, 12, 12),
        "depth": torch.rand(1, 1, 12, 12),
        "scale": torch.tensor(2.0),
    }
    assert needed_multiple(Fused(), example).height == 6


class Remembers(LooksAtValues):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(3)
        self.register_buffer("calls", torch.zeros(()))
        self.table = None

    def forward(self, x):
        self.calls += 1
        self.table = torch.rand(x.shape[-1])
        return super().forward(self.norm(x))


def test_the_model_and_the_generators_are_as_before():
    model = Remembers().train()
    model.norm.eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    needed_multiple(model, torch.rand(1, 3, 32, 32, generator=torch.Generator().manual_seed(0)))
    assert torch.equal(torch.get_rng_state(), state)
    assert (model.training, model.net.training, model.norm.training) == (True, True, False)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert model.table is None
    assert all(not hooks for module in model.modules() for hooks in [module._forward_pre_hooks])
    assert torch.is_grad_enabled()
