"""Judgement-level methods, one paper per file: Judgements in, Merged out."""
