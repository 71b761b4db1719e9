"""Run the benchmarks one after another: `python -m benchmarks [NAME ...] [-- OPTIONS]`, all of them without a name."""

from __future__ import annotations

import runpy
import sys

NAMES = (
    "append",
    "reads",
    "search",
    "branches",
    "compiling",
    "agent",
    "blocking",
    "importing",
    "tokens",
    "cache",
    "folding",
    "recall",
    "evidence",
    "memory",
    "sweep",
    "file_store",
    "disk",
    "retention",
    "blobs",
    "moving",
    "postgres",
)


def main() -> None:
    """Run those named, or all."""
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    names, options = words[:split] or NAMES, words[split + 1 :]
    unknown = [n for n in names if n not in NAMES]
    if unknown:
        sys.exit(f"No benchmark is called {unknown[0]!r}; there are {', '.join(NAMES)}.")
    for name in names:
        print(f"== {name}", flush=True)
        sys.argv = [name, *options]
        try:
            runpy.run_module(f"benchmarks.{name}", run_name="__main__")
        except SystemExit as exc:
            print(exc.code if isinstance(exc.code, str) else f"ended with {exc.code}" if exc.code else "", flush=True)


if __name__ == "__main__":
    main()
