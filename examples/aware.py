"""Merge scores instead of judgements (AWARE): each assessor is a view of the systems.

python examples/aware.py
"""

import qrowd as q

made = q.simulate(topics=12, documents=40, assessors=8, votes=8, runs=10, seed=3)
measures = [q.AP]

by_gold = q.evaluate(made.runs, made.gold, measures)
by_each = q.evaluate(made.runs, made.judgements.by_assessor(), measures)  # one column each
train, test = made.gold.topics.split(0.4, seed=7)

uniform = q.UniformAware().fit(by_each)
supervised = q.SupervisedAware(gap="apc").fit(by_each, q.Given(reference=by_gold[train]))
merged = q.evaluate(made.runs, q.MajorityVote().fit(made.judgements).qrels(), measures)

# Which of them ranks the systems as gold does, on topics that nothing was learned from?
estimates = {"uniform": uniform, "supervised": supervised, "majority vote": merged}
print(q.compare(estimates, reference=by_gold, topics=test, bootstrap=200))
