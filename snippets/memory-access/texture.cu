// The same strided sum three ways: by plain loads, by loads that may use the read-only path, and through a texture.
// Only for a GPU: softcuda has no textures.
using Index = long long;

constexpr int UNROLL = 8;  // independent loads of a thread, as in stride.cu

struct Plain {
    const unsigned* data;
    __device__ unsigned operator[](Index i) const { return data[i]; }
};

struct ReadOnly {
    const unsigned* data;
    __device__ unsigned operator[](Index i) const { return __ldg(data + i); }
};

struct Texture {
    cudaTextureObject_t object;
    __device__ unsigned operator[](Index i) const { return tex1Dfetch<unsigned>(object, (int)i); }
};

template <typename Data>
__device__ void sum_strided(Data data, unsigned* sums, Index count, Index stride) {
    Index thread = (Index)blockIdx.x * blockDim.x + threadIdx.x, threads = (Index)gridDim.x * blockDim.x;
    unsigned sum = 0;
    Index k = thread;
    for (; k + (UNROLL - 1) * threads < count; k += UNROLL * threads) {
        unsigned word[UNROLL];
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) word[j] = data[(k + j * threads) * stride];
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) sum += word[j];
    }
    for (; k < count; k += threads) sum += data[k * stride];
    sums[thread] = sum;
}

extern "C" {
__global__ void sum_plain(const unsigned* data, unsigned* sums, Index count, Index stride) {
    sum_strided(Plain{data}, sums, count, stride);
}
__global__ void sum_read_only(const unsigned* data, unsigned* sums, Index count, Index stride) {
    sum_strided(ReadOnly{data}, sums, count, stride);
}
__global__ void sum_texture(cudaTextureObject_t data, unsigned* sums, Index count, Index stride) {
    sum_strided(Texture{data}, sums, count, stride);
}
}
