"""Robots that judge over HTTP as people do: the dry run of a campaign, and its load test."""
