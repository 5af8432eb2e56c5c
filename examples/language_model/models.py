"""Two made language models behind the chat interface, on 127.0.0.1: `python models.py [PORT]`.

They stand for real ones in the tutorial, and read no more than words: `careful` looks for those of
the topic's description in the text, `quick` only for those of the query, so that it takes a text
that repeats the query for an answer.
"""

from __future__ import annotations

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BOUNDS = {"careful": (0.01, 0.025, 0.035), "quick": (0.006, 0.015, 0.025)}


def grade(model: str, prompt: str) -> int:
    """0 to 3, by how many words of the text are those that the model looks for."""
    question, text = re.split(r"(?m)^=+$", prompt)[:2]
    query, _, more = question.split("searched for:")[1].partition("They explain:")
    wanted, described = set(query.split()), set(re.findall(r"\w+", more))
    if model == "careful":
        wanted = described - wanted
    words = re.findall(r"\w+", text)
    share = sum(word in wanted for word in words) / max(len(words), 1)
    return sum(share > bound for bound in BOUNDS[model])


class Models(BaseHTTPRequestHandler):
    """POST /v1/chat/completions, and nothing else."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a question."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = asked["messages"][-1]["content"]
        said = json.dumps({"grade": grade(asked["model"], prompt)})
        body = json.dumps(
            {
                "model": f"{asked['model']}-1",
                "choices": [{"message": {"content": said}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": len(prompt) // 4, "completion_tokens": 6},
            }
        ).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    ThreadingHTTPServer(("127.0.0.1", port), Models).serve_forever()
