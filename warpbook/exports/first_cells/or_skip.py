import linecache

_cells: list[str] = []
_skipped: list[str] = []  # why cells were


def or_skip(line: str, cell: str) -> None:
    """Run a cell. If it says that something is missing, or needs what such a cell gives, go on with the next."""
    _cells.append(cell)
    name = f"<cell {len(_cells)}>"
    linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)  # Triton reads its kernels' source
    try:
        exec(compile(cell, name, "exec"), globals())
    except SystemExit as error:
        if error.code != 77:  # warpbench.SKIPPED
            raise
        _skipped.append(str(error))
    except NameError:
        if not _skipped:
            raise
        print(f"skipped: {_skipped[-1]}")


get_ipython().register_magic_function(or_skip, "cell")  # type: ignore[name-defined]  # noqa: F821
