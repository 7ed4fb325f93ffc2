import torch


def train(model, loader, optimizer, epochs, sample):
    for epoch in range(epochs):
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            sample(model)
        generator = torch.Generator()
        generator.manual_seed(0)
        sample(model, generator)
