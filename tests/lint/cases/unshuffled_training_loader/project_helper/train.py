from data import loaders, statistics


def train(model, optimizer, criterion, paths, held_out):
    batches, others = loaders(paths, held_out)
    for x, y in batches:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    mean = sum(x.mean() for x, _y in statistics(paths))
    return mean, [model(x) for x, _y in others]
