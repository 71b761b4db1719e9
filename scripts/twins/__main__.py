"""Write the modules of the blocking twins: `python -m scripts.twins`, from the root of the project."""

from __future__ import annotations

from scripts.twins.writing import modules


def main() -> None:
    """Write them all."""
    for path, text in modules().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
