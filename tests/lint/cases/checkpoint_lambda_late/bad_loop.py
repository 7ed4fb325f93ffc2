from torch.utils.checkpoint import checkpoint


def forward(layers, x, mask):
    for layer in layers:
        x = checkpoint(lambda y: layer(y, mask), x, use_reentrant=False)  # expect: PM555
    for block in layers:

        def run(y):
            return block(y)

        x = checkpoint(run, x, use_reentrant=False)  # expect: PM555
    return x
