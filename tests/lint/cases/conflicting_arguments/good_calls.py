from torch.utils.data import DataLoader, DistributedSampler, RandomSampler
from transformers import TrainingArguments


def loaders(dataset, workers, distributed, own_sampler):
    first = DataLoader(dataset, num_workers=4, persistent_workers=True, prefetch_factor=2)
    second = DataLoader(dataset, num_workers=workers, persistent_workers=True)
    sampler = DistributedSampler(dataset) if distributed else None
    third = DataLoader(dataset, shuffle=sampler is None, sampler=sampler)
    fourth = DataLoader(dataset, shuffle=True, sampler=sampler)
    fifth = DataLoader(dataset, shuffle=False, sampler=RandomSampler(dataset))
    sixth = DataLoader(dataset, shuffle=True, sampler=own_sampler)
    seventh = DataLoader(dataset, num_workers=0, persistent_workers=False)
    eighth = DataLoader(dataset, num_workers=0, prefetch_factor=None)
    return first, second, third, fourth, fifth, sixth, seventh, eighth


args = TrainingArguments("out", fp16=True, bf16=False)
