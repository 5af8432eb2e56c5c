"""What an organiser can do, one class an act, one module a family.

`do` changes the campaign and returns what `undo` needs to know; `undo` brings back the state
before, except where others have filled a place meanwhile (the answers are then surplus), and for a
refusal, which is undone by accepting the batch. What was paid out cannot be taken back. `foretell`
says what would follow. `record.act` finds every module of this package by itself.
"""
