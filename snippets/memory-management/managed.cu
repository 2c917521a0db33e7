// Two ways to touch managed memory: all at once, and page by page with a watch in hand.

// --8<-- [start:total]
// Adds one to every word, and leaves each thread's sum of what it found.
extern "C" __global__ void total(unsigned* data, unsigned* shares, long long n) {
    long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x, stride = (long long)gridDim.x * blockDim.x;
    unsigned sum = 0;
    for (long long i = first; i < n; i += stride) {
        unsigned x = data[i];
        sum += x;
        data[i] = x + 1;
    }
    shares[first] = sum;
}
// --8<-- [end:total]

// --8<-- [start:walk]
// One thread goes from page to page; the first word of each says which is next. It notes the time at every step.
// The next address is what the last load brings, so each step begins when the one before is over.
extern "C" __global__ void walk(const unsigned* data, unsigned* visited, unsigned long long* stamps, int pages,
                                int words) {
    unsigned page = 0;
    for (int i = 0; i <= pages; ++i) {
        visited[i] = page;
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(stamps[i])::"memory");
        if (i < pages) page = *(volatile const unsigned*)(data + (long long)page * words);
    }
}
// --8<-- [end:walk]
