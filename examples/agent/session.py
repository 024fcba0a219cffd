"""Plays an agent that makes a plan for a patient, with the tools of `ssba mcp`, and prints the conversation.

Run it from anywhere: `python examples/agent/session.py`. A language model would choose the calls; here they
are chosen by a few lines of code, so that the conversation is the same every time.
"""

import json
import textwrap
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

SERVER = StdioServerParameters(command="ssba", args=["mcp"])
WIDTH = 100


class Conversation:
    """Calls tools and prints what is said on both sides."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def say(self, words: str) -> None:
        """Print what the agent thinks or tells the person."""
        print(f"\n{textwrap.fill(words, WIDTH)}")

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, print the call and the text of its answer, and return the structured content."""
        shown = ", ".join(f"{name}={json.dumps(value)}" for name, value in arguments.items())
        print()
        print(textwrap.fill(f"-> {tool}({shown})", WIDTH, subsequent_indent="   "))
        result = await self._client.call_tool(tool, arguments)
        for line in text_of(result).splitlines():
            print(textwrap.fill(line, WIDTH, initial_indent="<- ", subsequent_indent="   "))
        if result.is_error or result.structured_content is None:
            raise SystemExit(f"{tool} failed")
        content: dict[str, Any] = result.structured_content
        return content


def text_of(result: CallToolResult) -> str:
    """Return what a tool's answer says to a language model."""
    return "\n".join(one.text for one in result.content if isinstance(one, TextContent))


def relaxed(why: dict[str, Any]) -> list[str]:
    """Return the constraints of a search with the first relaxation that is enough in place."""
    best = next(one for one in why["why_not"]["relaxations"] if one["flips"])
    instead = dict(zip(best["constraints"], best["relaxed"], strict=True))
    asked = [instead.get(one, one) for one in why["explanation"]["constraints"]]
    return [one for one in asked if one is not None]


async def main(server: StdioServerParameters = SERVER) -> None:
    """Play the session."""
    async with Client(server) as client:
        talk = Conversation(client)
        tools = [one.name for one in (await client.list_tools()).tools]
        print(f"Connected. Tools: {', '.join(tools)}")

        talk.say("Person: What could the 60 year old man with a cholesterol of 253 do about his diagnosis?")
        rows = await talk.call("find_rows", where={"age": 60, "sex": "male", "chol": 253})
        row = rows["rows"][0]["row"]

        talk.say("Person: His blood pressure should not fall below 104.")
        wish = ["trestbps >= 104"]
        await talk.call("check_constraints", row=row, constraints=wish)

        found = await talk.call("find_counterfactual", row=row, constraints=wish)
        if found["explanation"]["status"] == "bounded":
            talk.say("Agent: Under these constraints there is no way. What is in the way?")
            why = await talk.call("why_not", row=row, constraints=wish)
            talk.say("Agent: A little more fitness would be enough. Person: He agrees to that.")
            asked = {"project_constraints": False, "constraints": relaxed(why)}
            await talk.call("make_plan", row=row, **asked)
        talk.say("Agent: This is the plan, step by step; the caution belongs to it.")


if __name__ == "__main__":
    anyio.run(main)
