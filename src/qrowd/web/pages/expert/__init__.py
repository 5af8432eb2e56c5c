"""The pages of experts: a queue, a document judged blind and then decided, a topic, objections.

    ADDRESS                                  WHAT                                     MODULE
    /campaigns/NAME/experts                  what waits, topics, own decisions        queue
    /campaigns/NAME/experts/next             to the next document that waits          queue
    /campaigns/NAME/experts/topic?topic=     a whole topic, earlier decisions         queue
    /campaigns/NAME/experts/pair?topic=&doc= judge blind; then see, and decide        pair
    /campaigns/NAME/experts/original?...     a document's original, for a frame       pair
    /campaigns/NAME/experts/objections/N     an "I disagree": both sides, an answer   objections

They are made as organisers' pages are (`pages.organiser`). What judges said comes from functions
that refuse it before the expert's own judgement; no page knows anything about systems.
"""
