// Lanes of one warp that wait for one another. Every wait gives up after `patience` looks, so nothing can hang.
#include <cuda/atomic>

// --8<-- [start:wait]
using Flag = cuda::atomic_ref<int, cuda::thread_scope_block>;

// Look at the flag until it has this value; false if it never had.
__device__ bool wait_for(int& flag, int value, int patience) {
    Flag f(flag);
    for (int look = 0; look < patience; ++look)
        if (f.load(cuda::memory_order_acquire) == value) return true;
    return false;
}

__device__ void set(int& flag, int value) { Flag(flag).store(value, cuda::memory_order_release); }
// --8<-- [end:wait]

extern "C" {

// --8<-- [start:ping_pong]
// Lanes 0 and 1 pass a number to and fro; each adds its own key. Launch one warp.
__global__ void ping_pong(const unsigned* keys, unsigned* result, int* gave_up, int rounds, int patience) {
    __shared__ int turn;
    __shared__ unsigned ball;
    int lane = threadIdx.x;
    if (lane == 0) turn = 0, ball = 1;
    __syncwarp();
    if (lane == 0) {
        for (int r = 0; r < rounds; ++r) {
            if (!wait_for(turn, 0, patience)) return set(*gave_up, 1);
            ball = ball * 3 + keys[0];
            set(turn, 1);
        }
    } else if (lane == 1) {
        for (int r = 0; r < rounds; ++r) {
            if (!wait_for(turn, 1, patience)) return set(*gave_up, 1);
            ball = ball * 5 + keys[1];
            set(turn, 0);
        }
        *result = ball;
    }
}
// --8<-- [end:ping_pong]

// --8<-- [start:relay]
// All 32 lanes, in an order given by place[]: each waits for its turn, and only then lets the next one go.
__global__ void relay(const int* place, const unsigned* keys, unsigned* seen, int* gave_up, int patience) {
    __shared__ int turn;
    __shared__ unsigned baton;
    int lane = threadIdx.x;
    if (lane == 0) turn = 0, baton = 1;
    __syncwarp();
    if (!wait_for(turn, place[lane], patience)) return set(*gave_up, 1);
    seen[lane] = baton = baton * 31 + keys[lane];
    set(turn, place[lane] + 1);
}
// --8<-- [end:relay]

}  // extern "C"
