def train(netG, netD, loader, optimizerG, optimizerD, criterion):
    for real, noise, ones, zeros in loader:
        optimizerG.zero_grad()
        fake = netG(noise)
        g_loss = criterion(netD(fake), ones)
        g_loss.backward()
        optimizerD.zero_grad()
        optimizerG.step()
        d_loss = criterion(netD(real), ones) + criterion(netD(fake.detach()), zeros)
        d_loss.backward()
        netG.zero_grad()
        optimizerD.step()
