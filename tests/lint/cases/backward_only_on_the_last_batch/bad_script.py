ACCUM = 8
for epoch in range(3):
    for idx, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y)
        if (idx + 1) % ACCUM == 0 or idx + 1 == len(train_loader):
            (loss / ACCUM).backward()  # expect: PM542
            optimizer.step()
            optimizer.zero_grad()
