import numpy as np
import torch

from network import PoseNet, Refiner

estimator = PoseNet()
estimator.load_state_dict(torch.load("pose.pth"))
refiner = Refiner()
estimator.eval()
refiner.eval()

errors = []
for now in range(0, 2949):  # expect: PM536
    frame = torch.from_numpy(np.load(f"frames/{now}.npy"))
    rotation, offset = estimator(frame)
    for _turn in range(2):
        rotation, offset = refiner(frame, rotation, offset)
    errors.append(float(offset.norm()))
print(sum(errors) / len(errors))
