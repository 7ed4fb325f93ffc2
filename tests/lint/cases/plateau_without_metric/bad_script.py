import torch.optim as optim
import torch.optim.lr_scheduler as schedulers

optimizer = optim.SGD(net.parameters(), lr=0.1)
plateau = schedulers.ReduceLROnPlateau(optimizer, "max")
for epoch in range(10):
    accuracy = run(net, optimizer)
    plateau.step()  # expect: PM535
