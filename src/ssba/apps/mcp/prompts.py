"""The prompt `treatment_plan`: it leads an agent from a row to a plan that is told with its caution."""

from collections.abc import Mapping
from typing import Any

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp_types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from ssba.apps.mcp.descriptions import unwrapped
from ssba.apps.service import Service

TREATMENT_PLAN = Prompt(
    name="treatment_plan",
    title="From a row to a plan",
    description="Leads from one row of the data (a patient, a customer) to a plan of feasible steps toward "
    "the desired outcome, told in plain words with the caution. Give either row or description.",
    arguments=[
        PromptArgument(name="row", description="The number of the row, counted from 0."),
        PromptArgument(name="description", description="Words that tell which row is meant."),
        PromptArgument(name="wishes", description="What the person wants or refuses, in plain words."),
    ],
)

_LEARN = "Call describe_model, and read the resource ssba://constraints before you write a constraint."
_SEARCH = "Call find_counterfactual with the row and the constraints."
_RELAX = unwrapped("""
    If it ends bounded or infeasible, call why_not with the same arguments. Tell the person what is in the
    way and which relaxations would be enough, and ask which of them is acceptable; never relax a fact
    such as age on your own. Ask again with the relaxed constraints.
""")
_PLAN = unwrapped("""
    Call make_plan with the arguments that worked; if none did, with the first ones: the plan then leads
    as far as it can.
""")
_TELL = unwrapped("""
    Tell the plan in plain words: the steps in order with present and new values and units, what the model
    says before and after, and whether the desired outcome is reached. Say "smallest" only where
    evidence.proof is set; otherwise say "the smallest found". Invent no numbers, no causes and no
    treatment that the tools did not give.
""")


class Prompts:
    """Lists and writes the prompts."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def list(
        self, context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        """List the prompts."""
        return ListPromptsResult(prompts=[TREATMENT_PLAN])

    async def get(
        self, context: ServerRequestContext[Any], params: GetPromptRequestParams
    ) -> GetPromptResult:
        """Write one."""
        if params.name != TREATMENT_PLAN.name:
            raise MCPError(
                INVALID_PARAMS, f"there is no prompt {params.name!r:.80}; there is {TREATMENT_PLAN.name}"
            )
        text = treatment_plan(self._service, _checked(params.arguments or {}))
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(description=TREATMENT_PLAN.description, messages=[message])


def _checked(arguments: Mapping[str, str]) -> dict[str, str]:
    known = [one.name for one in TREATMENT_PLAN.arguments or []]
    if strangers := [name for name in arguments if name not in known]:
        raise MCPError(
            INVALID_PARAMS,
            f"{strangers[0]!r:.80} is not an argument of {TREATMENT_PLAN.name}; there are {', '.join(known)}",
        )
    given = {name: value.strip() for name, value in arguments.items() if value.strip()}
    if ("row" in given) == ("description" in given):
        raise MCPError(INVALID_PARAMS, f"{TREATMENT_PLAN.name} takes either row or description")
    if "row" in given and not given["row"].isdecimal():
        raise MCPError(INVALID_PARAMS, f"row is {given['row']!r:.40}; give its number, counted from 0")
    return given


def treatment_plan(service: Service, given: Mapping[str, str]) -> str:
    """Write what an agent is to do, step by step."""
    about = service.describe()
    caution = f'End with this caution, word for word: "{about.caution}"'
    steps = (_LEARN, _find(given), _wishes(given), _SEARCH, _RELAX, _PLAN, _TELL, caution)
    numbered = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))
    which = f"row {given['row']}" if "row" in given else f'the row described as "{given["description"]}"'
    title = f" ({about.title})" if about.title else ""
    return f"Make a plan that leads {which} to {about.target}{title}, with these tools.\n\n{numbered}"


def _find(given: Mapping[str, str]) -> str:
    if "row" in given:
        return f"Call predict with row={given['row']} to see the row and what the model says about it."
    return "Call find_rows to find the row; if several match, ask which one is meant. Then call predict."


def _wishes(given: Mapping[str, str]) -> str:
    if "wishes" in given:
        return (
            f'Write these wishes as constraints: "{given["wishes"]}". Test them with check_constraints. '
            "Mention a wish that no constraint can say in the plan."
        )
    return (
        "Ask the person what must not change, or is out of the question; write that as constraints, and test "
        "them with check_constraints."
    )
