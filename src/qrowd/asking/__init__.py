"""ASK: machine judges over the chat interface that most servers speak, or by files.

prompts     what a judge is asked, a file each: template, scale, how its answer is read
questions   one question: its key, what is sent, what it costs at most
answers     what a server said, read strictly: a grade, or missing with a reason
journal     what was sent and answered, appended and synced; money and what is done
client      questions over HTTP: many at a time, retries, limits
session     judges and what they are asked about: by a server or by files, and what came of it
probes      made documents by which a judge shows what it falls for
"""
