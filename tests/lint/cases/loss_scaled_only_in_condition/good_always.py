def train(model, loader, optimizer, accumulation):
    for step, batch in enumerate(loader):
        loss = model(batch) / accumulation
        if step % 50 == 0:
            print(loss.item() * accumulation)
        loss.backward()
        if (step + 1) % accumulation == 0:
            optimizer.step()
            optimizer.zero_grad()
