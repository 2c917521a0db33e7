// What PyCUDA asks of NVIDIA's header of this name.  The library, 127 MB, is opened when a function is called: with the
// package nvidia-curand pycuda.curandom has its generators; without it the version is 0, and PyCUDA leaves them out.
#pragma once

#include <dlfcn.h>

enum curandStatus_t { CURAND_STATUS_SUCCESS = 0, CURAND_STATUS_NOT_INITIALIZED = 101 };

enum curandDirectionVectorSet_t {
    CURAND_DIRECTION_VECTORS_32_JOEKUO6 = 101,
    CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102,
    CURAND_DIRECTION_VECTORS_64_JOEKUO6 = 103,
    CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104
};

typedef unsigned int curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];

namespace softcuda {

template <typename... Parameters>
curandStatus_t call_curand(const char* function, Parameters... parameters) {
    static void* const library = dlopen("libcurand.so.10", RTLD_NOW | RTLD_LOCAL);
    void* const found = library ? dlsym(library, function) : nullptr;
    return found ? reinterpret_cast<curandStatus_t (*)(Parameters...)>(found)(parameters...)
                 : CURAND_STATUS_NOT_INITIALIZED;
}

}  // namespace softcuda

inline curandStatus_t curandGetVersion(int* version) { return softcuda::call_curand("curandGetVersion", version); }

inline curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t** vectors,
                                                  curandDirectionVectorSet_t set) {
    return softcuda::call_curand("curandGetDirectionVectors32", vectors, set);
}

inline curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t** vectors,
                                                  curandDirectionVectorSet_t set) {
    return softcuda::call_curand("curandGetDirectionVectors64", vectors, set);
}

inline curandStatus_t curandGetScrambleConstants32(unsigned int** constants) {
    return softcuda::call_curand("curandGetScrambleConstants32", constants);
}

inline curandStatus_t curandGetScrambleConstants64(unsigned long long** constants) {
    return softcuda::call_curand("curandGetScrambleConstants64", constants);
}
