from premortem.detectors.base import FADING, THRICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import GraphWalked


class StateCutAtEveryStep(Detector):
    """A recurrent cell is given its own last state without its graph, at every step in time: the gradient goes back one step.

    ## Why it matters
    Back-propagation through time is what teaches a recurrent network to keep something. Without it the cell never learns that what it
    writes into its state now is needed later; the loss falls as far as the last input goes.

    ## Usual causes
    `h = h.detach()` (or `repackage_hidden(h)`, or `.data`) inside the loop over time, where it is meant for the beginning of each chunk
    of a long sequence; a `detach()` that was to silence "Trying to backward through the graph a second time".

    ## What to do
    Detach the state once before the loop, between two backward passes, and hand it on with its graph inside the loop.

    ## How it is measured
    In audited steps each call of an `nn.RNNCell`, `nn.GRUCell`, `nn.LSTMCell`, and of an `nn.RNN`, `nn.GRU` or `nn.LSTM` with one moment, is looked
    at: its state has the memory of what an earlier call has made with a graph, and no graph itself. So it is in all calls of a pass
    but the first, at least three, in three steps whose loss comes from that cell, and never otherwise.

    ## When it stays silent
    Truncated back-propagation through time, where a backward pass lies between, or where only some steps are cut; a state of which one part
    has its graph (the `c` of an LSTM), or whose graph comes in by the input; new states; the same input again (refinement); steps under
    `no_grad`; calls of a model that are given a new tensor each (an agent in its world), and cells that are written by hand.
    """

    card = Card("PM162", "state-cut-at-every-step", "grad-flow", Severity.ERROR).explaining(*FADING)
    listens = (GraphWalked,)

    def observe(self, event: GraphWalked) -> Findings:
        for each in event.handed:
            cut = self.always(each.layer, not each.kept) and each.cut >= THRICE
            if cut and self.different(each.layer, event.step) >= THRICE and self.once(each.layer):
                yield self.finding(
                    event,
                    f"the state of `{each.layer}` ({each.kind}) has no graph in any of its {each.cut} steps after the first: the "
                    "gradient goes back one step in time",
                    cause="The call before made this state with a graph, which was taken off inside the loop over time.",
                    remedy="Detach the state before the loop, not inside of it.",
                    at=each.at,
                    module=each.layer,
                    certainty=Certainty.PROVED,
                    cut=each.cut,
                )
