// Tensors in, addresses out. `launch` is in driver.cpp (driver API) or in runtime.cu (<<<>>>'s own function).
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

#include <string>
#include <vector>

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

void launch(const char* kernel, unsigned blocks, unsigned x, unsigned y, void* stream, void** arguments);

// --8<-- [start:call]
void call(std::string kernel, std::vector<Tensor> tensors, std::vector<int64_t> numbers, int64_t blocks, int64_t x,
          int64_t y, int64_t stream) {
    std::vector<void*> addresses, arguments;
    for (const Tensor& t : tensors) {
        ScalarType type = t.scalar_type();
        STD_TORCH_CHECK(type == ScalarType::Float || type == ScalarType::Long, "built for float and int64");
        STD_TORCH_CHECK(t.is_contiguous(), "a tensor is not contiguous");
        addresses.push_back(t.mutable_data_ptr());
    }
    for (void*& address : addresses) arguments.push_back(&address);
    for (int64_t& number : numbers) arguments.push_back(&number);
    launch(kernel.c_str(), blocks, x, y, reinterpret_cast<void*>(stream), arguments.data());
}

STABLE_TORCH_LIBRARY(NAME, m) {
    m.def("launch(str kernel, Tensor(a!)[] tensors, int[] numbers, int blocks, int x, int y, int stream) -> ()");
}
STABLE_TORCH_LIBRARY_IMPL(NAME, CompositeExplicitAutograd, m) { m.impl("launch", TORCH_BOX(&call)); }
// --8<-- [end:call]
