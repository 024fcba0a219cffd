"""What the tools say about themselves: enough for an agent to use them without other help."""


def unwrapped(text: str) -> str:
    r"""Return text that was wrapped for the source; an empty line begins a paragraph.

    >>> unwrapped(" a\n b\n\n c")
    'a b\nc'
    """
    return "\n".join(" ".join(part.split()) for part in text.split("\n\n"))


_WHICH_ROW = unwrapped("""
    Say which row is meant by exactly one of `row` (its number from find_rows), `where` (values that only
    this row has) or `values` (a value for every column of the model); `set` replaces some of its values.
""")

_CONSTRAINTS = unwrapped("""
    Constraints are texts about the columns that describe_model lists; a bare column name is the new value,
    `x.name` the present one. With columns called age, income, hours and job: "age == x.age" (stays),
    "income >= x.income" (may only rise), "20 <= hours <= 40", "income within 10%", "job in {'cook',
    'clerk'}", "if job changes: age >= x.age + 1". A name with a space or a sign in it stands in backticks:
    "`debt ratio` <= 0.3". The resource ssba://constraints has the whole language. The project's own
    constraints hold, too, unless project_constraints is false.
""")

DESCRIBE_MODEL = unwrapped("""
    Says what the model predicts, which outcome is desired, what each column means, its kind, unit, range
    or levels, and which constraints hold by default. Call it first: the other tools take names of columns
    and levels as they stand here (in constraints, a name with a space or a sign in backticks).
""")

FIND_ROWS = unwrapped("""
    Finds rows of the data (patients, customers, ...) and says what the model predicts for each. `where`
    asks for exact values ({"age": 54}), `search` for words, each in some cell ("female 62"),
    `reached` for rows that are at the desired outcome already (true) or not yet (false); `offset` and
    `limit` page through the matches, of which `total` says how many there are. Use the number `row` of a
    match in the other tools.
""")

PREDICT = unwrapped(f"""
    Says what the model predicts for one row, its score, and whether that is the desired outcome. Use it
    to look at a row before a search, or with `set` to see what other values would give.

    {_WHICH_ROW}
""")

FIND_COUNTERFACTUAL = unwrapped(f"""
    Looks for the smallest feasible change of a row that gives the desired outcome. Every answer was
    checked against all constraints, and by the model itself.

    {_WHICH_ROW}

    {_CONSTRAINTS}

    `options` asks for more: k (several answers), max_changes (how many columns may change), sparsity
    ("balanced" or "strong": fewer columns for a longer change), plausible (answers near real rows),
    margin (room to spare).

    `explanation.status` says how it ended. found: the first of `counterfactuals` is the best; tell its
    changes. already_there: nothing needs to change. bounded: no feasible answer was found, and `bounded`
    is the best feasible move found, which does not reach the outcome; say so, and call why_not with the
    same arguments to learn what is in the way. infeasible: the constraints in `clash` contradict each
    other; drop or loosen one. out_of_budget: nothing was found within the budget; ask again with a larger
    one.

    `evidence` says what speaks for there being no nearer answer. Call an answer the smallest only where
    `evidence.proof` is set, otherwise the smallest found.
""")

MAKE_PLAN = unwrapped(f"""
    Puts the change that find_counterfactual finds (same arguments; it is found first) in an order of
    feasible steps, with the model's score after each. Use it when somebody asks what to do in which
    order. `answer` chooses among several answers (with options.k), `max_step` limits a step ({{"income":
    20}}), `effort` says which columns are harder to change. Where no answer was found the plan leads to
    the bounded move, and `plan.reached` is false: say that it does not reach the outcome.

    {_WHICH_ROW}

    {_CONSTRAINTS}
""")

WHY_NOT = unwrapped(f"""
    Says, after a find_counterfactual that ended bounded or infeasible (same arguments), which constraints
    are in the way, and which small relaxations were tried and are enough. Each of `why_not.relaxations`
    has `constraints` (what is relaxed), `relaxed` (the text to use instead; null: leave it out), `flips`
    (whether an answer was found with it) and the `changes` that it leads to. It searches many times, so
    it takes longer than find_counterfactual.

    Ask the person which relaxation is acceptable: some columns are facts (age, sex) that no plan can
    change. Then call find_counterfactual or make_plan with project_constraints=false and all of
    `explanation.constraints`, the relaxed one replaced.

    {_WHICH_ROW}
""")

CHECK_CONSTRAINTS = unwrapped(f"""
    Says, without asking the model, how constraints are read, which columns of a row they let change and
    how far, which of them the row itself breaks, and which contradict each other. Use it to test
    constraints that you wrote from somebody's words before you search with them.

    {_WHICH_ROW}

    {_CONSTRAINTS}
""")
