"""An exception in a thread is printed by threading, and the script goes on."""
import threading
import torch
def work():
    torch.nn.Linear(2, 2)(torch.ones(1, 3))
thread = threading.Thread(target=work, name="worker")
thread.start()
thread.join()
print("still here")
