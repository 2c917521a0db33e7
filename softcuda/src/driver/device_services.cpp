// What kernels that launch kernels ask the driver: attributes, and whether a launch can be.
#include <cstring>

#include "driver/module.h"
#include "driver/occupancy.h"
#include "machine/device_runtime.h"
#include "machine/layout.h"

namespace softcuda::driver {
namespace {

Kernel kernel_of(const Program& program, const Function& function) {
    Kernel kernel;
    kernel.function = &function;
    kernel.target = target_number(program);
    kernel.max_dynamic_shared = function.dynamic_shared_opted;
    return kernel;
}

class Services : public DeviceServices {
  public:
    explicit Services(Device& device) : gpu_(device) {}

    bool attribute(int which, int& value) const override {  // cudaDeviceAttr counts as CUdevice_attribute does
        return gpu_.has_attribute(CUdevice_attribute(which), value);
    }

    int check(const Program& program, const Function& function, LaunchConfig& config, std::string& why) const override {
        OnDevice scope(gpu_);
        Kernel kernel = kernel_of(program, function);
        return check_device_launch(kernel, config, why);
    }

    int blocks_per_sm(const Program& program, const Function& function, int threads, uint64_t shared) const override {
        OnDevice scope(gpu_);
        return occupancy(gpu_, kernel_of(program, function), threads, shared).limit();
    }

    std::vector<std::byte> attributes(const Program& program, const Function& function) const override {
        OnDevice scope(gpu_);
        const Kernel kernel = kernel_of(program, function);
        auto value = [&](CUfunction_attribute attribute) { return attribute_of(kernel, attribute); };
        struct {  // cudaFuncAttributes
            size_t shared, constant, local;
            int max_threads, registers, ptx_version, binary_version, cached, dynamic_shared, carveout;
            int cluster_must_be_set, cluster_width, cluster_height, cluster_depth, cluster_policy, any_cluster;
            int reserved[16];
            int padding;
        } all{};
        all.shared = size_t(value(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
        all.constant = size_t(value(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
        all.local = size_t(value(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
        all.max_threads = value(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        all.registers = value(CU_FUNC_ATTRIBUTE_NUM_REGS);
        all.ptx_version = value(CU_FUNC_ATTRIBUTE_PTX_VERSION);
        all.binary_version = value(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
        all.dynamic_shared = value(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
        all.carveout = value(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
        all.cluster_width = value(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
        all.cluster_height = value(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
        all.cluster_depth = value(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
        static_assert(sizeof all == 144);
        std::vector<std::byte> bytes(sizeof all);
        std::memcpy(bytes.data(), &all, sizeof all);
        return bytes;
    }

    void say(const std::string& message) const override {
        if (!quiet()) driver::say(message);
    }

  private:
    Device& gpu_;
};

}  // namespace

MachineConfig with_services(MachineConfig config, Device& device) {
    config.services = new Services(device);  // as long as the device: until the process is gone
    return config;
}

}  // namespace softcuda::driver
