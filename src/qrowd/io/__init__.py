"""FILE <-> NOUN: what is written is read back identically.

Reading (a path, a folder, a glob, `-` for stdin, several of these, a pandas or Polars frame):

    read_judgements(source, *, columns=None, format=None, scale=None, relevant_from=1) -> Judgements
    read_qrels(source, *, columns=None, format=None) -> Qrels
    read_pairs(source) -> Pairs
    read_runs(source, *, names="auto" | "tag" | "file", format=None) -> RunSet
    read_scores(source, *, format=None) -> Scores
    read_assessors(source, *, format=None) -> AssessorTable
    read_probabilities(source, *, format=None, relevant_from=1) -> Merged

Writing (beside, then renamed: all or nothing; the suffix says the form):

    save(noun, path, *, ties=None, seed=0, format="")
    save_table({"run": [...], "AP": [...]}, path)       in `qrowd.io.save`
    write(path, text)  whole or not at all, in `qrowd.io.atomic`

A bad file raises `FormatError`, which names the file, the line, and what to do.
"""
