// edge = the label where one of the 8 neighbours has another class, else 255; void (255) and the frame do not count.
__global__ void edges(const unsigned char* labels, unsigned char* edge, int h, int w) {
    // your code
    // end of your code
}
