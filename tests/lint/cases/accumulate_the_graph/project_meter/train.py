from bookkeeping import Average, Last, Mean, Newest, Numbers


def train(model, loader, optimizer, criterion):
    losses, numbers, last, times = Average(), Numbers(), Last(), Average()
    total = Average()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total.update(loss, len(x))  # expect: PM543
        total.update(loss.item(), len(x))
        total.update(loss.detach())
        total.update(n=len(x), value=loss)  # expect: PM543


def train_with_others(model, loader, optimizer, criterion):
    numbers = Numbers()
    last = Last()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        numbers.update(loss, len(x))
        last.update(loss, len(x))


def train_with_a_mean(model, loader, optimizer, criterion):
    mean = Mean()
    newest = Newest()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        mean.add(loss)  # expect: PM543
        mean.add(loss.item())
        newest.add(loss)
