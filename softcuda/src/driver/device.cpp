// cuInit and what can be asked of the device.  There is one; it lives from cuInit until the process is gone, so that
// threads still at work when the program ends find everything in its place.
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "driver/driver.h"
#include "driver/settings.h"
#include "generated/profiles.h"

namespace softcuda::driver {

namespace {
std::mutex start_mutex;
std::atomic<Device*> the_device{nullptr};
std::atomic<bool> in_child{false};
}  // namespace

Handles& handles() {
    static Handles* all = new Handles;
    return *all;
}

bool forked() { return in_child.load(std::memory_order_relaxed); }

Device::Device(const DeviceProfile& profile, uint64_t capacity, const MachineConfig& config)
    : profile(&profile),
      name(std::string(profile.name) + " (softcuda)"),
      memory(capacity),
      machine(with_services(config), memory) {}

bool Device::has_attribute(CUdevice_attribute attribute, int& value) const {
    for (size_t i = 0; i < profile->count; ++i)
        if (profile->attributes[i][0] == int(attribute)) {
            value = profile->attributes[i][1];
            return true;
        }
    return false;
}

int Device::attribute(CUdevice_attribute attribute, int otherwise) const {
    int value = otherwise;
    has_attribute(attribute, value);
    return value;
}

int Device::profile_major() const { return profile->major; }

Device& device() {
    Device* device = the_device.load(std::memory_order_acquire);
    require(device != nullptr, CUDA_ERROR_NOT_INITIALIZED);
    return *device;
}

void start_device() {
    std::lock_guard lock(start_mutex);
    if (the_device) return;
    Settings settings = read_settings();
    the_device = new Device(*settings.profile, settings.memory, settings.machine);
    // Threads do not survive fork(), so neither does the device: in the child every call answers NOT_INITIALIZED.
    pthread_atfork(nullptr, nullptr, [] { in_child = true; });
}

void check_device(CUdevice ordinal) { require(ordinal == 0, CUDA_ERROR_INVALID_DEVICE); }

namespace {

std::string bus_id(const Device& device) {
    char text[32];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", device.attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
                  device.attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
                  device.attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
    return text;
}

void copy_text(const std::string& text, char* out, int length) {
    require(out && length > 0);
    size_t count = std::min(text.size(), size_t(length - 1));
    std::memcpy(out, text.data(), count);
    out[count] = 0;
}

}  // namespace
}  // namespace softcuda::driver

using namespace softcuda::driver;

CUresult cuInit(unsigned flags) {
    return guarded([&] {
        require(flags == 0);
        start_device();
    });
}

CUresult cuDriverGetVersion(int* version) {
    return guarded([&] {
        require(version);
        *version = CUDA_VERSION;
    });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    return with_device([&](Device&) {
        require(device);
        check_device(ordinal);
        *device = 0;
    });
}

CUresult cuDeviceGetCount(int* count) {
    return with_device([&](Device&) {
        require(count);
        *count = 1;
    });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice ordinal) {
    return with_device([&](Device& device) {
        check_device(ordinal);
        copy_text(device.name, name, length);
    });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
    return with_device([&](Device& device) {
        require(uuid);
        check_device(ordinal);
        std::memset(uuid->bytes, 0, sizeof uuid->bytes);  // "softcuda" and the profile's name: the same on every run
        std::memcpy(uuid->bytes, "softcuda", 8);
        std::strncpy(uuid->bytes + 8, device.profile->id, 8);
    });
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice ordinal) {
    return with_device([&](Device& device) {
        require(bytes);
        check_device(ordinal);
        *bytes = device.memory.capacity();
    });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
    return with_device([&](Device& device) {
        require(value);
        check_device(ordinal);
        require(device.has_attribute(attribute, *value));
    });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice ordinal) {
    return with_device([&](Device& device) {
        require(major && minor);
        check_device(ordinal);
        *major = device.profile->major;
        *minor = device.profile->minor;
    });
}

CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice ordinal) {
    return with_device([&](Device& device) {
        require(properties);
        check_device(ordinal);
        auto get = [&](CUdevice_attribute which) { return device.attribute(which); };
        properties->maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        for (int i = 0; i < 3; ++i) {
            properties->maxThreadsDim[i] = get(CUdevice_attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i));
            properties->maxGridSize[i] = get(CUdevice_attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i));
        }
        properties->sharedMemPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
        properties->totalConstantMemory = get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
        properties->SIMDWidth = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
        properties->memPitch = get(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
        properties->regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
        properties->clockRate = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
        properties->textureAlign = get(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    });
}

CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice ordinal) {
    return with_device([&](Device& device) {
        check_device(ordinal);
        copy_text(bus_id(device), id, length);
    });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* ordinal, const char* id) {
    return with_device([&](Device& device) {
        require(ordinal && id);
        unsigned domain = 0, bus = 0, slot = 0;
        require(std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) == 3 ||
                (domain = 0, std::sscanf(id, "%x:%x", &bus, &slot) == 2));
        char text[32];
        std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", domain & 0xffff, bus & 0xff, slot & 0xff);
        require(bus_id(device) == text, CUDA_ERROR_INVALID_DEVICE);
        *ordinal = 0;
    });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice ordinal, CUdevice peer) {
    return with_device([&](Device&) {
        require(can);
        check_device(ordinal);
        check_device(peer);
        *can = 0;
    });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute, CUdevice source, CUdevice destination) {
    return with_device([&](Device&) {
        require(value);
        check_device(source);
        check_device(destination);
        fail(CUDA_ERROR_INVALID_DEVICE);  // a device has no such relation to itself
    });
}

// Nothing to profile with yet; programs that bracket a region with these keep working.
CUresult cuProfilerInitialize(const char*, const char*, int) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuProfilerStart() {
    return in_context([](auto&) {});
}
CUresult cuProfilerStop() {
    return in_context([](auto&) {});
}
