"""PyCUDA's examples that need no more than PyCUDA, NumPy, Jinja2 and Matplotlib run on softcuda to their end.

Benchmarks that keep a CPU busy for minutes are left out; README's table names them.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

# With the command line that an example wants.
RUN = {
    "demo.py": [],
    "demo_cdpSimplePrint.py": ["2"],
    "demo_elementwise.py": [],
    "demo_meta_template.py": [],
    "demo_struct.py": [],
    "dump_properties.py": [],
    "fill_gpu_with_nans.py": [],
    "hello_gpu.py": [],
    "from-wiki/c++_function_templates.py": [],
    "from-wiki/convolution.py": [],
    "from-wiki/demo_complex.py": [],
    "from-wiki/distance_element_wise3d.py": [],
    "from-wiki/kernel_concurrency.py": [],
    "from-wiki/manhattan_distance_for_2D_array.py": [],
    "from-wiki/matrixmul_simple.py": [],
    "from-wiki/matrixmul_tiled.py": [],
    "from-wiki/multiple_threads.py": [],
    "from-wiki/plot_random_data.py": [],
    "from-wiki/select_to_list.py": [],
    "from-wiki/threads_and_blocks.py": [],
    "from-wiki/using_printf.py": [],
}
# What the others want besides, or why they are not run.
OTHERS = {
    "cai_cupy_arrays.py": "CuPy",
    "cai_numba.py": "Numba",
    "demo_meta_codepy.py": "cgen and codepy",
    "from-wiki/2d_fft.py": "pyfft",
    "from-wiki/arithmetic_example.py": "a grid of 218.1 blocks: written for Python 2",
    "from-wiki/demo_meta_cgen.py": "cgen",
    "from-wiki/demo_meta_matrixmul_cheetah.py": "Cheetah",
    "from-wiki/game_of_life.py": "a window: it goes on for ever",
    "from-wiki/gl_interop.py": "OpenGL",
    "from-wiki/gpu_scalar_mult.py": "texture references, which CUDA 12 removed",
    "from-wiki/light_field_3d_viewer.py": "enthought",
    "from-wiki/mandelbrot.py": "a window (Tk)",
    "from-wiki/mandelbrot_interactive.py": "a window, and a Matplotlib before 3.7",
    "from-wiki/matrix_transpose.py": "a benchmark, sized for a GPU",
    "from-wiki/measure_gpuarray_speed_random.py": "a benchmark, sized for a GPU",
    "from-wiki/rotate.py": "texture references, which CUDA 12 removed",
    "from-wiki/simple_rgb2gray.py": "scipy.misc.imread, which SciPy removed",
    "from-wiki/simple_speed_test.py": "a benchmark, sized for a GPU",
    "from-wiki/sobel_filter.py": "OpenGL",
    "from-wiki/sparse_solve.py": "SciPy and pymetis",
    "from-wiki/thrust_interop.py": "cgen, codepy and Boost",
}
# Most examples of 2026.1 lost the line that makes a context, `import pycuda.autoinit`.
START = "import runpy, sys, pycuda.autoinit; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"


def test_no_example_is_forgotten(sources):
    examples = sources / "examples"
    assert {str(path.relative_to(examples)) for path in examples.rglob("*.py")} == RUN.keys() | OTHERS.keys()


@pytest.mark.parametrize("name", RUN)
def test_example(name, sources, environment, tmp_path):
    command = [sys.executable, "-c", START, sources / "examples" / name, *RUN[name]]
    small = environment | {"SOFTCUDA_MEMORY": "1G"}  # one example fills all that there is
    done = subprocess.run(command, cwd=tmp_path, env=small, input="\n", capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
