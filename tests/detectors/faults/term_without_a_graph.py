from premortem.events import Group, OptimizerBuilt
from tests.detectors.rehearsal import Rehearsal, line, link


def run(steps=5, *, aside=True, with_a_graph=None, rest=lambda value: 0.5 * value):
    play = Rehearsal()
    play.optimizer(1, 2)
    for step in range(steps):
        play.zero()
        play.forward()
        graph = step == with_a_graph
        value = 2 - 0.1 * step
        play.loss(value, fn="kl_div", at=25, grad=graph, aside=aside and not graph)
        play.loss(at=26)
        play.walk(1, 2, constant=True, rest=rest(value))
        play.backward()
        play.stepped()
    return play.end()


def of_a_gradient(at):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(3):
        play.zero()
        play.forward()
        play.walk(1, 2, constant=at is not None, plain_gradients=at)
        play.backward()
        play.stepped()
    return play.end()


def of_weights(at, *, decay=0.0, shifted=False):
    play = Rehearsal()
    groups = (Group(0.01, decay, 0.9, (1, 2)),)
    play.add(OptimizerBuilt(step=0, at=line(10), optimizer=1, kind="SGD", groups=groups))
    for step in range(6):
        play.zero()
        play.forward()
        play.walk(1, 2, constant=True, plain_weights=at if step < 2 else None)
        play.backward()
        play.stepped()
        play.custody(link(1, "model.weight", shifted=shifted and step > 0))
    return play.end()


EVENTS = run()
OF_WEIGHTS = of_weights(line(35))
OF_A_GRADIENT = of_a_gradient(line(17))
# The optimizer or the script itself shrinks the weights, and the term shows how far.
HEALTHY = [of_weights(None), of_weights(line(35), decay=0.01), of_weights(line(35), shifted=True)]
HEALTHY += [of_a_gradient(None), run(aside=False), run(2), run(with_a_graph=1)]
# Only printed, beside a loss that begins with 0., or a margin, or that has a term nobody knows.
HEALTHY += [run(rest=lambda _: 0.0), run(rest=lambda _: 0.1), run(rest=lambda _: None)]
