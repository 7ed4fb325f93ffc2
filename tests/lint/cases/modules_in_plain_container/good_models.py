import torch
import torch.nn as nn


class Registered(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(3)])
        self.heads = nn.ModuleDict({"a": nn.Linear(width, 1)})

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.heads["a"](x)


class Sequential(nn.Module):
    def __init__(self, width):
        super().__init__()
        layers = []
        for _ in range(3):
            layers.append(nn.Linear(width, width))
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return self.body(x)


class AlsoRegistered(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = [nn.Linear(width, width) for _ in range(3)]
        for i, layer in enumerate(self.layers):
            self.add_module(f"layer{i}", layer)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Wrapped(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.blocks = [nn.Linear(width, width) for _ in range(3)]
        self.blocks = nn.ModuleList(self.blocks)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class WrappedElsewhere(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.parts = [nn.Linear(width, width), nn.ReLU()]
        self.net = nn.Sequential(*self.parts)

    def forward(self, x):
        return self.net(x)


class SetAttr(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.convs = []
        for i in range(3):
            conv = nn.Conv2d(width, width, 3)
            setattr(self, f"conv{i}", conv)
            self.convs.append(conv)

    def forward(self, x):
        for conv in self.convs:
            x = conv(x)
        return x


class Activations(nn.Module):
    def __init__(self):
        super().__init__()
        self.activations = {"relu": nn.ReLU(), "gelu": nn.GELU()}
        self.fc = nn.Linear(1, 1)

    def forward(self, x, name):
        return self.activations[name](self.fc(x))


class Classes(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kinds = {"linear": nn.Linear, "bilinear": nn.Bilinear}
        self.layer = self.kinds[kind](1, 1)

    def forward(self, x):
        return self.layer(x)


class Frozen(nn.Module):
    """The teacher is held in a list so that it is not registered."""

    def __init__(self, teacher):
        super().__init__()
        self.teacher = [teacher]
        self.fc = nn.Linear(1, 1)

    def forward(self, x):
        with torch.no_grad():
            target = self.teacher[0](x)
        return self.fc(x), target


class FrozenHere(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.perceptual = [nn.Linear(width, width).eval()]
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        with torch.no_grad():
            y = self.perceptual[0](x)
        return self.fc(x) - y


class NotAModule:
    def __init__(self):
        self.models = [nn.Linear(1, 1) for _ in range(5)]

    def forward(self, x):
        return [m(x) for m in self.models]


class Selected(nn.Module):
    """A view of layers that are registered one by one."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(1, 1)
        self.second = nn.Linear(1, 1)
        self.order = [self.second, self.first]

    def forward(self, x):
        for layer in self.order:
            x = layer(x)
        return x


class LocalButRegistered(nn.Module):
    def __init__(self, width):
        super().__init__()
        layers = [nn.Linear(width, width) for _ in range(3)]
        self.net = nn.Sequential(*layers)
        self.layers = layers

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class EachOnItsOwn(nn.Module):
    def __init__(self, width):
        super().__init__()
        first = nn.Linear(width, width)
        second = nn.Linear(width, width)
        self.first = first
        self.second = second
        self.order = [first, second]

    def forward(self, x):
        for layer in self.order:
            x = layer(x)
        return x


class Settings(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.options = dict(width=width, depth=3)
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        return self.fc(x)
