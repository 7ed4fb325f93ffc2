def train(model, loader, optimizer, accumulation, writer):
    for step, batch in enumerate(loader):
        loss = model(batch) / accumulation
        loss.backward()
        if (step + 1) % accumulation == 0:
            optimizer.step()
            optimizer.zero_grad()
            loss = loss * accumulation
            writer.add_scalar("loss", loss.item(), step)
        if step % 10 == 0:
            mean = loss / accumulation
            print(mean)
