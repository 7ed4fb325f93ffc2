import torch


def rank(matcher, pairs):
    scores = matcher(torch.LongTensor(pairs))
    scores.detach()  # expect: PM501
    scores = scores.data
    scores = scores.cpu().numpy()
    return scores.argsort()
