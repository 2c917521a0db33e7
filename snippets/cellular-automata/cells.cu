// Cellular automata on a ring or a torus. Every cell asks its neighbours, and all change at once.
//
//   rule110       one row, 32 cells a word: the rule in three logical operations
//   life_bytes    one cell a thread, one byte a cell
//   life_words    four cells a thread, one byte a cell: four sums in one addition
//   life_bits     32 cells a thread, one bit a cell: 32 sums in the bits of a few words
using Index = long long;

constexpr int ROWS = 8;  // rows that a thread of life_words and life_bits goes down

extern "C" {

// --8<-- [start:rule110]
// Cell i of a row is bit i % 32 of word i / 32; its left neighbour is cell i - 1. Of the eight patterns
// "left, self, right" all give 1 but 111, 100 and 000.
__global__ void rule110(const unsigned* in, unsigned* out, int words) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words) return;
    unsigned self = in[i], before = in[i ? i - 1 : words - 1], after = in[i + 1 < words ? i + 1 : 0];
    unsigned left = __funnelshift_l(before, self, 1), right = __funnelshift_r(self, after, 1);
    out[i] = (self ^ right) | (self & ~left);
}
// --8<-- [end:rule110]

// --8<-- [start:bytes]
__global__ void life_bytes(const unsigned char* in, unsigned char* out, int height, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width) return;
    int left = x ? x - 1 : width - 1, right = x + 1 < width ? x + 1 : 0;
    Index row = (Index)y * width, above = (Index)(y ? y - 1 : height - 1) * width;
    Index below = (Index)(y + 1 < height ? y + 1 : 0) * width;
    int around = in[above + left] + in[above + x] + in[above + right] + in[row + left] + in[row + right] +
                 in[below + left] + in[below + x] + in[below + right];
    out[row + x] = around == 3 || (around == 2 && in[row + x]);
}
// --8<-- [end:bytes]

}  // extern "C"

// --8<-- [start:rows]
// A thread goes down ROWS rows of one column of words, and keeps what it made of the two rows above.
template <class Row, class Make, class Next>
__device__ void down(const unsigned* __restrict__ in, unsigned* __restrict__ out, int height, int words,
                     const Make& make, const Next& next) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * ROWS;
    if (x >= words) return;
    int left = x ? x - 1 : words - 1, right = x + 1 < words ? x + 1 : 0;
    unsigned all = (unsigned)height * words, at = (unsigned)y * words;  // where a row begins
    auto row = [&](unsigned at) { return make(in[at + left], in[at + x], in[at + right]); };
    Row above = row(y ? at - words : all - words), self = row(at);
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {
        unsigned here = at + x;
        at = at + words < all ? at + words : 0;
        Row below = row(at);
        if (y + k < height) out[here] = next(above, self, below);
        above = self, self = below;
    }
}
// --8<-- [end:rows]

extern "C" {

// --8<-- [start:words]
struct Four {
    unsigned cells, sum;  // four cells, a byte each; each with its left and right neighbours
};

__global__ void life_words(const unsigned* __restrict__ in, unsigned* __restrict__ out, int height, int words) {
    auto make = [](unsigned left, unsigned self, unsigned right) {
        return Four{self, __funnelshift_l(left, self, 8) + self + __funnelshift_r(self, right, 8)};
    };
    auto next = [](Four above, Four self, Four below) {
        unsigned all = above.sum + self.sum + below.sum;             // nine cells: 3 lives, 4 stays as it is
        unsigned three = all ^ 0x03030303, four = all ^ 0x04040404;  // 0 where it is so; no byte above 15
        three = ~(three | three >> 1 | three >> 2 | three >> 3);
        four = ~(four | four >> 1 | four >> 2 | four >> 3);
        return (three | (four & self.cells)) & 0x01010101;
    };
    down<Four>(in, out, height, words, make, next);
}
// --8<-- [end:words]

// --8<-- [start:bits]
__device__ unsigned majority(unsigned a, unsigned b, unsigned c) { return (a & b) | (c & (a | b)); }

struct Bits {
    unsigned cells, one, two;  // 32 cells; each with its left and right neighbours: the sum's two binary digits
};

__global__ void life_bits(const unsigned* __restrict__ in, unsigned* __restrict__ out, int height, int words) {
    auto make = [](unsigned left, unsigned self, unsigned right) {
        unsigned l = __funnelshift_l(left, self, 1), r = __funnelshift_r(self, right, 1);
        return Bits{self, l ^ self ^ r, majority(l, self, r)};  // a full adder, 32 times
    };
    auto next = [](Bits above, Bits self, Bits below) {
        unsigned ones = above.one ^ self.one ^ below.one, carry = majority(above.one, self.one, below.one);
        unsigned twos = above.two ^ self.two ^ below.two, fours = majority(above.two, self.two, below.two);
        unsigned one_two = (twos ^ carry) & ~fours;                 // of three twos and the carry exactly one is there
        unsigned two_twos = ~(twos ^ carry) & (twos ^ fours);       // exactly two
        return (ones & one_two) | (~ones & two_twos & self.cells);  // nine cells: 3 lives, 4 stays as it is
    };
    down<Bits>(in, out, height, words, make, next);
}
// --8<-- [end:bits]

// The yardstick: copy 16 bytes a thread.
__global__ void copy(const uint4* in, uint4* out, Index packs) {
    Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < packs) out[i] = in[i];
}

}  // extern "C"
