"""Merge the judgements of a crowd into qrels, and check them against gold.

python examples/merge_and_score.py
"""

import qrowd as q

# A crowd whose truth is known. With files: crowd = q.read_judgements("crowd.tsv"), and so on.
made = q.simulate(topics=10, documents=50, assessors=20, votes=5, seed=1)
crowd, gold = made.judgements, made.gold

for method in (q.MajorityVote(), q.DawidSkene()):
    merged = method.fit(crowd)
    scores = q.score_labels(merged, gold)
    low, high = scores.interval("accuracy")
    print(f"{method!r}: accuracy {scores['accuracy']:.3f} [{low:.3f}, {high:.3f}] over topics")

# Gold for some topics helps; what was given is never scored.
train, test = gold.topics.split(0.3, seed=7)
merged = q.DawidSkene().fit(crowd, q.Given(gold=gold[train]))
print(f"with gold for {len(train)} topics: {q.score_labels(merged, gold[test])['accuracy']:.3f}")

q.save(merged.qrels(), "merged.qrels")  # TREC's four columns
q.save(merged, "merged.tsv")  # a probability for each grade
