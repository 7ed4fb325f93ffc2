from tqdm import tqdm


def train(model, batches, criterion, optimizer, quiet):
    bar = range(1000)
    if not quiet:
        slow = tqdm(bar)
        bar = tqdm(slow)
    for step in bar:
        optimizer.zero_grad()
        loss = criterion(model(batches[step]))
        loss.backward()
        optimizer.step()
