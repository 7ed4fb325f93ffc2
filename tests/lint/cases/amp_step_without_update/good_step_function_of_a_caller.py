def update(optimizer, scaler):
    """The caller updates the scaler once for all optimizers."""
    scaler.step(optimizer)
    optimizer.zero_grad()
