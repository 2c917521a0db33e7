// Hand-written PTX: scopes that shadow each other, labels, constants, tensor operands, comments.
#include <cstdint>

__device__ __forceinline__ int shadowing(int a) {
    int r;
    asm volatile(
        "{\n\t"
        ".reg .pred p, q;\n\t"
        ".reg .b32 t<4>, %%r1;\n\t"
        "setp.gt.s32 p|q, %1, 0x1F;\n\t"
        "mov.b32 %%r1, (1 << 3) + 2 * -3;\n\t"
        "{ .reg .b64 t0; cvt.s64.s32 t0, %1; @!q cvt.u32.u64 %%r1, t0; }\n\t"
        "mov.u32 t0, 0b1011; mov.u32 t1, 017U; /* octal */ // and a comment\n\t"
        "add.s32 t2, t0, t1;\n\t"
        "@p bra DONE;\n\t"
        "LOOP: sub.s32 t2, t2, 1;\n\t"
        "setp.ne.s32 p, t2, 0;\n\t"
        "@p bra.uni LOOP;\n\t"
        "DONE:\n\t"
        "add.s32 %0, t2, %%r1;\n\t"
        "}"
        : "=r"(r)
        : "r"(a));
    return r;
}

extern "C" __global__ void scopes(int* x) {
    int i = threadIdx.x;
    x[i] = shadowing(x[i]);
    x[i + 32] = shadowing(x[i] + 1);
    uint32_t lo, hi;
    asm("mov.b64 {%0, %1}, %2;" : "=r"(lo), "=r"(hi) : "l"((uint64_t)x));
    asm volatile("{.reg .b64 a; mov.b64 a, {%0, %1}; prefetch.global.L2 [a+-16];}" ::"r"(lo), "r"(hi));
    asm("add.cc.u32 %0, %0, %2; addc.u32 %1, %1, 0;" : "+r"(lo), "+r"(hi) : "r"(7));
    asm volatile("st.shared.v2.u32 [%0+8], {%1, %2};" ::"r"(i), "r"(lo), "r"(hi) : "memory");
    asm volatile("bar.sync 1, 64;");
    asm volatile("barrier.sync.aligned 2;");
    asm("lop3.b32 %0, %0, %1, 0xffffffff, 0x96;" : "+r"(lo) : "r"(hi));
    asm("mov.u32 %0, WARP_SZ;" : "=r"(hi));
    x[0] = lo + hi;
    asm volatile(
        "{\n .reg .b32 idx; mov.u32 idx, %0;\n targets: .branchtargets A, B, C;\n brx.idx idx, targets;\n"
        " A: st.global.u32 [%1], 1; bra END;\n B: st.global.u32 [%1], 2; bra END;\n C: trap;\n END: }" ::"r"(i),
        "l"(x)
        : "memory");
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(i), "l"(x));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(i), "l"(x), "r"(lo));
    asm volatile(
        "{ .reg .b64 pol; createpolicy.fractional.L2::evict_last.b64 pol, 1.0;"
        " ld.global.L2::cache_hint.u32 %0, [%1], pol; }"
        : "=r"(hi)
        : "l"(x));
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(i), "r"(32));
    asm volatile(
        "{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; mbarrier.arrive.noComplete.shared.b64 _, [%0], 1;}" ::"r"(
            i));
#endif
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n.reg .pred P1;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n@P1 bra DONE;\nbra "
        "WAIT;\nDONE:\n}" ::"r"(i),
        "r"(lo));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            i),
        "l"(x), "r"(lo), "r"(hi), "r"(i)
        : "memory");
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(x), "r"(lo),
                 "r"(hi), "r"(i));
    asm volatile("griddepcontrol.wait; griddepcontrol.launch_dependents;");
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; @p fence.proxy.async;}");
#endif
}

extern "C" __global__ void packed(uint32_t* x) {
    asm volatile(
        "{.reg .v2 .f32 v; .reg .f32 a; mov.v2.f32 v, {0f3F800000, 0f40000000}; mov.f32 a, v.x; st.global.f32 [%0], "
        "a;}" ::"l"(x)
        : "memory");
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
extern "C" __global__ void wgmma(float* x, uint64_t a, uint64_t b) {
    float d[4] = {x[0], x[1], x[2], x[3]};
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
        "wgmma.fence.sync.aligned;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n"
        "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n}\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(a), "l"(b), "r"(1));
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    for (int i = 0; i < 4; ++i) x[i] = d[i];
}
#endif
