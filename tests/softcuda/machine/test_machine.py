"""The machine's own promises: divergence, meeting, barriers, progress, calls, memory, and what faults say."""

from __future__ import annotations

import struct

import pytest


def f32(x: float) -> float:
    return struct.unpack("f", struct.pack("f", x))[0]


# --- divergence


def nested(t: int) -> int:
    if t & 1:
        a = t * 3 if t & 2 else t * 5
        a += 100 if t > 16 else 0
    else:
        a = sum(i for i in range(min(t, 21)) if i != 7)
    if t % 5 == 0:
        return a + 1000
    if t % 5 == 1:
        return a ^ 7
    if t % 5 == 3:
        return a * 2 - 1
    return a - 1 if t % 5 == 4 else a


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n, steps = (3 * n + 1 if n & 1 else n // 2), steps + 1
    return steps


def test_branches_loops_and_switches(run):
    assert run("nested", "buf:i32:64", block=64).buffers == [[nested(t) for t in range(64)]]


def test_loops_of_different_lengths(run):
    assert run("collatz", "buf:i32:96", block=96).buffers == [[collatz(t + 1) for t in range(96)]]


def test_a_full_shuffle_may_stand_in_both_arms_of_an_if(run):
    expected = [(t + 1) % 32 * 10 + (1 if t < 10 else 2) for t in range(32)]
    assert run("shuffle_in_both_arms", "buf:i32:32", block=32).buffers == [expected]


def test_two_masks_in_one_instruction(run):
    low = sum(1 << t for t in range(16) if t % 3 == 0)
    high = sum(1 << t for t in range(16, 32) if t % 3 == 0)
    assert run("ballots_of_halves", "buf:u32:32", block=32).buffers == [[low] * 16 + [high] * 16]


def test_exited_lanes_are_not_waited_for(run):
    done = run("shuffle_after_exit", "buf:i32:32:-1", block=32)
    assert not done.fault
    assert done.buffers[0][:19] == list(range(1, 20)) and done.buffers[0][20:] == [-1] * 12


def test_votes_matches_and_reductions(run):
    expected = sum(range(32)) + 11 * 10000 + 8 * 1000000
    assert run("warp_sums", "buf:i32:32", block=32).buffers == [[expected] * 32]


def test_cooperative_groups_tiles(run):
    sums = [sum(range(t // 8 * 8, t // 8 * 8 + 8)) for t in range(32)]
    expected = [s + (1000 * (t // 3) if t % 3 == 0 else 0) for t, s in enumerate(sums)]
    assert run("tiles", "buf:i32:32", block=32).buffers == [expected]


# --- progress


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_lanes_that_spin_for_each_others_lock_get_it(run, seed):
    done = run("lock_among_lanes", "buf:i32:1:zero", "buf:i32:1:zero", grid=2, block=64, seed=seed)
    assert done.buffers == [[2 * sum(range(64))], [0]]


def test_lanes_of_one_warp_talk_to_each_other(run):
    assert run("handshake", "buf:i32:2:zero", "buf:i32:1:zero", block=32).buffers == [[5, 6], [6]]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_block_may_wait_for_a_later_one(run, threads):
    buffers = ["buf:i32:1:zero"] * 3
    assert run("first_waits_for_last", *buffers, grid=300, block=32, threads=threads).buffers[2] == [42]


def test_grid_wide_synchronisation(run):
    done = run("rotate_grid", "buf:i32:1280", "i32:1280", grid=20, block=64, options=("--cooperative",))
    assert done.buffers == [[(i + 37) % 1280 for i in range(1280)]]


def test_grid_wide_synchronisation_needs_a_cooperative_launch(run):
    fault = run("rotate_grid", "buf:i32:64", "i32:64", block=64).fault
    assert fault.startswith("trap: kernel rotate_grid, block (0,0,0)")


@pytest.mark.parametrize("seed", [0, 7])
def test_the_last_block_finishes_the_sum(run, seed):
    done = run("last_block_sums", "buf:f32:6400:1", "buf:f32:50:zero", "buf:f32:1", grid=50, block=128, seed=seed)
    assert done.buffers[2] == [6400]


# --- barriers


def test_exited_threads_lower_what_a_barrier_expects(run):
    assert run("barrier_after_exit", "buf:i32:96:zero", block=96).buffers == [[0] * 64 + [1] * 32]


def test_a_barrier_counts_threads_not_places(run):
    assert run("barrier_in_both_arms", "buf:i32:64", block=64).buffers == [[1, 2] * 32]


@pytest.mark.parametrize(("block", "expected"), [(96, 48 + 1000 + 2000), (128, 64 + 2000), (40, 20 + 3000)])
def test_barriers_that_vote(run, block, expected):
    assert run("barrier_votes", f"buf:i32:{block}", block=block).buffers == [[expected] * block]


def test_named_barriers(run):
    assert run("named_barrier", "buf:i32:64", block=128).buffers == [[2 * i for i in range(64)]]


def test_a_deadlock_is_told_at_once_with_who_waits_where(run):
    done = run("deadlock", "buf:i32:1:zero", block=128)
    lines = done.fault.splitlines()
    assert lines[0] == "deadlock: kernel deadlock, block (0,0,0): every warp that has not ended waits"
    assert "warp 0, lanes 0xffffffff, in barrier 0: " in lines[1] and "kernels.cu:" in lines[1]
    assert "warp 3, lanes 0xffffffff, in barrier 1: " in lines[4]
    assert done.buffers == [[0]]


def test_a_runaway_kernel_ends(run):
    assert "still ran after 0.3" in run("endless", "buf:i32:2:zero", block=32, timeout=0.3).fault


# --- calls


def test_recursion_and_function_pointers(run):
    fibonacci = [0, 1]
    while len(fibonacci) < 12:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    expected = [fibonacci[t % 12] * 1000 + (2 * t if t & 1 else t + 1) for t in range(64)]
    assert run("calls", "buf:i32:64", block=64).buffers == [expected]


def test_endless_recursion_overflows_the_stack(run):
    fault = run("overflow", "buf:i32:2:zero").fault
    assert fault.startswith("stack overflow: kernel overflow, block (0,0,0), thread (0,0,0): call of ")


def test_a_wild_function_pointer(run):
    assert "call of 0x4d2, which is no function" in run("wild_call", "buf:i32:1", "i64:1234").fault


# --- memory


def test_copy_with_a_ragged_end(run):
    done = run("copy", "buf:f32:1000:zero", "buf:f32:1000:iota", "i32:999", grid=4, block=256)
    assert done.buffers[0] == [*range(999), 0]


def test_dynamic_shared_memory_lies_behind_static(run):
    assert run("dynamic_shared", "buf:i32:64", block=64, shared=256).buffers == [[63 - t + 7 for t in range(64)]]


@pytest.mark.parametrize("threads", [1, 2])
def test_integer_atomics(run, threads):
    assert run("histogram", "buf:u32:16:zero", grid=100, block=128, threads=threads).buffers == [[800] * 16]


def test_float_atomics_are_the_same_in_every_run(run):
    total = 0.0
    for block in range(40):
        for t in range(128):
            total = f32(total + f32(f32(f32(0.1) * t) + block))
    runs = {run("float_atomics", "buf:f32:1:zero", grid=40, block=128).buffers[0][0] for _ in range(3)}
    assert len(runs) == 1 and runs.pop() == pytest.approx(total, rel=1e-4)


def test_constants_and_managed_variables(run):
    assert run("constants", "buf:f32:4", block=4).buffers == [[6, 7, 8, 9]]


def test_local_arrays(run):
    assert run("local_array", "buf:i32:64", "i32:3", block=64).buffers == [[(t + 3) % 20 * t for t in range(64)]]


def test_vectors(run):
    assert run("vectors", "buf:f32:8", "buf:f32:8:iota", block=2).buffers[0] == [1, 1, 2, 6, 5, 5, 6, 14]


def test_generic_pointers_into_three_spaces(run):
    def value(t: int) -> int:
        return 1000 + (100 + t, 7 if t & 1 else t, -5)[t % 3]

    assert run("generic_pointers", "buf:i32:32:-5", block=32).buffers == [[value(t) for t in range(32)]]


def test_the_clock_counts_instructions_and_is_the_same_in_every_run(run):
    first, second = (run("clock_ticks", "buf:i64:2").buffers[0][0] for _ in range(2))
    assert first == second and 10 <= first <= 100


def test_malloc_in_kernels(run):
    assert run("device_heap", "buf:i32:40", block=40).buffers == [[t + 1 for t in range(40)]]


# --- words


def test_printf(run):
    assert run("prints", "i32:4", block=3).printed == [f"hi 4 abc {1.5 * t:5.2f} 1099511627776 z% ff" for t in range(3)]


def test_assert(run):
    done = run("asserts", "i32:9", block=2)
    where = "block: [0,0,0], thread: [1,0,0]"
    assert done.assertions[1].endswith(f": void asserts(int): {where} Assertion `n < 5` failed.")
    assert done.fault.startswith("assertion failed: kernel asserts, block (0,0,0), thread (0,0,0)")
    assert run("asserts", "i32:4", block=2).fault == ""


# --- faults


def test_out_of_bounds_names_thread_allocation_and_line(run):
    done = run("copy", "buf:f32:64:zero", "buf:f32:60:iota", "i32:64", grid=2, block=32)
    assert done.fault.startswith("illegal address: kernel copy, block (1,0,0), thread (28,0,0): read of 4 bytes at 0x")
    assert "just past the end of allocation" in done.fault and "(240 bytes, cuMemAlloc)" in done.fault
    assert "kernels.cu:" in done.fault and done.fault.endswith("(ld.global.f32)")
    assert done.buffers[0][60:] == [0] * 4


@pytest.mark.parametrize(("address", "says"), [(0, "a null pointer"), (1 << 40, "in no allocation")])
def test_wild_pointers(run, address, says):
    assert says in run("writes_to", f"i64:{address}").fault


def test_misaligned(run):
    fault = run("misaligned", "buf:u8:16", block=3).fault
    assert fault.startswith("misaligned address: kernel misaligned, block (0,0,0), thread (0,0,0): write of 4 bytes")
    assert "which is no multiple of 4" in fault


def test_beyond_shared_memory(run):
    fault = run("beyond_shared", "buf:i32:32", "i32:5", block=32).fault
    assert "thread (27,0,0): write of 4 bytes at 0x480, but the block's shared memory ends at 0x480" in fault


def test_trap(run):
    assert run("traps", "buf:i32:1", block=32).fault.startswith("trap: kernel traps, block (0,0,0), thread (9,0,0)")


# --- loading


def load_error(run, tmp_path, body: str) -> str:
    ptx = tmp_path / "x.ptx"
    head = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
    head += ".reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
    ptx.write_text(head + body + "\nret;\n}\n")
    with pytest.raises(AssertionError) as error:
        run("k", ptx=ptx)
    return str(error.value)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("foo.bar.u32 %r1, %r2;", "instruction 'foo.bar.u32' is not supported by softcuda yet"),
        (
            "affine.setp.eq.s32 %r1, %r2, %r2, 0, 0;",
            "instruction 'affine.setp.eq.s32' is not supported by softcuda yet",
        ),
        ("ld.global.fancy.u32 %r1, [%rd1];", "instruction 'ld.global.fancy.u32' is not supported by softcuda yet"),
        ("mov.u32 %r1, nowhere;", "nowhere"),
        ("st.global.u64 [%rd1], %r1;", "has register %r1 of 32 bits where 64 are due"),
        (".param .b32 q; st.param.b32 [q+4], %r1;", "outside the parameter's 4 bytes"),
        (".param .b32 q; st.param.b32 [q+-4], %r1;", "outside the parameter's 4 bytes"),
        (".param .b32 q; st.param.v2.b32 [q], {%r1, %r2};", "outside the parameter's 4 bytes"),
        (".param .b32 q; st.shared.b32 [q], %r1;", "takes the address of parameter q"),
        (".param .b32.s8 q;", "a type such as .b32"),
    ],
)
def test_what_is_not_known_is_an_error_at_load(run, tmp_path, body, says):
    message = load_error(run, tmp_path, body)
    assert says in message and "line 8" in message


# --- clusters and asynchronous copies


def test_blocks_of_a_cluster_read_each_others_shared_memory(run):
    done = run("neighbours", "buf:i32:8", grid=8, block=32, options=("--cluster", "4"))
    assert done.buffers == [[10 * (b // 4 * 4 + (b + 1) % 4) for b in range(8)]]


def test_a_cluster_of_one(run):
    assert run("neighbours", "buf:i32:3", grid=3, block=32).buffers == [[0, 10, 20]]


def test_exited_blocks_are_not_waited_for_in_a_cluster(run):
    done = run("early_leaver", "buf:i32:4:zero", grid=4, block=64, options=("--cluster", "2"))
    assert (done.fault, done.buffers) == ("", [[1, 0, 1, 0]])


def test_asynchronous_copies(run):
    done = run("copies_ahead", "buf:f32:128", "buf:f32:128:iota", block=128)
    assert done.buffers[0] == [127 - t for t in range(128)]


def test_vector_atomics(run):
    assert run("vector_atomics", "buf:f32:4:zero", grid=2, block=32).buffers == [[64, 128, 192, 2 * sum(range(32))]]


@pytest.mark.parametrize("seed", [0, 3])
def test_mbarriers(run, seed):
    done = run("passes_through_an_mbarrier", "buf:i32:64", block=64, seed=seed)
    assert done.buffers == [[(t + 4) % 64 for t in range(64)]]
