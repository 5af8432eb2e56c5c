"""Crowds, pools and runs with known truth."""
