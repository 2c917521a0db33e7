LANGUAGE = ""
NO_JUDGE = ""
KINDS: dict[str, str] = {}
PAGES: dict[str, str] = {}


def judge(line: str, cell: str) -> None:
    """Judge the kernel in a cell, on softcuda. `line` names the exercise that it is an answer to."""
    from pathlib import Path

    need_softcuda(NO_JUDGE)  # type: ignore[name-defined]  # noqa: F821
    from warpjudge import Judge

    name = line.strip()
    with Judge(keep_warm=False) as one:
        verdict = one(Path("exercises", name), f"\n{cell}", name=name, language=LANGUAGE)  # the cell's own line numbers
    for message in verdict["messages"]:
        article, _, anchor = message["section"].partition("#")
        link = f"  → {PAGES[article]}#{anchor}" if article in PAGES and message["kind"] != "right" else ""
        print(f"{KINDS[message['kind']]}  {message['text']}{link}")
    print(verdict["printed"], end="")


get_ipython().register_magic_function(judge, "cell")  # type: ignore[name-defined]  # noqa: F821
