// Is this libcuda.so.1 alive?  `smoke LIBRARY` loads PTX, runs it and looks at the answer; for CPUs without Python packages.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

// y[i] = fma(x[i], 2, the sum of the warp's lane numbers)
const char* ptx = R"(
.version 8.0
.target sm_75
.address_size 64
.visible .entry smoke(.param .u64 x, .param .u64 y, .param .u32 n) {
    .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %d<6>; .reg .f32 %f<4>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mov.u32 %r5, %laneid;
    mov.u32 %r6, 16;
LOOP:
    shfl.sync.bfly.b32 %r7, %r5, %r6, 31, -1;
    add.s32 %r5, %r5, %r7;
    shr.u32 %r6, %r6, 1;
    setp.ne.u32 %p1, %r6, 0;
    @%p1 bra LOOP;
    ld.param.u32 %r8, [n];
    setp.ge.u32 %p1, %r4, %r8;
    @%p1 bra DONE;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [y];
    mul.wide.u32 %d3, %r4, 4;
    add.s64 %d4, %d1, %d3;
    add.s64 %d5, %d2, %d3;
    ld.global.f32 %f1, [%d4];
    cvt.rn.f32.u32 %f2, %r5;
    fma.rn.f32 %f3, %f1, 0f40000000, %f2;
    st.global.f32 [%d5], %f3;
DONE:
    ret;
})";

void check(CUresult code, const char* what) {
    if (!code) return;
    std::fprintf(stderr, "%s answered error %d\n", what, int(code));
    std::exit(1);
}

}  // namespace

int main(int count, char** arguments) {
    void* library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : nullptr;
    if (!library) return std::fprintf(stderr, "%s\n", count == 2 ? dlerror() : "usage: smoke LIBRARY"), 1;
#define CALL(name, ...) check(reinterpret_cast<decltype(&name)>(dlsym(library, #name))(__VA_ARGS__), #name)

    constexpr unsigned n = 1000;
    float x[n], y[n];
    for (unsigned i = 0; i < n; ++i) x[i] = float(i) / 4, y[i] = -1;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr dx, dy;
    unsigned size = n;
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, device);
    CALL(cuCtxSetCurrent, context);
    CALL(cuModuleLoadData, &module, ptx);
    CALL(cuModuleGetFunction, &kernel, module, "smoke");
    CALL(cuMemAlloc_v2, &dx, sizeof x);
    CALL(cuMemAlloc_v2, &dy, sizeof y);
    CALL(cuMemcpyHtoD_v2, dx, x, sizeof x);
    CALL(cuMemcpyHtoD_v2, dy, y, sizeof y);
    void* parameters[] = {&dx, &dy, &size};
    CALL(cuLaunchKernel, kernel, (n + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr);
    CALL(cuMemcpyDtoH_v2, y, dy, sizeof y);
    for (unsigned i = 0; i < n; ++i)
        if (y[i] != 2 * x[i] + 31 * 16) return std::fprintf(stderr, "y[%u] is %g\n", i, double(y[i])), 1;
    std::printf("%u right answers\n", n);
}
