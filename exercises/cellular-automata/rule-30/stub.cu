// One step of rule 30 on a ring of 32 * n cells: cell i is bit i % 32 of word i / 32.
__global__ void rule30(const unsigned* cells, unsigned* next, int n) {
    // your code
    // end of your code
}
