"""A stand-in for a language model, for trying out the optimiser with no key: it speaks OpenAI's protocol over HTTP.

    python examples/review/stand_in.py --port 8765
    circumspect optimise review --dataset examples/review --budget 600 --start weak.md \
      --model openai:stand-in@http://127.0.0.1:8765/v1

It is not a language model. It knows the sample set by heart and does what its instructions say, and no more: it plays
an able reader with the bad habits that models have until they are told. So what it is worth depends on the prompt, the
way it does with a model, and it can be computed. What it does not show is how well real models take advice.

As a reviewer, it searches before it quotes, quotes word for word, looks for exceptions, counts days, leaves open what a
case does not say, names its facts and says how sure it is, each only if the instructions ask for it (`HABITS`). It
overlooks some of a long prompt, becomes timid when told to leave things open, and slips now and then whatever it is
told. As a writer of instructions, it reads the feedback, takes common complaints and adds a line of advice
against each, or puts it in the place of one that has not helped (`ADVICE`). Some of these lines are worth nothing and
one does harm; it does not know which. That is for the optimiser to find out.

The same request always gets the same answer: chance is a hash.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

HABITS = {
    "verbatim": r"word for word|verbatim|exact (?:words|wording|text)",
    "searches": r"policy_search|search the policy|look first|before you (?:decide|quote)",
    "exceptions": r"\bexceptions?\b",
    "limits": r"step by step|(?:limit|last day|both days)\w* (?:included|counts)|count (?:the )?days",
    "silence": r"(?:fact|case)[^.]{0,60}(?:does not (?:have|say)|absent|missing|silent)[^.]*\.?[^.]{0,80}uncertain",
    "contradiction": r"contradict|conflicting (?:passages|sentences|rules)",
    "near": r"(?:nearly|almost) the same words|another kind of case|similar sentence",
    "facts": r"name (?:the|every|all) (?:\w+ )?(?:fields?|facts?)|(?:fields?|facts?) (?:that )?you relied on",
    "calibrated": r"how likely|probability|only as sure as",
    "brash": r"be confident",
}
"""What the instructions have to say for the reviewer to do it."""

NEEDED = {
    "exception": "exceptions", "absent_fact": "silence", "boundary": "limits", "contradiction": "contradiction",
    "near_duplicate": "near",
}  # fmt: skip
"""The habit that a trap of the sample set takes."""

COMPLAINTS = {
    r"not word for word": "verbatim",
    r"policy was not searched first": "searches",
    r"hard: exception": "exceptions",
    r"hard: boundary": "limits",
    r"case does not say": "silence",
    r"hard: contradiction": "contradiction",
    r"hard: near duplicate": "near",
    r"not named as evidence": "facts",
    r"Confidence was": "calibrated",
}
"""What stands in feedback, and what it is about."""

ADVICE = {
    "verbatim": (
        "Quote the deciding sentence word for word.",
        "Take more care with quotations.",
        "Give every quote in the exact words of the document, without shortening it.",
    ),
    "searches": (
        "Use policy_search and read the section before you quote it.",
        "Know the policy well.",
        "Look first: search the policy before you decide.",
    ),
    "exceptions": (
        "Look for exceptions to a rule: they come before it.",
        "Apply rules with good judgement.",
    ),
    "limits": (
        "Compare dates and amounts step by step; the last day of a period is included.",
        "Be precise with numbers.",
    ),
    "silence": (
        "If the case does not say what decides, the verdict is UNCERTAIN.",
        "A fact that is absent is neither yes nor no: finish with UNCERTAIN.",
        "Do not guess.",
    ),
    "contradiction": (
        "Where two passages contradict each other and none prevails, finish with UNCERTAIN.",
        "Read everything.",
    ),
    "near": (
        "A sentence with nearly the same words may be about another kind of case.",
        "Choose the right section.",
    ),
    "facts": (
        "Name the facts you relied on as evidence, with their values, and speak of them in the rationale.",
        "Explain yourself.",
    ),
    "calibrated": (
        "confidence says how likely a second reader comes to the same verdict.",
        "Be confident.",
        "Be only as sure as the text makes you.",
    ),
}
FILLER = ("Be thorough.", "Take your time.", "Be helpful and concise.")

SLIPS = 0.08
TIMID = 0.06
"""Whoever is told to leave things open leaves open some that are not."""
OVERLOOKED_FROM = 2_200
"""Characters. A longer prompt is not read with the same care."""


def chance(*what: object) -> float:
    """From 0 to 1, the same for the same things."""
    return int.from_bytes(hashlib.sha256(repr(what).encode()).digest()[:8]) / 2**64


def habits(instructions: str, case: str = "", criterion: str = "") -> set[str]:
    """What the instructions make it do, in one case; of a long prompt some things are overlooked in some cases."""
    asked = {name for name, words in HABITS.items() if re.search(words, instructions, re.IGNORECASE | re.DOTALL)}
    forgets = min(0.3, max(0, len(instructions) - OVERLOOKED_FROM) / 10_000)
    return {name for name in asked if chance("overlooked", name, case, criterion) >= forgets}


class Reviewer:
    """Requests that have the reviewer's tools -> tool calls."""

    def __init__(self, folder: Path = HERE) -> None:
        lines = (folder / "labels.jsonl").read_text("utf-8").splitlines()
        self.labels = {(one["case"], one["criterion"]): one for one in map(json.loads, lines)}
        self.cases = {file.stem: json.loads(file.read_bytes()) for file in (folder / "cases").glob("*.json")}

    def answer(self, instructions: str, messages: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
        task = next(one["content"] for one in messages if one["role"] == "user")
        criterion = re.search(r"\bCriterion (\S+):", task)
        case = re.search(r"\bCase (\S+)", task)
        label = self.labels.get((case[1], criterion[1])) if case and criterion else None
        if label is None:
            return [("finish", {"status": "UNCERTAIN", "confidence": 0.5, "rationale": "I do not know this case."})]
        does = habits(instructions, label["case"], label["criterion"])
        searched = any(one["role"] == "tool" for one in messages)
        if "searches" in does and not searched:
            sections = dict.fromkeys(one["section"] for one in self._quotes(label, does))
            calls = [("policy_search", {"query": section}) for section in sections]
            return calls + [("facts_get", {"field": field}) for field in label["facts"][:2]]
        corrected = any("in no document" in str(one.get("content")) for one in messages if one["role"] == "tool")
        return [("finish", self._verdict(label, does, corrected))]

    def _masters(self, label: dict[str, Any], does: set[str]) -> bool:
        return NEEDED.get(label["trap"] or "") in {None, *does}

    def _quotes(self, label: dict[str, Any], does: set[str]) -> list[dict[str, Any]]:
        """The sentences that decide, or the rule that is overridden by what it did not look for."""
        gold: list[dict[str, Any]] = label["gold"]
        return gold[:2] if self._masters(label, does) else gold[-1:]

    def _verdict(self, label: dict[str, Any], does: set[str], corrected: bool) -> dict[str, Any]:
        pair = (label["case"], label["criterion"])
        masters, slips = self._masters(label, does), chance("slip", *pair) < SLIPS
        right = not slips and (masters or chance("luck", *pair) < 0.2)
        status = label["verdict"] if right else _other(label["verdict"], pair)
        if "silence" in does and label["trap"] != "absent_fact" and chance("timid", *pair) < TIMID:
            status = "UNCERTAIN"
        if corrected and "verbatim" not in does and chance("gives up", *pair) < 0.5:
            status = "UNCERTAIN"
        verbatim = "verbatim" in does or (corrected and status != "UNCERTAIN")
        quotes = [one["quote"] if verbatim else _retold(one["quote"]) for one in self._quotes(label, does)]
        sure = 0.99 if "calibrated" not in does or "brash" in does else 0.93 if masters and not slips else 0.66
        verdict: dict[str, Any] = {
            "status": status,
            "confidence": sure,
            "rationale": "It follows from the policy.",
            "citations": [{"quote": quote, "document": label["gold"][0]["document"]} for quote in quotes],
        }
        if "facts" in does:
            facts = self.cases[label["case"]]["facts"]
            found = {path: _value(facts, path) for path in label["facts"]}
            verdict["evidence"] = [{"field": path} for path, value in found.items() if value is not None]
            said = "; ".join(f"{path.rpartition('.')[2].replace('_', ' ')}: {value}" for path, value in found.items())
            verdict["rationale"] = f"The policy says: {quotes[0]} In the case: {said}."[:900]
        if status == "UNCERTAIN":
            verdict["reason"] = "contradiction" if label["trap"] == "contradiction" else "fact_absent"
        return verdict


def _other(verdict: str, pair: tuple[str, str]) -> str:
    return {"MET": "NOT_MET", "NOT_MET": "MET"}.get(verdict) or ("MET" if chance("guess", *pair) < 0.5 else "NOT_MET")


def _retold(quote: str) -> str:
    """The way people quote from memory."""
    words = quote.rstrip(".").split()
    return " ".join(["Roughly,", *words[1 : max(6, len(words) * 2 // 3)], "and so on"])


def _value(facts: Any, path: str) -> Any:
    for step in path.split("."):
        if isinstance(facts, list) and step.isdigit() and int(step) < len(facts):
            facts = facts[int(step)]
        elif isinstance(facts, dict) and step in facts:
            facts = facts[step]
        else:
            return None
    return facts


def chosen_sections(outline: str) -> list[str]:
    """Of an outline and what is looked for: the sections whose titles have the most of its words."""
    wanted = _words(outline.rpartition("Looked for:")[2])
    lines = re.findall(r"^\s*\[([^\]]+)\] (.*)$", outline, re.MULTILINE)
    scored = [(len(wanted & _words(title)) / (1 + len(_words(title))), id_) for id_, title in lines]
    return [id_ for score, id_ in sorted(scored, key=lambda one: -one[0])[:3] if score > 0.3]


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}|\d[\d.]*", text.lower()))


def new_instructions(question: str) -> str:
    """The instructions between the first fences, with advice against what the feedback complains of most."""
    fences = question.split("```")
    current = fences[1].strip() if len(fences) > 2 else ""
    feedback = "```".join(fences[2:])
    counts = Counter({name: len(re.findall(words, feedback)) for words, name in COMPLAINTS.items()})
    lines = current.splitlines()
    # What is complained of most comes first most of the time, not always: another example, another thought.
    ranked = sorted(
        counts, key=lambda name: chance("rank", question, name) ** (1 / counts[name]) if counts[name] else 0
    )
    for name in [name for name in reversed(ranked) if counts[name]][:2]:
        there = [line for line in ADVICE[name] if f"- {line}" in lines]
        left = [line for line in ADVICE[name] if f"- {line}" not in lines]
        if there and chance("rewrite", question, name) < 0.3:
            # What was said before has not helped.
            lines.remove(f"- {there[int(chance('old', question, name) * len(there))]}")
        if left:
            lines.append(f"- {left[int(chance('new', question, name) * len(left))]}")
    if lines == current.splitlines():
        lines.append(f"- {FILLER[int(chance('filler', question) * len(FILLER))]}")
    return "\n".join(lines)


class StandIn:
    """The server, on loopback, in a thread. `reviews` counts how often each review was begun, by its first request."""

    def __init__(self, port: int = 0, delay: float = 0.0) -> None:
        self.reviews: Counter[tuple[str, str]] = Counter()
        self.reflections = 0
        self.down = False
        """Answers every request with an error while it is set."""
        self._reviewer, self._delay, self._lock = Reviewer(), delay, threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def model(self) -> str:
        """What to give as --model."""
        return f"openai:stand-in@{self.url}"

    def __enter__(self) -> StandIn:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve(self) -> None:
        self._server.serve_forever()

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """A chat completion's message for a chat completion's request."""
        time.sleep(self._delay)
        messages = request["messages"]
        system = "\n\n".join(one["content"] for one in messages if one["role"] in ("system", "developer"))
        said = str(messages[-1].get("content"))
        if request.get("tools"):
            if not any(one["role"] == "assistant" for one in messages):
                with self._lock:
                    self.reviews[system, said] += 1
            calls = self._reviewer.answer(system, messages)
            return {"role": "assistant", "content": None, "tool_calls": [_call(*one, messages) for one in calls]}
        if "Looked for:" in said:
            return {"role": "assistant", "content": json.dumps({"sections": chosen_sections(said)})}
        if said.startswith("Document:"):
            return {"role": "assistant", "content": json.dumps({"summaries": []})}
        with self._lock:
            self.reflections += 1
        return {"role": "assistant", "content": f"```\n{new_instructions(said)}\n```"}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body in one piece: two would wait for each other on the socket.
            wbufsize = -1

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if stand_in.down:
                    self._send(400, {"error": {"message": "The stand-in is down.", "type": "invalid_request_error"}})
                    return
                message = stand_in.reply(request)
                size = [len(json.dumps(one)) // 4 for one in (request["messages"], message)]
                body = {
                    "id": "chatcmpl-stand-in",
                    "object": "chat.completion",
                    "created": 0,
                    "model": request["model"],
                    "choices": [
                        {
                            "index": 0,
                            "message": message,
                            "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
                        }
                    ],
                    "usage": {"prompt_tokens": size[0], "completion_tokens": size[1], "total_tokens": sum(size)},
                }
                self._send(200, body)

            def _send(self, status: int, body: dict[str, Any]) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                self.wfile.flush()

            def log_message(self, *what: object) -> None:
                pass

        return Handler


def _call(tool: str, arguments: dict[str, Any], messages: list[dict[str, Any]]) -> dict[str, Any]:
    id_ = hashlib.sha256(repr((tool, arguments, len(messages))).encode()).hexdigest()[:12]
    return {
        "id": f"call_{id_}",
        "type": "function",
        "function": {"name": tool, "arguments": json.dumps(arguments)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    given = parser.parse_args()
    server = StandIn(given.port, given.delay)
    print(f"--model {server.model}", flush=True)
    server.serve()


if __name__ == "__main__":
    main()
