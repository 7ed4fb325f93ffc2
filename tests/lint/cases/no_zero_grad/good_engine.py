import deepspeed


def train(model, loader, config):
    engine, optimizer, _, _ = deepspeed.initialize(model=model, config=config)
    for batch in loader:
        loss = engine(batch)
        engine.backward(loss)
        engine.step()
