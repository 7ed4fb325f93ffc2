import torch
import torch.nn.utils as utils

model = torch.nn.Linear(8, 2).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
amp_scaler = torch.cuda.amp.GradScaler()

for x, y in batches:
    with torch.cuda.amp.autocast():
        loss = torch.nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    amp_scaler.scale(loss).backward()
    utils.clip_grad_value_(model.parameters(), 0.5)  # expect: PM530
    amp_scaler.unscale_(opt)
    amp_scaler.step(opt)
    amp_scaler.update()
