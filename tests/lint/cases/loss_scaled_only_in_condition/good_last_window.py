def train(model, loader, optimizer, accumulation):
    remainder = len(loader) % accumulation
    for step, batch in enumerate(loader):
        loss = model(batch)
        if step >= len(loader) - remainder:
            loss = loss / remainder
        else:
            loss = loss / accumulation
        loss.backward()
        if (step + 1) % accumulation == 0 or step + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
