// What is refused says so by its name.
#include "require.h"

int main() {
    cudaGraph_t graph;
    ANSWERS(cudaErrorNotSupported, cudaGraphCreate(&graph, 0));
    ANSWERS(cudaErrorNotSupported, cudaGraphCreate(&graph, 0));  // which is said once
    REQUIRE(cudaGetLastError() == cudaErrorNotSupported);
    ANSWERS(cudaErrorNotSupported, cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
    cudaTextureObject_t texture;
    ANSWERS(cudaErrorNotSupported, cudaCreateTextureObject(&texture, nullptr, nullptr, nullptr));
    std::puts("ok");
}
