"""One figure in a process of its own, which imports the ssba that is to be measured; writes JSON to a file.

python -m benchmarks.batch.worker FIGURE OUT --queries N [--data DIR]
"""

import argparse
import json
import warnings
from dataclasses import asdict
from pathlib import Path

from benchmarks.batch.figures import FIGURES
from benchmarks.batch.measures import Setup


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("figure", choices=FIGURES)
    parser.add_argument("out", type=Path)
    parser.add_argument("--queries", type=int, required=True)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args(given)
    warnings.simplefilter("ignore")
    measured = FIGURES[options.figure].measure(Setup(options.queries, options.data))
    options.out.write_text(json.dumps(asdict(measured)))


if __name__ == "__main__":
    main()
