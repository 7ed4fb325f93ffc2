def train(model, loader, optimizer, accumulation):
    for step, batch in enumerate(loader):
        loss = model(batch)
        if step > 0:
            loss = loss / accumulation
            loss.backward()
        else:
            (loss / accumulation).backward()
        if (step + 1) % accumulation == 0:
            optimizer.step()
            optimizer.zero_grad()
