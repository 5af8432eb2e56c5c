"""The rules of collecting judgements, on a database that keeps them; no HTTP."""
