def train(block, loader, optimizer):
    for x in loader:
        optimizer.zero_grad()
        block.module(x).sum().backward()
        optimizer.step()
