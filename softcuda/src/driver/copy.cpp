#include "driver/copy.h"

#include <cstring>

#include "driver/interrupt.h"
#include "machine/observer.h"

namespace softcuda::driver {

namespace {
constexpr size_t staging_limit =
    1 << 20;  // asynchronous uploads up to this size are snapshotted, larger ones waited for
}

void Copy::execute() const {
    const auto target = reinterpret_cast<uint64_t>(to.base);
    if (to.place == Place::device && device().machine.observed())
        if (const Located at = locate(target))
            for (size_t z = 0; z < depth; ++z)
                for (size_t y = 0; y < height; ++y)
                    at.device->machine.observer()->written(target + z * to.plane + y * to.pitch, width);
    bool flat = height == 1 && depth == 1;
    if (flat) {
        std::memmove(to.base, from.base, width);  // D2D within one buffer may overlap
        return;
    }
    for (size_t z = 0; z < depth; ++z)
        for (size_t y = 0; y < height; ++y)
            std::memmove(to.base + z * to.plane + y * to.pitch, from.base + z * from.plane + y * from.pitch, width);
}

Side device_side(CUdeviceptr address) {
    Side side;
    side.base = reinterpret_cast<std::byte*>(address);
    Located allocation = locate(address);
    if (allocation && (allocation->kind == MemoryKind::pinned || allocation->kind == MemoryKind::registered))
        side.place = Place::pinned;
    if (allocation) side.pages = allocation->pages;
    return side;
}

Side host_side(const void* host) {
    const auto address = reinterpret_cast<uint64_t>(host);
    Side side;
    side.base = static_cast<std::byte*>(const_cast<void*>(host));
    Located allocation = locate(address);
    // What cannot be the host's is a device's, freed or wild: check() finds no allocation there.
    side.place = allocation ? Place::pinned : never_the_hosts(address) ? Place::device : Place::pageable;
    if (allocation) side.pages = allocation->pages;
    return side;
}

Side array_side(const Array& array, size_t offset, size_t bytes) {
    require(offset <= array.bytes() && bytes <= array.bytes() - offset);
    return device_side(array.base + offset);
}

void check(const Side& side, const Copy& copy) {
    if (copy.empty()) return;
    require(side.base);
    size_t span = 0, step = 0;
    require(!__builtin_mul_overflow(copy.depth - 1, side.plane, &span) &&
            !__builtin_mul_overflow(copy.height - 1, side.pitch, &step) && !__builtin_add_overflow(span, step, &span) &&
            !__builtin_add_overflow(span, copy.width, &span));
    if (side.place != Place::pageable) {
        auto address = reinterpret_cast<uint64_t>(side.base);
        require(locate(address).holds(address, span));
    }
}

void copy_now(std::shared_ptr<Context> context, const Copy& copy) {
    check(copy.from, copy);
    check(copy.to, copy);
    bool on_device = copy.from.place == Place::device && copy.to.place == Place::device;
    if (copy.empty()) return;
    auto stream = stream_of(context, nullptr);
    if (on_device) {  // within the device: nobody waits
        Scheduler::get().submit(context, *stream, Engine::copy, [copy] { copy.execute(); });
        return;
    }
    const WaitForWork wait(*context);
    Scheduler::get().run(context, *stream, [&] { copy.execute(); });
    context->gpu->machine.flush_printf();
    wait.end();
}

void copy_in(std::shared_ptr<Context> context, CUstream handle, Copy copy) {
    check(copy.from, copy);
    check(copy.to, copy);
    auto stream = stream_of(context, handle);
    if (copy.empty()) return;
    Scheduler& scheduler = Scheduler::get();
    bool pageable_source = copy.from.place == Place::pageable, pageable_target = copy.to.place == Place::pageable;
    if (pageable_source && !pageable_target && copy.bytes() <= staging_limit) {
        auto staging = std::make_shared<std::vector<std::byte>>(copy.bytes());
        Copy stage = copy;
        stage.to = {staging->data(), copy.width, copy.width * copy.height, Place::pinned, nullptr};
        stage.execute();
        copy.from = stage.to;
        scheduler.submit(context, *stream, Engine::copy, [copy, staging] { copy.execute(); });
    } else if (pageable_source || pageable_target) {
        const WaitForWork wait(*context);
        scheduler.run(context, *stream, [&] { copy.execute(); });
        wait.end();
    } else {
        scheduler.submit(context, *stream, Engine::copy, [copy] { copy.execute(); });
    }
}

}  // namespace softcuda::driver
