"""What errors call the choices of whoever started a run: arguments in Python, options in a terminal."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """`out` names the output, `force` is how to begin anew, `on_error` how to go on without a bad row."""

    out: str
    force: str
    on_error: str


IN_PYTHON = Words("out", "give ssba.run.Output(out, force=True)", 'give ssba.run.Output(out, on_error="row")')
IN_TERMINAL = Words("--out", "add --force", "add --on-error row")
