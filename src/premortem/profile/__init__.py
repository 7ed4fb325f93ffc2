"""What flows into a run, as a few kilobytes of plain numbers.

facts.py      a profile: what is known of one stream of samples (a loader, a model's input, a file); goes into events
sample.py     a coordinated sample of rows, from which a profile is made; two samples can be merged and compared
alone.py      questions that one profile answers: collapsed, constant, placeholders, a column that is the target
between.py    questions that two profiles answer: rows in both, classes in one, shifted, rescaled and exchanged columns
joint.py      how columns go together, and the one column that goes with others in only one of two streams
lone.py       the one column in which two files differ that agree in all others
wording.py    the same sentences for a run and for `premortem check`

Pure: no torch, no numpy, no files. Probes and the readers of `check` hand in rows as lists of numbers.

One sample serves all questions: of the rows, those with the smallest hashes are kept. Equal rows have equal hashes, so the
samples of two streams hold the same rows where the streams do, whatever the order and the amount; that is what a theta
sketch does, but a sketch of a library (Apache DataSketches was looked at: native code and numpy, 4 MB) keeps hashes and no
rows, and columns that belong together, or to a target, could not be asked for afterwards.
"""
