"""The command line: one file per verb, or per family of verbs; parse, call, print."""
