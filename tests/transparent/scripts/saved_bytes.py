"""Files are the same, byte for byte: zip and legacy, by path and by file object."""
import hashlib
import os
import torch
torch.manual_seed(3)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
torch.save(state, "zip.pt")
torch.save(state, "legacy.pt", _use_new_zipfile_serialization=False)
with open("object.pt", "wb") as file:
    torch.save(state, file)
torch.save(state, "zip.pt")
os.replace("legacy.pt", "renamed.pt")
for name in ("zip.pt", "renamed.pt", "object.pt"):
    data = open(name, "rb").read()
    same = hashlib.sha256(data).hexdigest() if name != "renamed.pt" else "the legacy format holds addresses"
    print(name, len(data), same, oct(os.stat(name).st_mode), b"premortem" in data)
    print(torch.load(name, weights_only=True)["epoch"])
