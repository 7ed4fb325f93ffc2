import torch


def run(policy, dataloader):
    for sample in dataloader:
        rms = torch.optim.RMSprop(params=policy.parameters(), lr=1e-4)  # expect: PM540
        value = policy(sample).mean()
        value.backward()
        rms.step()
        rms.zero_grad()
