from tqdm import tqdm


def train(model, loader, criterion, optimizer):
    bar = tqdm(loader)
    bar = enumerate(bar)
    for i, (x, y) in bar:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()  # expect: PM552
