"""BELIEF: hidden grades and weights, estimated."""
