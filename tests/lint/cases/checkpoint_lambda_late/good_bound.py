from torch.utils.checkpoint import checkpoint


def forward(layers, x, mask):
    for layer in layers:
        x = checkpoint(layer, x, use_reentrant=False)
        x = checkpoint(lambda y, layer=layer: layer(y, mask), x, use_reentrant=False)
        x = checkpoint(lambda y: y * mask, x, use_reentrant=False)
    return x


def once(layer, x):
    return checkpoint(lambda y: layer(y), x, use_reentrant=False)
