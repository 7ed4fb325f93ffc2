from torch.utils import data


def loaders(train_set, test_set, size):
    train_sampler = data.distributed.DistributedSampler(train_set)
    train_loader = data.DataLoader(train_set, batch_size=size, sampler=train_sampler)
    test_sampler = data.distributed.DistributedSampler(test_set)
    test_loader = data.DataLoader(test_set, batch_size=size, sampler=test_sampler)
    return {"train": train_loader, "test": test_loader}


def kept_in_order(train_set, size):
    sampler = data.distributed.DistributedSampler(train_set, shuffle=False)
    train_loader = data.DataLoader(train_set, batch_size=size, sampler=sampler)
    return train_loader
