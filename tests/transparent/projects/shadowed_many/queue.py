WHO = "queue of the user's own"
from collections import deque as Queue
class Empty(Exception):
    pass
class Full(Exception):
    pass
LifoQueue = PriorityQueue = SimpleQueue = Queue
