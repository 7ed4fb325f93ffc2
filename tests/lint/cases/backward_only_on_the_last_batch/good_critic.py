def train(gen, critic, loader, opt_g, opt_c, n_critic):
    for i, x in enumerate(loader):
        opt_c.zero_grad()
        critic(x).mean().backward()
        opt_c.step()
        if i % n_critic == 0:
            opt_g.zero_grad()
            loss = -critic(gen(x)).mean()
            loss.backward()
            opt_g.step()
