"""Spend: what votes buy, one after the other."""
