def train(model, loader, criterion, optimizer, epochs, accum_steps):
    for epoch in range(1, epochs + 1):
        for bi, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            if epoch == 1 and bi == 0:
                print("first loss", loss.item())
                loss = loss / accum_steps  # expect: PM541
            loss.backward()
            if (bi + 1) % accum_steps == 0:
                optimizer.step()
                optimizer.zero_grad()
