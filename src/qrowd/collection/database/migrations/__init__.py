"""Alembic's folder."""
