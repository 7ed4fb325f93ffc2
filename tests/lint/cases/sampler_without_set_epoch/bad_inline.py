import torch
import torch.distributed as dist


def main(model, train_set, optimizer):
    dist.init_process_group("nccl")
    loader = torch.utils.data.DataLoader(
        train_set, 32, sampler=torch.utils.data.distributed.DistributedSampler(train_set, shuffle=True)
    )
    for epoch in range(90):  # expect: PM546
        model.train()
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
