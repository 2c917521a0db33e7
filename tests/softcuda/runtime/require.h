// What the programs beside it share: a condition that ends the program with its line, and calls that must succeed.
#pragma once

#include <cstdio>
#include <cstdlib>

#define REQUIRE(condition)                                                       \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)
#define ANSWERS(error, call)                                                                                     \
    do {                                                                                                         \
        const cudaError_t answer = (call);                                                                       \
        if (answer != (error)) {                                                                                 \
            std::fprintf(stderr, "%s:%d: %s answers %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(answer)); \
            std::exit(1);                                                                                        \
        }                                                                                                        \
    } while (0)
#define OK(call) ANSWERS(cudaSuccess, call)
