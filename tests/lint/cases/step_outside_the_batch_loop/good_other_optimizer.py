def train(gen, critic, loader, opt_g, opt_c, epochs):
    for epoch in range(epochs):
        for x in loader:
            opt_c.zero_grad()
            critic(x).mean().backward()
            opt_c.step()
        opt_g.zero_grad()
        gen().mean().backward()
        opt_g.step()
