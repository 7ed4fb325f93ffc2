from torch.utils import checkpoint


def forward(self, x):
    if self.training:
        return checkpoint.checkpoint(self.layer, x)  # expect: PM516
    return self.layer(x)


def sequence(layers, x):
    return checkpoint.checkpoint_sequential(layers, 2, x)  # expect: PM516


def renamed(layer, x):
    from torch.utils.checkpoint import checkpoint as recompute

    return recompute(layer, x)  # expect: PM516
