"""Saves that are not ordinary: a link, a read-only file, a device, a pipe, relative paths after chdir."""
import os
import threading
import torch
thing = {"x": torch.arange(3)}
os.makedirs("real/deep")
torch.save(thing, "real/a.pt")
os.symlink("real/a.pt", "link.pt")
torch.save(thing, "link.pt")
print(os.path.islink("link.pt"), os.path.samefile("link.pt", "real/a.pt"))
os.link("real/a.pt", "hard.pt")
torch.save(thing, "real/a.pt")
print(os.stat("real/a.pt").st_nlink)
torch.save(thing, "/dev/null")
os.mkfifo("pipe")
reader = threading.Thread(target=lambda: print("read", len(open("pipe", "rb").read()) > 100))
reader.start()
torch.save(thing, "pipe")
reader.join()
os.chdir("real/deep")
torch.save(thing, "../b.pt")
print(sorted(os.listdir("..")))
os.umask(0o077)
torch.save(thing, "private.pt")
print(oct(os.stat("private.pt").st_mode), oct(os.umask(0o022)))
