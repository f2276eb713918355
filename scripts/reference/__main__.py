"""`python -m scripts.reference`: writes the pages that differ from what is there."""

from pathlib import Path

from scripts.reference.pages import PAGES, page_text

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        path, text = FOLDER / page.file, page_text(page)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"wrote docs/reference/{page.file}")
    for stray in sorted(set(FOLDER.glob("*.md")) - {FOLDER / page.file for page in PAGES}):
        stray.unlink()
        print(f"removed docs/reference/{stray.name}")


if __name__ == "__main__":
    main()
