"""How the command `ssba` leaves."""

REFUSED = 1
USAGE = 2
BROKEN = 3
NO_ANSWER = 4
INTERRUPTED = 130
UNREAD = 141
TERMINATED = 143

MEANING = (
    "Exit codes: 0 done, 1 refused with one line on stderr, 2 wrong usage or a missing extra, 3 verified "
    "points no longer hold, 4 no counterfactual was found, 130 interrupted, 141 nobody reads the output any "
    "more, 143 terminated."
)
