// Does a grammar in Chomsky normal form derive a string? One block a string, one anti-diagonal of the table at a time.
// A cell is the set of variables that derive a part of the string, a bit each: the cell of the `length` letters that
// begin at `start` is the union, over every way to cut them in two, of the variables with a rule for both parts.
//
//   cyk_one           one table, by start: left parts of one start lie in a row, right parts are a row apart
//   cyk_two           the table twice, by start and by end: right parts of one end lie in a row, too
//   cyk_one_lookup    as cyk_one, but what two sets give is looked up, not worked out
//   cyk_two_lookup    as cyk_two, likewise
using Set = unsigned;

constexpr int WARP = 32, MOST_RULES = 64;
extern __shared__ uint4 room[];  // of the last two kernels: 256 × 256 sets of at most eight variables, a byte each

// --8<-- [start:join]
// The variables of a cell from those of its two parts. A rule is three bytes: A and the B C that it becomes.
struct ByRules {
    const unsigned* rules;
    int count;

    __device__ Set operator()(Set left, Set right) const {
        Set both = 0;
        for (int r = 0; r < count; ++r) {
            unsigned rule = rules[r];
            both |= (left >> (rule >> 8 & 31) & right >> (rule & 31) & 1) << (rule >> 16);
        }
        return both;
    }
};
// --8<-- [end:join]

// --8<-- [start:lookup]
struct ByTable {
    const unsigned char* sets;

    __device__ Set operator()(Set left, Set right) const { return sets[left << 8 | right]; }
};
// --8<-- [end:lookup]

// --8<-- [start:one]
// words: n letters a string, already as sets: the variables that derive this letter. table: n rows of n + 1 a string.
template <class Join>
__device__ void by_start(const Set* words, Set* tables, Set* derives, int n, const Join& join) {
    Set* table = tables + (size_t)2 * n * (n + 1) * blockIdx.x;
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    for (int i = threadIdx.x; i < n; i += blockDim.x) table[i * (n + 1) + 1] = words[n * blockIdx.x + i];
    for (int length = 2; length <= n; ++length) {
        __syncthreads();  // the shorter parts are there
        for (int start = warp; start + length <= n; start += warps) {
            Set set = 0;
            for (int k = 1 + lane; k < length; k += WARP)
                set |= join(table[start * (n + 1) + k], table[(start + k) * (n + 1) + length - k]);
            set = __reduce_or_sync(~0u, set);
            if (lane == 0) table[start * (n + 1) + length] = set;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) derives[blockIdx.x] = table[n] & 1;
}
// --8<-- [end:one]

// --8<-- [start:two]
template <class Join>
__device__ void by_start_and_end(const Set* words, Set* tables, Set* derives, int n, const Join& join) {
    Set* from = tables + (size_t)2 * n * (n + 1) * blockIdx.x;  // from[start][length]
    Set* upto = from + n * (n + 1) - (n + 1);                   // upto[end][length], and no part ends at 0
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        from[i * (n + 1) + 1] = upto[(i + 1) * (n + 1) + 1] = words[n * blockIdx.x + i];
    for (int length = 2; length <= n; ++length) {
        __syncthreads();  // the shorter parts are there
        for (int start = warp; start + length <= n; start += warps) {
            int end = start + length;
            Set set = 0;
            for (int k = 1 + lane; k < length; k += WARP)
                set |= join(from[start * (n + 1) + k], upto[end * (n + 1) + length - k]);
            set = __reduce_or_sync(~0u, set);
            if (lane == 0) from[start * (n + 1) + length] = upto[end * (n + 1) + length] = set;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) derives[blockIdx.x] = from[n] & 1;
}
// --8<-- [end:two]

__device__ ByRules rules_of(const unsigned* bodies, int count) {
    __shared__ unsigned rules[MOST_RULES];
    if (threadIdx.x < count) rules[threadIdx.x] = bodies[threadIdx.x];
    __syncthreads();
    return {rules, count};
}

// --8<-- [start:fill]
__device__ ByTable table_of(const uint4* sets) {
    for (int i = threadIdx.x; i < 65536 / 16; i += blockDim.x) room[i] = sets[i];
    __syncthreads();
    return {(const unsigned char*)room};
}
// --8<-- [end:fill]

extern "C" {

// --8<-- [start:kernel_one]
__global__ void cyk_one(const Set* words, const unsigned* bodies, int count, const uint4*, Set* tables, Set* derives,
                        int n) {
    by_start(words, tables, derives, n, rules_of(bodies, count));
}
// --8<-- [end:kernel_one]

// --8<-- [start:kernel_two]
__global__ void cyk_two(const Set* words, const unsigned* bodies, int count, const uint4*, Set* tables, Set* derives,
                        int n) {
    by_start_and_end(words, tables, derives, n, rules_of(bodies, count));
}
// --8<-- [end:kernel_two]

__global__ void cyk_one_lookup(const Set* words, const unsigned*, int, const uint4* sets, Set* tables, Set* derives,
                               int n) {
    by_start(words, tables, derives, n, table_of(sets));
}

__global__ void cyk_two_lookup(const Set* words, const unsigned*, int, const uint4* sets, Set* tables, Set* derives,
                               int n) {
    by_start_and_end(words, tables, derives, n, table_of(sets));
}

}  // extern "C"
