// In which erosion by 3 x 3 a pixel disappears: 1, 2, ...; 0 where mask is 0. One block of 32 x 32 threads; h, w <= 32.
__global__ void peel(const unsigned char* mask, int* round, int h, int w) {
    // your code
    // end of your code
}
