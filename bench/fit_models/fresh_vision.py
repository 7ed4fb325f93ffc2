"""The third set, for images and video: written after the first two were measured, and never tuned on."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm
from torch.utils.checkpoint import checkpoint_sequential

from fit_models import config
from fit_models.steps import images, labels, train


class Inverted(nn.Module):
    """Widen, look around, weigh the channels, narrow."""

    def __init__(self, cin, cout, stride, wide=4):
        super().__init__()
        mid = cin * wide
        self.widen = nn.Sequential(nn.Conv2d(cin, mid, 1, bias=False), nn.BatchNorm2d(mid), nn.SiLU())
        self.look = nn.Sequential(
            nn.Conv2d(mid, mid, 3, stride, 1, groups=mid, bias=False), nn.BatchNorm2d(mid), nn.SiLU()
        )
        self.weigh = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(mid, mid // 16, 1), nn.SiLU(), nn.Conv2d(mid // 16, mid, 1), nn.Sigmoid()
        )  # fmt: skip
        self.narrow = nn.Sequential(nn.Conv2d(mid, cout, 1, bias=False), nn.BatchNorm2d(cout))
        self.same = stride == 1 and cin == cout

    def forward(self, x):
        y = self.look(self.widen(x))
        y = self.narrow(y * self.weigh(y))
        return x + y if self.same else y


@config(32, fresh=True, limit=5)
def efficient_channels_last_bf16(batch):
    parts, last = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.SiLU()], 32
    for width, depth, stride in ((32, 2, 1), (56, 3, 2), (112, 4, 2), (176, 4, 2)):
        for n in range(depth):
            parts.append(Inverted(last, width, stride if n == 0 else 1))
            last = width
    model = nn.Sequential(
        *parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(last, 1000)
    )
    model = model.to("cuda", memory_format=torch.channels_last)
    x, y = images(batch, 192).to(memory_format=torch.channels_last), labels(batch, 1000)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-5)
    return train(
        model, lambda: F.cross_entropy(model(x), y, label_smoothing=0.1), optimizer, amp=torch.bfloat16
    )


class Pair(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.a, self.b = nn.Conv2d(cin, cout, 3, padding=1), nn.Conv2d(cout, cout, 3, padding=1)
        self.na, self.nb = nn.GroupNorm(8, cout), nn.GroupNorm(8, cout)
        self.skip = nn.Conv2d(cin, cout, 1)

    def forward(self, x):
        y = F.mish(self.na(self.a(x)))
        return F.mish(self.nb(self.b(y)) + self.skip(x))


class Segmenter(nn.Module):
    def __init__(self, widths=(32, 64, 128, 256), classes=5):
        super().__init__()
        self.down = nn.ModuleList(Pair(a, b) for a, b in zip((3, *widths), widths))
        self.grow = nn.ModuleList(
            nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths[-2::-1], widths[:0:-1])
        )
        self.up = nn.ModuleList(Pair(2 * a, a) for a in widths[-2::-1])
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        kept = []
        for n, part in enumerate(self.down):
            x = part(F.avg_pool2d(x, 2) if n else x)
            kept.append(x)
        for grow, part, skip in zip(self.grow, self.up, kept[-2::-1]):
            x = part(torch.cat([grow(x), skip], 1))
        return self.head(x)


@config(4, fresh=True, limit=6)
def residual_unet_amsgrad_fp32(batch):
    model = Segmenter().cuda()
    x, y = images(batch, 256), torch.randint(0, 5, (batch, 256, 256), device="cuda")
    optimizer = torch.optim.Adam(model.parameters(), amsgrad=True)

    def loss():
        logits = model(x)
        p, truth = logits.softmax(1), F.one_hot(y, 5).movedim(-1, 1)
        overlap = (p * truth).sum((2, 3)) / (p + truth).sum((2, 3)).clamp(min=1)
        return F.cross_entropy(logits, y) + 1 - overlap.mean()

    return train(model, loss, optimizer)


class Encoder(nn.Module):
    """With torch's own attention module."""

    def __init__(self, width, heads):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend = nn.MultiheadAttention(width, heads, batch_first=True)
        self.think = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        y = self.n1(x)
        x = x + self.attend(y, y, y, need_weights=False)[0]
        return x + self.think(self.n2(x))


class Patches(nn.Module):
    def __init__(self, width=512, depth=8, heads=8, side=224, patch=16, registers=4, classes=1000):
        super().__init__()
        self.cut = nn.Conv2d(3, width, patch, patch)
        self.place = nn.Parameter(torch.randn(1, (side // patch) ** 2, width) * 0.02)
        self.extra = nn.Parameter(torch.zeros(1, registers, width))
        self.body = nn.Sequential(*[Encoder(width, heads) for _ in range(depth)])
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))

    def forward(self, x):
        x = self.cut(x).flatten(2).mT + self.place
        x = self.body(torch.cat([x, self.extra.expand(len(x), -1, -1)], 1))
        return self.head(x.mean(1))


@config(32, fresh=True, limit=6)
def vit_registers_fp16_scaler(batch):
    with torch.device("cuda"):
        model = Patches()
    x, y = images(batch, 224), labels(batch, 1000)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    return train(
        model, lambda: F.cross_entropy(model(x), y), optimizer, amp=torch.float16, scaler=True, clip=1.0
    )


@config(48, fresh=True)
def distilled_from_a_frozen_teacher(batch):
    teacher = Patches(768, 6, 12).cuda().eval().requires_grad_(False)
    student = Patches(256, 6, 4).cuda()
    x, y = images(batch, 224), labels(batch, 1000)

    def loss():
        with torch.no_grad():
            hint = teacher(x)
        logits = student(x)
        soft = F.kl_div((logits / 2).log_softmax(-1), (hint / 2).softmax(-1), reduction="batchmean")
        return F.cross_entropy(logits, y) + 4 * soft

    return train(student, loss, torch.optim.NAdam(student.parameters()))


class Divided(nn.Module):
    """Over time, then over space, of a video with its five dimensions."""

    def __init__(self, width, heads):
        super().__init__()
        self.time, self.space = Encoder(width, heads), Encoder(width, heads)

    def forward(self, x):
        b, c, t, h, w = x.shape
        x = self.time(x.permute(0, 3, 4, 2, 1).reshape(b * h * w, t, c))
        x = x.view(b, h, w, t, c).permute(0, 3, 1, 2, 4).reshape(b * t, h * w, c)
        return self.space(x).view(b, t, h, w, c).permute(0, 4, 1, 2, 3)


@config(4, fresh=True, limit=5)
def video_divided_attention_bf16(batch):
    cut = nn.Conv3d(3, 384, (2, 16, 16), (2, 16, 16))
    body, head = nn.Sequential(*[Divided(384, 6) for _ in range(4)]), nn.Linear(384, 174)
    model = nn.ModuleList([cut, body, head]).cuda()
    x, y = torch.randn(batch, 3, 16, 160, 160, device="cuda"), labels(batch, 174)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.05)
    return train(
        model, lambda: F.cross_entropy(head(body(cut(x)).mean((2, 3, 4))), y), optimizer, amp=torch.bfloat16
    )


def _factored(cin, cout, stride=1):
    mid = (cin * cout * 27) // (cin * 9 + 3 * cout)
    return nn.Sequential(
        nn.Conv3d(cin, mid, (1, 3, 3), (1, stride, stride), (0, 1, 1), bias=False), nn.BatchNorm3d(mid), nn.ReLU(inplace=True),
        nn.Conv3d(mid, cout, (3, 1, 1), (stride, 1, 1), (1, 0, 0), bias=False), nn.BatchNorm3d(cout), nn.ReLU(inplace=True),
    )  # fmt: skip


@config(4, fresh=True, limit=6)
def factored_conv3d_fp32(batch):
    parts = [
        _factored(a, b, s)
        for a, b, s in ((3, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2))
    ]
    model = nn.Sequential(*parts, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(256, 101)).cuda()
    x, y = torch.randn(batch, 3, 16, 128, 128, device="cuda"), labels(batch, 101)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    return train(model, lambda: F.cross_entropy(model(x), y), optimizer, clip=5.0)


@config(64, fresh=True, limit=4)
def momentum_contrast_with_queue(batch):
    def tower():
        parts, last = [], 3
        for width in (64, 128, 256, 512):
            parts += [
                nn.Conv2d(last, width, 3, 2, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
            ]
            parts += [
                nn.Conv2d(width, width, 3, 1, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
            ]
            last = width
        return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 128))

    query, key = tower().cuda(), tower().cuda().requires_grad_(False)
    queue, place = F.normalize(torch.randn(65536, 128, device="cuda"), dim=1), [0]
    a, b = images(batch, 160), images(batch, 160)
    optimizer = torch.optim.SGD(query.parameters(), lr=0.03, momentum=0.9)

    def loss():
        q = F.normalize(query(a), dim=1)
        with torch.no_grad():
            for slow, fast in zip(key.parameters(), query.parameters()):
                slow.mul_(0.999).add_(fast, alpha=0.001)
            k = F.normalize(key(b), dim=1)
        near, far = (q * k).sum(1, keepdim=True), q @ queue.clone().T
        result = F.cross_entropy(torch.cat([near, far], 1) / 0.07, labels(batch, 1))
        queue[torch.arange(place[0], place[0] + batch, device="cuda") % 65536] = k
        place[0] = (place[0] + batch) % 65536
        return result

    return train(query, loss, optimizer)


@config(64, fresh=True, limit=3)
def hinge_gan_spectral_norm(batch):
    make, last = [nn.Linear(96, 512 * 16), nn.Unflatten(1, (512, 4, 4))], 512
    for width in (256, 128, 64, 64):
        make += [
            nn.Upsample(scale_factor=2),
            nn.Conv2d(last, width, 3, 1, 1),
            nn.BatchNorm2d(width),
            nn.ReLU(True),
        ]
        last = width
    g = nn.Sequential(*make, nn.Conv2d(last, 3, 3, 1, 1), nn.Tanh()).cuda()
    judge, last = [], 3
    for width in (64, 128, 256, 512):
        judge += [spectral_norm(nn.Conv2d(last, width, 4, 2, 1)), nn.LeakyReLU(0.1)]
        last = width
    d = nn.Sequential(*judge, nn.Flatten(), spectral_norm(nn.Linear(512 * 16, 1))).cuda()
    og = torch.optim.Adam(g.parameters(), lr=1e-4, betas=(0.0, 0.9))
    od = torch.optim.Adam(d.parameters(), lr=4e-4, betas=(0.0, 0.9))
    real = images(batch, 64)

    def step():
        for _ in range(2):
            with torch.no_grad():
                fake = g(torch.randn(batch, 96, device="cuda"))
            od.zero_grad()
            (F.relu(1 - d(real)).mean() + F.relu(1 + d(fake)).mean()).backward()
            od.step()
        og.zero_grad()
        (-d(g(torch.randn(batch, 96, device="cuda"))).mean()).backward()
        og.step()

    return step


class Guided(nn.Module):
    """A block of a diffusion model that also looks at a text."""

    def __init__(self, width, text=256):
        super().__init__()
        self.norm, self.conv = nn.GroupNorm(16, width), nn.Conv2d(width, width, 3, padding=1)
        self.time = nn.Linear(128, 2 * width)
        self.own = nn.MultiheadAttention(width, 4, batch_first=True)
        self.cross = nn.MultiheadAttention(width, 4, kdim=text, vdim=text, batch_first=True)

    def forward(self, x, t, words):
        scale, shift = self.time(t)[:, :, None, None].chunk(2, 1)
        x = x + self.conv(F.silu(self.norm(x) * (1 + scale) + shift))
        flat = x.flatten(2).mT
        flat = flat + self.own(flat, flat, flat, need_weights=False)[0]
        flat = flat + self.cross(flat, words, words, need_weights=False)[0]
        return flat.mT.reshape(x.shape)


class Painter(nn.Module):
    def __init__(self, widths=(64, 128, 256)):
        super().__init__()
        self.stem, self.out = nn.Conv2d(4, widths[0], 3, padding=1), nn.Conv2d(widths[0], 4, 3, padding=1)
        self.down = nn.ModuleList(Guided(w) for w in widths)
        self.shrink = nn.ModuleList(nn.Conv2d(a, b, 3, 2, 1) for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(Guided(w) for w in widths[-2::-1])
        self.grow = nn.ModuleList(
            nn.Conv2d(b, a, 3, padding=1) for a, b in zip(widths[-2::-1], widths[:0:-1])
        )

    def forward(self, x, t, words):
        x, kept = self.stem(x), []
        for n, block in enumerate(self.down):
            x = block(self.shrink[n - 1](x) if n else x, t, words)
            kept.append(x)
        for block, grow, skip in zip(self.up, self.grow, kept[-2::-1]):
            x = block(grow(F.interpolate(x, scale_factor=2.0)) + skip, t, words)
        return self.out(x)


@config(16, fresh=True, limit=6)
def text_guided_diffusion_bf16(batch):
    model = Painter().cuda()
    average = copy.deepcopy(model).eval().requires_grad_(False)
    x, words = images(batch, 64, channels=4), torch.randn(batch, 77, 256, device="cuda")

    def loss():
        noise, t = torch.randn_like(x), torch.randn(batch, 128, device="cuda")
        return F.mse_loss(model(0.7 * x + 0.7 * noise, t, words).float(), noise)

    plain = train(model, loss, torch.optim.AdamW(model.parameters(), lr=1e-4), amp=torch.bfloat16, clip=1.0)

    def step():
        plain()
        torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 0.001)

    return step


@config(16, fresh=True, limit=5)
def convolutions_checkpointed_in_segments(batch):
    def block(cin, cout):
        return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())

    body = nn.Sequential(*[block(64, 64) for _ in range(12)])
    stem, head = block(3, 64), nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 100))
    model = nn.ModuleList([stem, body, head]).cuda()
    x, y = images(batch, 128), labels(batch, 100)
    optimizer = torch.optim.Adamax(model.parameters(), foreach=False)

    def loss():
        return F.cross_entropy(head(checkpoint_sequential(body, 4, stem(x), use_reentrant=False)), y)

    return train(model, loss, optimizer, accumulate=2)
