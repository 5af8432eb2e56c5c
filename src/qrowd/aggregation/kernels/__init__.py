"""Compiled inner loops of the merging methods; imported by the methods when they fit."""
