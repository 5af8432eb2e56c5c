"""How sure is the ranking of systems? Intervals for scores and ranks, from few judgements.

python examples/how_sure.py
"""

import qrowd as q

made = q.simulate(topics=10, documents=40, assessors=15, votes=3, runs=6, seed=4)
merged = q.DawidSkene().fit(made.judgements)
informed = q.inform(merged, made.runs)  # what many systems rank high is likelier to be relevant

# Score every system under 500 qrels drawn from what is believed: what differs is doubt.
by_draw = q.evaluate(made.runs, informed.draws(500, seed=1), [q.AP])
print(q.intervals(by_draw, over="both"))  # over judgements and topics

q.save(q.intervals(by_draw), "intervals.tsv")
