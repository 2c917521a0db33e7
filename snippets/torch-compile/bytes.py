"""Bytes of the fused kernel, and of the same graph with one kernel per operator: predicted from shapes, then counted.

python bytes.py             predict; on softcuda also count every kernel of bytes.py --profile, and compare
python bytes.py --profile   run the model as one kernel, then operator by operator, for a profiler
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import warpbench as wb
from _gate import case, hold, torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd

SOFTCUDA = "softcuda__bytes_from_memory.sum", "softcuda__bytes_asked_global_op_st.sum"
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
torch._inductor.config.triton.autotune_pointwise = False  # one launch for each kernel


def aten_graph(model, x):
    """The graph that AOTAutograd makes of the model without gradients, and the tensors that it is called with."""
    kept = []

    def keep(graph, _):
        def run(*tensors):
            kept.append((graph, tensors))
            return graph(*tensors)

        return make_boxed_func(run)

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(model, backend=aot_autograd(fw_compiler=keep))(x)
    return kept[0]


# --8<-- [start:predict]
def size(node):
    return node.meta["val"].numel() * node.meta["val"].element_size()


def predict(graph):
    """(operator, bytes read, bytes written): of the graph as one kernel, then of each operator as a kernel."""
    nodes = [node for node in graph.graph.nodes if node.op == "call_function"]
    inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
    rows = [("fused", sum(map(size, inputs)), size(nodes[-1]))]
    return rows + [(node.name, sum(map(size, node.all_input_nodes)), size(node)) for node in nodes]


# --8<-- [end:predict]
# --8<-- [start:each]
class OneKernelPerOperator(torch.fx.Interpreter):
    """Runs a graph operator by operator, each compiled by Inductor as if it stood alone."""

    def call_function(self, target, arguments, options):
        tensors = [each for each in arguments if isinstance(each, torch.Tensor)]
        constants = [list(each) if isinstance(each, list) else each for each in arguments[len(tensors) :]]
        torch._dynamo.reset()
        return torch.compile(lambda *given: target(*given, *constants, **options), fullgraph=True)(*tensors)


# --8<-- [end:each]


def run():
    """Both ways, against the model in float64; what is predicted, and the graph."""
    model, x = case()
    graph, tensors = aten_graph(model, x)
    torch._dynamo.reset()
    with torch.no_grad():
        results = {"fused": torch.compile(model)(x), "operators": OneKernelPerOperator(graph).run(*tensors)[0]}
    for name, result in results.items():
        hold(model, x, result, name)
    return predict(graph), graph


def profiled():
    """The launches of `bytes.py --profile` as softcuda counts them, the first of each kernel."""
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        command = [sys.executable, "-m", "softcuda", "profile", "--json", str(counts), __file__, "--profile"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        launches = json.loads(counts.read_text("utf-8"))
    return [each for i, each in enumerate(launches) if not i or each["kernel"] != launches[i - 1]["kernel"]]


def draw(graph):
    """The graph as a page shows it: an edge is what an operator must read if it is a kernel of its own."""
    names = {node: node.name for node in graph.graph.nodes if node.op != "output"}
    given = dict(zip([node for node in names if node.op == "placeholder"], ("scale", "x", "shift"), strict=True))
    last = [node for node in names if node.op == "call_function"][-1]
    kinds = dict.fromkeys(given, "start") | {last: "accept"}
    nodes = [(name, given.get(node, name), *([kinds[node]] if node in kinds else [])) for node, name in names.items()]
    kib = {node: f"{size(node) / 1024:g} KiB" for node in names}
    edges = [(names[each], name, kib[each]) for node, name in names.items() for each in node.all_input_nodes]
    wb.graph("aten", nodes, edges)


def compare(rows, launches):
    assert len(rows) == len(launches), f"{len(launches)} kernels for {len(rows)} rows"
    print(f"{'':10}{'predicted':>18}{'counted':>20}")
    print(f"{'':10}" + f"{'read':>10}{'written':>10}" * 2 + "  kernel")
    for (name, *predicted), launch in zip(rows, launches, strict=True):
        counted = [launch["metrics"][metric] for metric in SOFTCUDA]
        numbers = "".join(f"{number:10,}" for number in predicted + counted)
        print(f"{name:10}{numbers}  {launch['kernel']}")
        assert predicted == counted, f"{name}: predicted {predicted}, counted {counted}"


def lines(launch):
    """What each line of the fused kernel that reads or writes asks for."""
    print(f"\n{'requests':>8}{'sectors':>9}  line of {launch['kernel']}")
    for line in sorted(launch["lines"], key=lambda each: each["line"]):
        requests, sectors = (sum(line["metrics"].get(name, 0) for name in names) for names in (REQUESTS, SECTORS))
        if requests:
            print(f"{requests:8,}{sectors:9,}  {line['source'].strip()}")


if __name__ == "__main__":
    table, aten = run()
    if "--profile" not in sys.argv[1:]:
        draw(aten)
        moved = [read + written for _, read, written in table]
        if not wb.is_gpu():
            kernels = profiled()
            compare(table, kernels)
            lines(kernels[0])
        print(f"\nfused: {moved[0]:,} bytes; ten kernels: {sum(moved[1:]):,}; ratio {sum(moved[1:]) / moved[0]:.2f}")
    else:
        print("both as float64 has it")
