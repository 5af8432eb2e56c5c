"""How sure is the ranking of systems? Intervals of places, from few judgements.

python examples/how_sure.py
"""

import qrowd as q

made = q.simulate(topics=10, documents=40, assessors=15, votes=3, runs=6, seed=4)
merged = q.DawidSkene().fit(made.judgements)

# Score every system under 500 qrels drawn from what is believed: what differs is doubt.
by_draw = q.evaluate(made.runs, merged.draws(500, seed=1), [q.AP])
print(q.intervals(by_draw, over="both"))  # over judgements and topics

q.save(q.intervals(by_draw), "intervals.tsv")
