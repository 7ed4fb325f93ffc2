from premortem.events import Event, GraphWalked


def run(*misread: str) -> list[Event]:
    return [
        GraphWalked(step=n, parameters=(1,), other_leaves=0, ops=("Add",), misread=one)
        for n, one in enumerate(misread)
    ]


EVENTS = run("logarithm", "logarithm")
VARIANCE = run("variance", "variance")
HEALTHY = [run("", "", ""), run("logarithm", "")]
