LANGUAGE = ""
NO_JUDGE = ""
KINDS: dict[str, str] = {}
PAGES: dict[str, str] = {}


# Bound here, since blocks of a page use such names, too.
def judge(
    line: str, cell: str, *, language: str = LANGUAGE, kinds: dict[str, str] = KINDS, pages: dict[str, str] = PAGES
) -> None:
    """Judge the kernel in a cell, on softcuda. `line` names the exercise that it is an answer to."""
    from pathlib import Path

    need_softcuda(NO_JUDGE)  # type: ignore[name-defined]  # noqa: F821
    from warpjudge import Judge

    name = line.strip()
    with Judge(keep_warm=False) as one:
        verdict = one(Path("exercises", name), f"\n{cell}", name=name, language=language)  # the cell's own line numbers
    for message in verdict["messages"]:
        article, _, anchor = message["section"].partition("#")
        link = f"  → {pages[article]}#{anchor}" if article in pages and message["kind"] != "right" else ""
        print(f"{kinds[message['kind']]}  {message['text']}{link}")
    print(verdict["printed"], end="")


get_ipython().register_magic_function(judge, "cell")  # type: ignore[name-defined]  # noqa: F821
