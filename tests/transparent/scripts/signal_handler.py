"""Handlers of the user's are called and seen, and defaults are restored."""
import os
import signal
import torch
def handler(number, frame):
    print("got", signal.Signals(number).name)
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM):
    before = signal.signal(number, handler)
    print(before == signal.SIG_DFL)
    os.kill(os.getpid(), number)
    print(signal.getsignal(number) is handler)
torch.ones(1)
