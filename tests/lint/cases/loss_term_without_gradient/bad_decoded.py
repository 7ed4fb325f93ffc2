import torch


def train(unet, vae, judge, loader, criterion, optimizer, scaler, weight):
    for batch in loader:
        image = batch["image"].cuda()
        wanted = batch["wanted"].to("cuda")
        noise = unet(image)
        losses = criterion(noise, image)
        with torch.no_grad():
            picture = vae.decode(noise)
            seen = judge(picture)
        meaning = criterion.semantic_loss(seen, wanted)
        losses["total"] = losses["total"] + weight * meaning  # expect: PM567
        optimizer.zero_grad()
        scaler.scale(losses["total"]).backward()
        scaler.step(optimizer)
        scaler.update()


def train_name(net, frozen, loader, optimizer):
    for x, y in loader:
        out = net(x)
        loss = torch.nn.functional.mse_loss(out, y)
        with torch.no_grad():
            features = frozen(out)
            wanted = frozen(y)
        loss += torch.nn.functional.l1_loss(features, wanted)  # expect: PM567
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
