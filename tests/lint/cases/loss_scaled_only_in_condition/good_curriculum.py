def train(model, loader, optimizer, epochs, temperature):
    for epoch in range(epochs):
        for batch in loader:
            loss = model(batch)
            if epoch < 5:
                loss = loss / temperature
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
