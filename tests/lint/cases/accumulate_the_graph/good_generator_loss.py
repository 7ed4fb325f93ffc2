def train(generator, loader, optimizer, penalties):
    for x in loader:
        loss = generator(x).mean()
        for penalty in penalties:
            loss += penalty(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
