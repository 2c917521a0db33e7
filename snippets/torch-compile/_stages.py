"""What each stage of torch.compile made of a function: its own output, without paths, addresses and hashes."""

import dis
import re
from collections.abc import Callable
from types import CodeType
from typing import Any

from _gate import Gate, torch, versions  # noqa: F401  versions: for the page
from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.convert_frame import register_bytecode_hook
from torch._dynamo.eval_frame import _debug_get_cache_entry_list
from torch._inductor.codecache import PyCodeCache
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.utils import run_and_get_code, run_fw_bw_and_get_code

# On a GPU, Inductor's own launcher keeps no PTX; Triton's does. To be set before anything is compiled, and compiled in
# this process, not in one that has started with other settings.
torch._inductor.config.use_static_cuda_launcher = False
torch._inductor.config.compile_threads = 1

# --8<-- [start:bytecode]
SHOWN = {"LOAD_ATTR": "LOAD_ATTR", "LOAD_METHOD": "LOAD_ATTR", "LOAD_GLOBAL": "LOAD_GLOBAL", "BINARY_OP": "BINARY_OP",
         "RETURN_VALUE": "RETURN_VALUE"}  # fmt: skip


def bytecode(code: CodeType) -> str:
    """The instructions that read attributes and globals, compute and return: they have been the same since 3.11."""
    rows = []
    for each in dis.get_instructions(code):
        if each.opname in SHOWN:
            what = each.argrepr if each.opname == "BINARY_OP" else each.argval or ""
            rows.append(f"{SHOWN[each.opname]:13}{what}".rstrip())
    return "\n".join(rows)


# --8<-- [end:bytecode]


def written_back(function: Callable, *arguments: Any) -> list[str]:
    """The compiled graphs that the bytecode which Dynamo runs instead calls; then come a number and a hash."""
    found: list[str] = []

    def look(_: CodeType, new: CodeType) -> None:
        found.extend(name[:13] for name in new.co_names if name.startswith("__compiled_fn_"))

    hook = register_bytecode_hook(look)
    try:
        torch._dynamo.reset()
        torch.compile(function, backend="eager")(*arguments)
    finally:
        hook.remove()
    return found


def tidy(text: str) -> str:
    """A graph's code without the comments that name files, without blank lines, and without `x = None` at line ends."""
    lines = [re.sub(r";  .*= None$", "", line) for line in text.splitlines()]
    return "\n".join(line for line in lines if line.strip() and not line.strip().startswith("#"))


def captured(function: Callable, *arguments: Any) -> list[torch.fx.GraphModule]:
    """The FX graphs that Dynamo captures."""
    graphs: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> Callable:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    torch.compile(function, backend=keep)(*arguments)
    return graphs


def differentiated(function: Callable, *arguments: Any) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule]:
    """The forward and the backward graph that AOTAutograd hands to Inductor, of ATen operators."""
    graphs: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> Callable:
        graphs.append(graph)
        return make_boxed_func(graph.forward)

    backend = aot_autograd(
        fw_compiler=keep,
        bw_compiler=keep,
        partition_fn=min_cut_rematerialization_partition,
        decompositions=select_decomp_table(),
    )
    torch._dynamo.reset()
    torch.compile(function, backend=backend)(*arguments).sum().backward()
    return graphs[0], graphs[1]


def kernels(code: str) -> dict[str, str]:
    """The Triton kernels in a module that Inductor wrote, by name."""
    found = re.findall(r"^(@triton\.jit\ndef (\w+)\(.*?)^'''", code, re.MULTILINE | re.DOTALL)
    return {name: text.rstrip() for text, name in found}


def calls(code: str) -> list[str]:
    """The lines of Inductor's call() that take memory, launch and return."""
    inside = code[code.index("def call(") :]
    shown = re.compile(r"^\s*(buf\d+ = |triton_\w+\.run|extern_kernels|return )")
    lines = inside[: inside.index("\nrunner = ")].splitlines()
    return [re.sub(r", stream=\w+", "", line.strip().partition("  # reuse")[0]) for line in lines if shown.match(line)]


def guards(function: Callable) -> list[tuple[str, str]]:
    """The guards of the code that Dynamo compiled last for a function: the kind of each, and what it checks."""
    text = str(_debug_get_cache_entry_list(function)[0].guard_manager)
    found = re.findall(r"\+- ([A-Z_]+): (.*?)(?:  #|, type=|$)", text, re.MULTILINE)
    return [(kind, re.sub(r"DispatchKeySet\(.*?\), ", "", what).strip()) for kind, what in found]


def ptx(code: str) -> dict[str, str]:
    """The PTX that Triton made of the kernels in a module that Inductor wrote in this process, without cache hints."""
    made = {}
    for module in PyCodeCache.modules:
        for name in kernels(code):
            if hasattr(module, name):
                made[name] = getattr(module, name).compile_results[0].kernel.asm["ptx"]
                made[name] = re.sub(r"\.L[12]::\w+", "", made[name])
    return made


def inference(model: Gate, x: torch.Tensor) -> tuple[torch.Tensor, str]:
    """The result of the compiled model without gradients, and the module that Inductor wrote."""
    torch._dynamo.reset()
    with torch.no_grad():
        result, [code] = run_and_get_code(torch.compile(model), x)
    return result, code


def training(model: Gate, x: torch.Tensor) -> tuple[torch.Tensor, list[str]]:
    """The result of the compiled model with gradients, and the modules of forward and backward."""
    torch._dynamo.reset()
    return run_fw_bw_and_get_code(lambda: torch.compile(model)(x))
