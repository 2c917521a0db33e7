"""Kernels with bulk copies and one defect each, and clean ones beside them: see planted.py.

They are in a table of their own, as compute-sanitizer's verdicts are of the other one.
"""

from __future__ import annotations

import sys

import planted
from planted import Case

CASES: dict[str, Case] = {}

# Macros, so that a finding names the line that uses them.
COPIES = r"""
#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BARRIER(bar, count) asm volatile( \
    "mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(AT(bar)), "r"(count) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(AT(bar)) : "memory")
#define FETCH(to, from, bytes, bar) asm volatile( \
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%3], %2;\n" \
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
    ::"r"(AT(to)), "l"(from), "r"(bytes), "r"(AT(bar)) : "memory")
#define EXPECT(bar, bytes) asm volatile( \
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(AT(bar)), "r"(bytes) : "memory")
#define STORE(to, from, bytes) asm volatile( \
    "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\ncp.async.bulk.commit_group;" \
    ::"l"(to), "r"(AT(from)), "r"(bytes) : "memory")
#define HAS_READ() asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define STORED() asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
#define MEET(id) asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory")
#define wait(bar, parity) for (unsigned done = 0; !done;) asm volatile( \
    "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
    : "=r"(done) : "r"(AT(bar)), "r"(parity) : "memory")
"""
BEGIN = """
    __shared__ alignas(128) int s[2][64];
    __shared__ unsigned long long full[2], empty[2];
    if (t == 0) {
        BARRIER(&full[0], 1); BARRIER(&full[1], 1);
        BARRIER(&empty[0], 64); BARRIER(&empty[1], 64);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
"""


def pair(name: str, kind: str, defect: str, *clean: str, **more: object) -> None:
    CASES[name] = Case(name, kind, BEGIN.strip("\n") + defect, before=COPIES, **more)  # type: ignore[arg-type]
    more.pop("fails", None)
    for i, body in enumerate(clean):
        made = f"{name}_clean{i + 1}"
        CASES[made] = Case(made, "", BEGIN.strip("\n") + body, before=COPIES, **more)  # type: ignore[arg-type]


# --- what no copy has filled ------------------------------------------------------------------------------------------

pair("half_a_row_is_fetched", "uninitialised", """
    if (t == 0) FETCH(s[0], a, 128, &full[0]);
    wait(&full[0], 0);
    b[t] = s[0][63 - t];  //!
""", """
    if (t >= 32) s[0][t] = 0;
    if (t == 0) FETCH(s[0], a, 128, &full[0]);
    __syncthreads();
    wait(&full[0], 0);
    b[t] = s[0][63 - t];
""", """
    if (t < 2) FETCH(s[0] + 32 * t, a + 32 * t, 128, &full[t]);
    wait(&full[0], 0);
    wait(&full[1], 0);
    ((char*)b)[4 * t] = ((char*)s[0])[4 * (63 - t)];
""")  # fmt: skip

# --- two proxies ------------------------------------------------------------------------------------------------------

# Right on softcuda, and on an H200 wrong in 64 of 2^27 words: the place is filled again before all have read it.
LOOP = """
    for (int k = 0; k < 2; ++k) {{
        if (t == 0) FETCH(s[0], a + 64 * k, 256, &full[0]);{mark}
        wait(&full[0], k);
        int x = s[0][63 - t];{mark}
        {before}
        __syncthreads();
        {behind}
        b[64 * k + t] = x;
    }}
"""
pair(
    "read_then_overwritten", "proxy",
    LOOP.format(mark="  //!", before="", behind=""),
    LOOP.format(mark="", before="FENCE();", behind=""),
    LOOP.format(mark="", before="", behind="if (t == 0) FENCE();"),
)  # fmt: skip
pair("fence_before_the_read", "proxy", """
    for (int k = 0; k < 2; ++k) {
        if (t == 0) FETCH(s[0], a + 64 * k, 256, &full[0]);  //!
        wait(&full[0], k);
        FENCE();
        b[64 * k + t] = s[0][63 - t];  //!
        __syncthreads();
    }
""")  # fmt: skip
pair("written_then_stored", "proxy", """
    s[0][t] = a[t];  //!
    __syncthreads();
    if (t == 0) {
        STORE(b, s[0], 256);  //!
        STORED();
    }
""", """
    s[0][t] = a[t];
    FENCE();
    __syncthreads();
    if (t == 0) {
        STORE(b, s[0], 256);
        STORED();
    }
""", """
    s[0][t] = a[t];
    __syncthreads();
    if (t == 0) {
        FENCE();
        STORE(b, s[0], 256);
        STORED();
    }
""")  # fmt: skip
pair("half_of_them_fence", "proxy", """
    s[0][t] = a[t];  //!
    if (t < 32) FENCE();
    __syncthreads();
    if (t == 0) {
        STORE(b, s[0], 256);  //!
        STORED();
    }
""")  # fmt: skip
pair("filled_over_zeros", "proxy", """
    s[0][t] = 0;  //!
    __syncthreads();
    if (t == 0) FETCH(s[0], a, 256, &full[0]);  //!
    wait(&full[0], 0);
    b[t] = s[0][63 - t];
""", """
    s[0][t] = 0;
    FENCE();
    __syncthreads();
    if (t == 0) FETCH(s[0], a, 256, &full[0]);
    wait(&full[0], 0);
    b[t] = s[0][63 - t];
""")  # fmt: skip
pair("stored_without_a_barrier", "race", """
    s[0][t] = a[t];  //!
    FENCE();
    if (t == 0) {
        STORE(b, s[0], 256);  //!
        STORED();
    }
""", """
    ((short*)s[0])[t] = t;  // from here on, two bytes at a time are looked after
    __syncthreads();
    const int half = t < 32 ? 32 : 0;  // each warp stores its own half, the second warp the first
    s[0][half + t % 32] = a[t];
    FENCE();
    __syncwarp();
    if (t % 32 == 0) {
        STORE(b + half, s[0] + half, 128);
        STORED();
    }
""")  # fmt: skip
PIPELINE = """
    if (t < 32) {{
        for (int k = 0; t == 0 && k < 6; ++k) {{
            if (k > 1) wait(&empty[k % 2], (k / 2 - 1) & 1);
            FETCH(s[k % 2], a + 64 * k, 256, &full[k % 2]);{mark}
        }}
    }} else {{
        for (int k = 0; k < 6; ++k) {{
            wait(&full[k % 2], k / 2 & 1);
            b[64 * k + t - 32] = s[k % 2][t - 32];{mark}
            {fence}
            ARRIVE(&empty[k % 2]);
        }}
    }}
"""
pair(
    "pipeline", "proxy",
    PIPELINE.format(mark="  //!", fence=""),
    PIPELINE.format(mark="", fence="FENCE();"),
    block=96,
)  # fmt: skip

# --- mbarriers that the copy engine does not see ----------------------------------------------------------------------

OWN = """
    __shared__ unsigned long long own;
    if (t == 0) {{
        BARRIER(&own, 1);{mark}
        {init}
    }}
    {all}
    __syncthreads();
    if (t == {who}) {{
        {before}
        FETCH(s[0], a, 256, &own);{mark}
    }}
    wait(&own, 0);
    b[t] = s[0][63 - t];
"""
INIT_DONE = 'asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");'


def initialise(init: str = "", all: str = "", before: str = "", who: int = 0, mark: str = "") -> str:
    return OWN.format(init=init, all=all, before=before, who=who, mark=mark)


pair(
    "mbarrier_without_a_fence", "mbarrier-init",
    initialise(mark="  //!"),
    initialise(init=INIT_DONE),
    initialise(init="FENCE();"),
    initialise(all="FENCE();", who=32),
    initialise(before="FENCE();", who=32),
)  # fmt: skip
pair(
    "mbarrier_with_another_warp_s_fence", "mbarrier-init",
    initialise(all="if (t >= 32) FENCE();", mark="  //!"),
    initialise(all="if (t < 32) FENCE();", who=32),
)  # fmt: skip
pair(
    "mbarrier_with_a_fence_of_threads", "mbarrier-init",
    initialise(init="__threadfence();", who=32, mark="  //!"),
    initialise(init="__threadfence(); FENCE();", who=32),
)  # fmt: skip
AGAIN = """
    for (int k = 0; k < 2; ++k) {{
        if (t == 0) FETCH(s[0], a + 64 * k, 256, &full[0]);{mark}
        wait(&full[0], 0);
        b[64 * k + t] = s[0][63 - t];
        FENCE();
        __syncthreads();
        if (t == 0) {{
            asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(AT(&full[0])) : "memory");
            BARRIER(&full[0], 1);{mark}
            {fence}
        }}
        __syncthreads();
    }}
"""
pair(
    "mbarrier_initialised_again", "mbarrier-init",
    AGAIN.format(mark="  //!", fence=""),
    AGAIN.format(mark="", fence="FENCE();"),
)  # fmt: skip

# --- phases that cannot end -------------------------------------------------------------------------------------------

pair("fewer_bytes_than_expected", "mbarrier", """
    if (t == 0) EXPECT(&full[0], 16);
    if (t == 0) FETCH(s[0], a, 256, &full[0]);
    wait(&full[0], 0);  //!
    b[t] = s[0][63 - t];
""", """
    if (t == 0) EXPECT(&full[0], 256);
    if (t == 0) FETCH(s[0], a, 256, &full[0]);
    if (t == 0) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                             ::"r"(AT(s[1])), "l"(a), "r"(AT(&full[0])) : "memory");
    wait(&full[0], 0);
    b[t] = s[0][63 - t];
""", fails=True)  # fmt: skip
pair("more_bytes_than_expected", "mbarrier", """
    if (t == 0) {
        EXPECT(&full[0], 128);
        ARRIVE(&full[0]);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                     ::"r"(AT(s[0])), "l"(a), "r"(AT(&full[0])) : "memory");
    }
    if (t >= 32) wait(&full[0], 0);  //!
    __syncthreads();
    b[t] = s[0][63 - t];
""", fails=True)  # fmt: skip
pair("an_arrival_too_few", "mbarrier", """
    if (t != 5) ARRIVE(&empty[0]);
    wait(&empty[0], 0);  //!
    b[t] = a[t];
""", """
    ARRIVE(&empty[0]);
    wait(&empty[0], 0);
    b[t] = a[t];
""", fails=True)  # fmt: skip
pair("a_phase_that_never_begins", "mbarrier", """
    if (t == 0) FETCH(s[0], a, 256, &full[0]);
    wait(&full[0], 0);
    wait(&full[0], 1);  //!
    b[t] = s[0][63 - t];
""", fails=True)  # fmt: skip

# --- copies that nobody waits for -------------------------------------------------------------------------------------

pair("bulk_not_waited_for", "async-copy", """
    if (t == 0) FETCH(s[0], a, 256, &full[0]);  //!
    __syncthreads();
    b[t] = s[0][63 - t];  //!
""", """
    if (t == 0) FETCH(s[0], a, 256, &full[0]);
    wait(&full[0], 0);
    b[t] = s[0][63 - t];
""")  # fmt: skip
pair("one_thread_waits", "async-copy", """
    if (t == 0) FETCH(s[0], a, 256, &full[0]);  //!
    __syncthreads();
    if (t < 32) wait(&full[0], 0);
    b[t] = s[0][63 - t];  //!
""", """
    if (t == 0) FETCH(s[0], a, 256, &full[0]);
    if (t == 0) wait(&full[0], 0);
    __syncthreads();
    b[t] = s[0][63 - t];
""")  # fmt: skip
pair("the_other_stage", "async-copy", """
    if (t == 0) FETCH(s[0], a, 256, &full[0]);
    if (t == 0) FETCH(s[1], a + 64, 256, &full[1]);  //!
    wait(&full[0], 0);
    b[t] = s[1][63 - t];  //!
""", """
    if (t == 0) FETCH(s[0], a, 256, &full[0]);
    if (t == 0) FETCH(s[1], a + 64, 256, &full[1]);
    wait(&full[0], 0);
    b[t] = s[0][63 - t];
""")  # fmt: skip
pair("source_written_again", "async-copy", """
    s[0][t] = a[t];
    FENCE();
    __syncthreads();
    if (t == 0) STORE(b, s[0], 256);  //!
    __syncthreads();
    s[0][t] = 0;  //!
""", """
    s[0][t] = a[t];
    FENCE();
    __syncthreads();
    if (t == 0) {
        STORE(b, s[0], 256);
        HAS_READ();
    }
    __syncthreads();
    s[0][t] = 0;
""", """
    for (int k = 0; k < 4; ++k) {
        if (t == 0) HAS_READ();
        MEET(1);
        s[0][t] = a[64 * k + t];
        FENCE();
        MEET(1);
        if (t == 0) STORE(b + 64 * k, s[0], 256);
    }
    if (t == 0) STORED();
""")  # fmt: skip
pair("two_into_one_place", "async-copy", """
    if (t == 0) {
        FETCH(s[0], a, 256, &full[0]);  //!
        FETCH(s[0], a + 64, 256, &full[1]);  //!
    }
    wait(&full[0], 0);
    wait(&full[1], 0);
    b[t] = s[0][63 - t];
""", """
    if (t == 0) {
        FETCH(s[0], a, 256, &full[0]);
        wait(&full[0], 0);
        FETCH(s[0], a + 64, 256, &full[1]);
    }
    wait(&full[1], 0);
    b[t] = s[0][63 - t];
""")  # fmt: skip
pair("ends_before_it_is_read", "async-copy", """
    s[0][t] = a[t];
    FENCE();
    __syncthreads();
    if (t == 0) STORE(b, s[0], 256);  //!
""", """
    s[0][t] = a[t];
    FENCE();
    __syncthreads();
    if (t == 0) {
        STORE(b, s[0], 256);
        HAS_READ();
    }
""", """
    for (int k = 0; k < 2; ++k) {
        s[k][t] = a[64 * k + t];
        FENCE();
        __syncthreads();
        if (t == 0) STORE(b + 64 * k, s[k], 256);
    }
    if (t == 0) STORED();
""")  # fmt: skip
pair("another_thread_waits_at_the_end", "async-copy", """
    s[0][t] = a[t];
    FENCE();
    __syncthreads();
    if (t == 0) STORE(b, s[0], 256);  //!
    if (t == 32) HAS_READ();
""")  # fmt: skip
pair("all_but_the_last_are_waited_for", "async-copy", """
    for (int k = 0; k < 2; ++k) {
        s[k][t] = a[64 * k + t];
        FENCE();
        __syncthreads();
        if (t == 0) STORE(b + 64 * k, s[k], 256);  //!
        if (t == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    }
""", """
    for (int k = 0; k < 2; ++k) {
        s[k][t] = a[64 * k + t];
        FENCE();
        __syncthreads();
        if (t == 0) STORE(b + 64 * k, s[k], 256);
        if (t == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    }
    if (t == 0) HAS_READ();
""")  # fmt: skip


if __name__ == "__main__":
    planted.CASES = CASES
    planted.run(sys.argv[1:])
