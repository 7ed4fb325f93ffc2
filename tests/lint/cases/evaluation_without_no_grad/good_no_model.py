import torch


class AveragePower:
    """Has no model: the function that is named after networks is its own."""

    def evaluate(self, loader):
        seen = {}
        for data in loader:
            seen[self._canonical_network_key(data)] = torch.mean(data)
        return seen

    def _canonical_network_key(self, data):
        return tuple(data.shape)


def evaluate_files(loader, model_path):
    return [model_path(one) for one in loader]
