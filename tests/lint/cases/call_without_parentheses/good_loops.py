import torch


def train(model, loader, optimizer):
    model.train()
    step = optimizer.step
    for batch in loader:
        optimizer.zero_grad()
        model(batch).backward()
        step()


def guard(module):
    try:
        module.eval
    except AttributeError:
        return False
    return True


def optional(engine):
    return engine.step if hasattr(engine, "step") else None


class Config:
    train: bool
    step: int = 3


def pandas(frame):
    frame.eval("a + b")


def attribute(config):
    config.training
    config.epochs


def callbacks(trainer, optimizer):
    trainer.register(optimizer.zero_grad)
    return [optimizer.step]


def lazy(dataset):
    dataset.train  # a property that downloads the split
    return dataset
