import torch
import torch.nn.functional as F

model = torch.nn.Linear(10, 2).cuda()
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.cuda.amp.GradScaler()

for epoch in range(10):
    for x, y in train_loader:
        with torch.cuda.amp.autocast():
            loss = F.cross_entropy(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # expect: PM531
    print(epoch, loss.item())
