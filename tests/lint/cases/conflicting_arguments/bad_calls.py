from torch.utils.data import DataLoader, RandomSampler, WeightedRandomSampler
from transformers import TrainingArguments


def loaders(dataset, weights):
    first = DataLoader(dataset, batch_size=4, num_workers=0, persistent_workers=True)  # expect: PM522
    second = DataLoader(dataset, batch_size=4, shuffle=True, sampler=RandomSampler(dataset))  # expect: PM522
    sampler = WeightedRandomSampler(weights, len(weights))
    third = DataLoader(dataset, 4, True, sampler=sampler)  # expect: PM522
    fourth = DataLoader(dataset, prefetch_factor=2, num_workers=0)  # expect: PM522
    return first, second, third, fourth


args = TrainingArguments("out", fp16=True, bf16=True)  # expect: PM522
