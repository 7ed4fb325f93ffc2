import torch
import torch.nn.functional as F

logits = torch.randn(4, 3, requires_grad=True)
labels = torch.tensor([0, 1, 2, 0])
probabilities = logits.softmax(dim=1)
loss = F.cross_entropy(probabilities, labels)  # expect: PM517
loss.backward()
