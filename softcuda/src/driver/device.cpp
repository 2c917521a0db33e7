// cuInit and what can be asked of devices.  They live from cuInit until the process is gone, so that threads still at
// work when the program ends find everything in its place.
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "driver/driver.h"
#include "driver/settings.h"
#include "generated/profiles.h"
#include "inspect/inspector.h"
#include "machine/observer.h"

namespace softcuda::driver {

namespace {
std::mutex start_mutex;
std::atomic<const std::vector<Device*>*> devices{nullptr};
thread_local Device* chosen = nullptr;
std::atomic<bool> in_child{false};
}  // namespace

Handles& handles() {
    static Handles* all = new Handles;
    return *all;
}

bool forked() { return in_child.load(std::memory_order_relaxed); }

Device::Device(CUdevice ordinal, const DeviceProfile& profile, uint64_t capacity, const MachineConfig& config)
    : ordinal(ordinal),
      profile(&profile),
      name(std::string(profile.name) + " (softcuda)"),
      memory(capacity),
      machine(with_services(config, *this), memory) {}

bool Device::has_attribute(CUdevice_attribute attribute, int& value) const {
    for (size_t i = 0; i < profile->count; ++i)
        if (profile->attributes[i][0] == int(attribute)) {
            value = profile->attributes[i][1];
            if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) value += ordinal;
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

const std::vector<Device*>& all_devices() {
    auto* all = devices.load(std::memory_order_acquire);
    require(all != nullptr, CUDA_ERROR_NOT_INITIALIZED);
    return *all;
}

int device_count() { return int(all_devices().size()); }

Device& device(CUdevice ordinal) {
    require(ordinal >= 0 && ordinal < device_count(), CUDA_ERROR_INVALID_DEVICE);
    return *all_devices()[size_t(ordinal)];
}

Device& device() {
    if (chosen) return *chosen;
    auto& all = all_devices();
    if (all.size() > 1)
        if (Device* current = device_of_current_context()) return *current;
    return *all[0];
}

OnDevice::OnDevice(Device& device) : outer_(std::exchange(chosen, &device)) {}
OnDevice::~OnDevice() { chosen = outer_; }

Located locate(uint64_t address) {
    if (!address) return {};
    auto search = [&](Device& where) -> Located {
        auto view = where.memory.view();
        const Allocation* allocation = Memory::find(*view, address);
        return {&where, std::move(view), allocation};
    };
    Device& own = device();
    if (Located found = search(own)) return found;
    for (Device* other : all_devices())
        if (other != &own)
            if (Located found = search(*other)) return found;
    return {};
}

bool can_access_peer(const Device& device, const Device& peer) {
    return &device != &peer && device.profile == peer.profile && std::strcmp(device.profile->peers, "none") != 0;
}

bool peers_share_a_link(const Device& device) { return std::strcmp(device.profile->peers, "nvlink") == 0; }

void start_devices() {
    std::lock_guard lock(start_mutex);
    if (devices) return;
    auto* all = new std::vector<Device*>;
    for (const Settings& settings : read_settings()) {
        auto* made = new Device(CUdevice(all->size()), *settings.profile, settings.memory, settings.machine);
        // L1 and shared memory are one; the profile gives the part that shared memory can have, which is nearly all.
        made->machine.set_observer(inspect::inspector(
            made->ordinal, uint32_t(made->attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)),
            uint32_t(settings.machine.warps_per_sm)));
        all->push_back(made);
    }
    devices = all;
    if ((*all)[0]->machine.observed())
        std::atexit([] {
            if (forked()) return;
            for (Device* gpu : *devices) {
                const auto view = gpu->memory.view();
                for (const Allocation& allocation : *view)
                    if (allocation.context) gpu->machine.observer()->leaked(allocation);
                gpu->machine.observer()->process_end();
            }
        });
    // Threads do not survive fork(), so neither do devices: in the child every call answers NOT_INITIALIZED.
    pthread_atfork(nullptr, nullptr, [] { in_child = true; });
}

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

// After cuInit, with the device that is asked about.
template <class Body>
CUresult on_device(CUdevice ordinal, Body&& body) {
    return with_device([&](Device&) { body(driver::device(ordinal)); });
}

}  // namespace
}  // namespace softcuda::driver

using namespace softcuda::driver;
namespace driver = softcuda::driver;

CUresult cuInit(unsigned flags) {
    return guarded([&] {
        require(flags == 0);
        start_devices();
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
        if (ordinal >= device_count())
            fail(CUDA_ERROR_INVALID_DEVICE, "there is no device " + std::to_string(ordinal) +
                                                ", the first is 0: SOFTCUDA_DEVICES=" + std::to_string(ordinal + 1) +
                                                " gives " + std::to_string(ordinal + 1));
        *device = driver::device(ordinal).ordinal;
    });
}

CUresult cuDeviceGetCount(int* count) {
    return with_device([&](Device&) {
        require(count);
        *count = device_count();
    });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice ordinal) {
    return on_device(ordinal, [&](Device& device) { copy_text(device.name, name, length); });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
    return on_device(ordinal, [&](Device& device) {
        require(uuid);
        std::memset(uuid->bytes, 0, sizeof uuid->bytes);  // "softcuda" and the profile's name: the same on every run
        std::memcpy(uuid->bytes, "softcuda", 8);
        std::strncpy(uuid->bytes + 8, device.profile->id, 7);
        uuid->bytes[15] = char(device.ordinal);
    });
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice ordinal) {
    return on_device(ordinal, [&](Device& device) {
        require(bytes);
        *bytes = device.memory.capacity();
    });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
    return on_device(ordinal, [&](Device& device) {
        require(value);
        require(device.has_attribute(attribute, *value));
    });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice ordinal) {
    return on_device(ordinal, [&](Device& device) {
        require(major && minor);
        *major = device.profile->major;
        *minor = device.profile->minor;
    });
}

CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice ordinal) {
    return on_device(ordinal, [&](Device& device) {
        require(properties);
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
    return on_device(ordinal, [&](Device& device) { copy_text(bus_id(device), id, length); });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* ordinal, const char* id) {
    return with_device([&](Device&) {
        require(ordinal && id);
        unsigned domain = 0, bus = 0, slot = 0;
        require(std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) == 3 ||
                (domain = 0, std::sscanf(id, "%x:%x", &bus, &slot) == 2));
        char text[32];
        std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", domain & 0xffff, bus & 0xff, slot & 0xff);
        for (int i = 0; i < device_count(); ++i)
            if (bus_id(driver::device(i)) == text) {
                *ordinal = i;
                return;
            }
        fail(CUDA_ERROR_INVALID_DEVICE);
    });
}

// The identifier that Windows gives an adapter; elsewhere there is none.
CUresult cuDeviceGetLuid(char* luid, unsigned* mask, CUdevice ordinal) {
    return on_device(ordinal, [&](Device&) {
        require(luid && mask);
        fail(CUDA_ERROR_NOT_SUPPORTED);
    });
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* width, CUarray_format, unsigned, CUdevice ordinal) {
    return on_device(ordinal, [&](Device& device) {
        require(width);
        *width = size_t(device.attribute(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH));
    });
}

CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType type, CUdevice ordinal) {
    return on_device(ordinal, [&](Device&) {
        require(supported && type == CU_EXEC_AFFINITY_TYPE_SM_COUNT);
        *supported = 0;
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
