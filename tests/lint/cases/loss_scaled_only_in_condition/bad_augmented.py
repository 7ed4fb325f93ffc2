def train(model, loader, optimizer, gradient_accumulation_steps):
    for step, batch in enumerate(loader):
        loss = model(batch)
        if step % 100 == 0:
            loss /= gradient_accumulation_steps  # expect: PM541
            print(step, loss.item())
        loss.backward()
        if step % gradient_accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
