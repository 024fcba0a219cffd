"""CPU seconds that `import ssba` costs beyond the numpy and scipy it uses.

Run as `python -m benchmarks.import_time`; the promise is a quarter of a second at most.
"""

import statistics
import subprocess
import sys

RUNS = 5

LIST_SCIPY_PARTS = """
import sys, ssba
parts = {".".join(name.split(".")[:2]) for name in sys.modules if name.startswith("scipy.")}
print(*sorted(part for part in parts if not part.startswith("scipy._")))
"""

TIME_IMPORT = """
import importlib, sys, time
for name in sys.argv[1:]:
    importlib.import_module(name)
start = time.process_time()
import ssba
print(time.process_time() - start)
"""


def main() -> None:
    # scipy loads its parts on demand, so "beyond scipy" means beyond those that ssba asks for
    known = ["numpy", "scipy", *python(LIST_SCIPY_PARTS).split()]
    beyond = statistics.median(float(python(TIME_IMPORT, *known)) for _ in range(RUNS))
    alone = statistics.median(float(python(TIME_IMPORT)) for _ in range(RUNS))
    print(f"import ssba: {beyond:.2f} s of CPU beyond {', '.join(known)}; {alone:.2f} s with them")


def python(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    main()
