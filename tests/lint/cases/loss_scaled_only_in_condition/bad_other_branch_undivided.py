def train(model, loader, optimizer, accum_steps):
    for i, batch in enumerate(loader):
        loss = model(batch).loss
        if (i + 1) % accum_steps == 0:
            loss = loss / accum_steps  # expect: PM541
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        else:
            loss.backward()
