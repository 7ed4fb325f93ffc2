from tests.detectors.rehearsal import Rehearsal, link


def run(*, right):
    """The model was copied after the optimizer was built; or the optimizer was built again (`right`)."""
    play = Rehearsal()
    play.optimizer(1, 2, 3)
    play.model("body.weight", "head.weight", first=11)
    if right:
        play.optimizer(11, 12)
    for _ in range(6):
        play.zero(cleared=())
        play.forward()
        play.loss()
        play.walk(11, 12)
        play.backward(1) if right else play.backward(9)
        owners = (1,) if right else ()
        idle = {} if right else {"backwards": 0, "with_grad": 0, "pending": 0, "parameters": 3}
        play.stepped(**idle)
        links = [link(11, "model.body.weight", owners=owners), link(12, "model.head.weight", owners=owners)]
        play.custody(*links, strangers=() if right else ((1, 0), (2, 0), (3, 0)))
    return play.end()


def worker():
    """Gradients of a local copy are put into the parameters of the shared model by hand."""
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(6):
        play.walk(11, 12)
        play.backward(9)
        play.stepped(backwards=0, touched=True)
        play.custody(link(11, "local.weight", owners=()), strangers=((1, 5), (2, 5)))
    return play.end()


EVENTS = run(right=False)
HEALTHY = [run(right=True), worker()]
