def step(net, x, y, loss_fn, opt):
    opt.zero_grad()
    loss = loss_fn(net(x), y)
    loss = loss.detach().requires_grad_()  # expect: PM553
    loss.backward()
    opt.step()
