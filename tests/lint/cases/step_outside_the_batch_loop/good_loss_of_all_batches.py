import torch


def summed(model, loader, criterion, optimizer):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        total = total + criterion(model(x), y)
    total.backward()
    optimizer.step()


def summed_in_two_lines(model, loader, criterion, optimizer):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        total += criterion(model(x), y)
        loss = total / len(loader)
    loss.backward()
    optimizer.step()


def collected(model, loader, criterion, optimizer):
    outputs = []
    for x, y in loader:
        optimizer.zero_grad()
        outputs.append(model(x))
        loss = criterion(torch.cat(outputs), y)
    loss.backward()
    optimizer.step()


def recurrent(cell, train_loader, criterion, optimizer, state):
    for x, y in train_loader:
        optimizer.zero_grad()
        out, state = cell(x, state)
        loss = criterion(out, y)
    loss.backward()
    optimizer.step()


def new_loss(model, loader, criterion, optimizer, x):
    for batch, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(batch), y)
        loss.backward()
        optimizer.step()
    loss = model(x).sum()
    loss.backward()
    optimizer.step()


def one_search_step(model, candidates, criterion, optimizer):
    for candidate in candidates:
        optimizer.zero_grad()
        loss = criterion(model(candidate))
        if loss > 1:
            break
    loss.backward()
    optimizer.step()


def in_a_helper(model, loader, optimizer, fit_one):
    for batch in loader:
        optimizer.zero_grad()
        loss = fit_one(model, batch, optimizer)
    loss.backward()
    optimizer.step()


def fit_one(model, batch, optimizer):
    loss = model(batch)
    loss.backward(retain_graph=True)
    optimizer.step()
    return loss
