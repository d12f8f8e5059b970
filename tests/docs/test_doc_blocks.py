"""Every command and Python block of README.md and docs/*.md is run. The rules for writers: tests/doc_blocks.py."""

from __future__ import annotations

from pathlib import Path

import pytest

import doc_blocks
from doc_blocks import Block, Wrong, blocks, pages, run_page, same


@pytest.mark.parametrize("page", [page.relative_to(doc_blocks.ROOT).as_posix() for page in pages() if page.exists()])
def test_a_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    done = run_page(doc_blocks.ROOT / page, tmp_path)
    said = [
        "\n".join([f"{block.place}: `{command.text}` printed", *printed, "and not", *command.output])
        for block, command, printed in done.differences
    ]
    assert not said, "\n\n".join([*said, f"python tests/doc_blocks.py --write {page}"])


def test_little_python_is_not_run() -> None:
    left = [block for page in pages() if page.exists() for block in blocks(page)]
    left = [block for block in left if block.not_run is not None and block.language in ("python", "pycon")]
    assert len(left) <= doc_blocks.NOT_RUN_PYTHON, [block.place for block in left]


# -- the checks themselves ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("seconds  ...", "seconds 0.12"),
        ("mean -2326.82114416889", "mean    -2326.8211441688886"),
        ("a\n...\nb", "a\nx\ny\nb"),
        ("a\n...\nb", "a\nb"),
        ("a (... s)", "a (12 s)"),
        ("a", "a\n\n"),
    ],
)
def test_outputs_that_agree(shown: str, printed: str) -> None:
    assert same(shown.splitlines(), printed.splitlines())


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a", "b"),
        ("a", "a\nb"),
        ("a\nb", "a"),
        ("T 10", "T 11"),
        ("x 1.5", "x 1.6"),
        ("a\n...\nb", "a\nx"),
        ("...a", "b"),
    ],
)
def test_outputs_that_differ(shown: str, printed: str) -> None:
    assert not same(shown.splitlines(), printed.splitlines())


def run_text(text: str, folder: Path) -> doc_blocks.Page:
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return run_page(path, folder)


def test_commands_and_python_share_a_folder_and_a_namespace(tmp_path: Path) -> None:
    text = """\
<!-- setup
echo 3 > hidden
-->
```python
number = int(open("hidden").read())
```
```console
$ cat hidden; \\
> echo done
3
done
```
```python
>>> number + 1
4
```
"""
    assert run_text(text, tmp_path).differences == []


def test_blocks_in_directives_are_run(tmp_path: Path) -> None:
    text = "```{include} x.md\n```\n\n````{note}\n```bash\nfalse\n```\n````\n"
    with pytest.raises(Wrong, match="exit code 1"):
        run_text(text, tmp_path)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("```bash\nfalse\n```", "exit code 1"),
        ("<!-- exits 2 -->\n```bash\ntrue\n```", "exit code 0"),
        ("```python\n1 / 0\n```", "ZeroDivisionError"),
        ("```python\n>>> 1 + 1\n3\n```", "Got:\n    2"),
        ("```\nls\n```", "name the language"),
        ("```text\nmake results\n```", "make it console"),
        ("<!-- not run: lazy -->\n```bash\nbayestopics fit x.ldac\n```", "can be run"),
        ("<!-- not run: slow -->\n```bash\nmake coffee\n```", "no target coffee"),
        ("<!-- not run: slow -->\n```console\n$ snakemake --quickly\n```", "no option --quickly"),
        ("<!-- with fit: --sweeps 2 -->\n```console\n$ bayestopics fit --help\nusage: ...\n```", "`with` changes"),
    ],
)
def test_what_is_wrong_with_a_page_is_said(text: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(Wrong) as caught:
        run_text(text, tmp_path)
    assert fault in str(caught.value)


def test_an_output_that_differs_is_found_and_can_be_written(tmp_path: Path) -> None:
    page = run_text("```console\n$ echo 1; echo 2 s\n2\n... s\n$ echo 3\n3\n```\n", tmp_path)
    ((block, command, printed),) = page.differences
    assert isinstance(block, Block)
    assert (command.output, printed) == (["2", "... s"], ["1", "2 s"])
    doc_blocks.write(page.path, page.differences)
    assert page.path.read_text() == "```console\n$ echo 1; echo 2 s\n1\n... s\n$ echo 3\n3\n```\n"
