"""CONTRAST: numbers against numbers, labels against gold."""
