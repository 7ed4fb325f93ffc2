from premortem.events import CollectiveCall, CollectivesApart

SUM = "4 x float32"
EVENTS = [
    CollectivesApart(
        step=6,
        number=7,
        calls=[
            CollectiveCall(0, "all_reduce", SUM, "train.py", 12),
            CollectiveCall(1, "broadcast", f"{SUM} root 0", "train.py", 15),
        ],
    )
]
HEALTHY = [[CollectivesApart(step=6, number=7, calls=[CollectiveCall(0, "barrier", "", "train.py", 12)])]]
