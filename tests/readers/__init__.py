"""What readers can answer from a request alone: blind cases from recorded conversations, sheets, marks, a table.

    uv run python -m tests.readers cases FOLDER --input talks.jsonl      # requests in the middle of real work
    uv run python -m tests.readers sheets FOLDER --readers 4             # once questions.json is filled in
    uv run python -m tests.readers marks FOLDER                          # once the readers' answers are in
    uv run python -m tests.readers table FOLDER                          # once marks.json is filled in

Questions and their right answers are written from the whole conversation, by someone who sees no request. A reader sees
each point under one condition only, and no one who answers or marks sees which. The offline summariser stands in for
the models that other programs ask.
"""
