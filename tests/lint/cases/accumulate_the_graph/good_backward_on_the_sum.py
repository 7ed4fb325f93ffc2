def train(model, tasks, criterion, optimizer):
    total = 0.0
    for x, y in tasks:
        loss = criterion(model(x), y)
        total = total + loss
    optimizer.zero_grad()
    total.backward()
    optimizer.step()


def unrolled(model, sequence, optimizer):
    for chunk in sequence:
        loss = 0
        for x in chunk:
            step_loss = model(x).mean()
            loss += step_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
