"""The store and its guarantees: tables, rules between them, versions, copies."""
