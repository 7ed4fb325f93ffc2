def train(model, loader, heads, optimizer):
    for x in loader:
        total = 0.0
        for head in heads:
            loss = head(model(x)).mean()
            loss.backward(retain_graph=True)
            total += loss
        optimizer.step()
        optimizer.zero_grad()
        print(total.item())
