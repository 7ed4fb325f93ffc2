import threading
import torch
found = []
def work():
    import secrets
    found.append(secrets.TOKEN)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(found, torch.ones(1).item())
