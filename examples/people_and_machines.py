"""Human and machine judges together: who is worth listening to?

python examples/people_and_machines.py
"""

import qrowd as q

people = q.simulate(topics=10, documents=40, assessors=12, votes=3, seed=2)
machines = q.simulate(
    topics=10, documents=40, assessors=4, votes=4, good=0.5, random=0.25, yes=0.25, seed=2
)
rows = [("person", people), ("machine", machines)]

# One table with all of them; assessors keep apart by name.
topics, documents, assessors, grades = [], [], [], []
for kind, made in rows:
    frame = made.judgements.to_polars()
    topics += frame["topic"].to_list()
    documents += frame["doc"].to_list()
    assessors += [f"{kind} {name}" for name in frame["assessor"]]
    grades += frame["grade"].to_list()
crowd = q.Judgements.of(topics, documents, assessors, grades)

# Who agrees with whom, and whose answers carry information?
print(q.agreement(crowd, bootstrap=200))
table = q.assessors(crowd, merge=q.DawidSkene())
for name in ("judgements", "type", "est_sensitivity", "est_specificity"):
    print(name, dict(zip(table.assessors, table[name].tolist(), strict=True)))

# Leave out whoever answers without looking, and see what that changes.
screened = q.screen(crowd, [q.RandomSpam(), q.UniformSpam()], merge=q.DawidSkene())
print(screened)
