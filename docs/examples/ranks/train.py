"""What the pages about many ranks are tested with: DistributedDataParallel, on the CPU or on one GPU for each rank."""

import os

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    on_gpus = torch.cuda.is_available()
    distributed.init_process_group("nccl" if on_gpus else "gloo")
    device = f"cuda:{os.environ['LOCAL_RANK']}" if on_gpus else "cpu"
    torch.manual_seed(0)
    x = torch.randn(512, 16)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for inputs, wanted in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs.to(device)), wanted.to(device))
            loss.backward()
            optimizer.step()
        if distributed.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss.item():.3f}")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
