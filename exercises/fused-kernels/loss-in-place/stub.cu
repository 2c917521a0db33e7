// loss[r] = the cross-entropy of row r; the row becomes its gradient. A block takes a row.
__global__ void loss_in_place(float* logits, const int* label, float* loss, int n) {
    // your code
    // end of your code
}
