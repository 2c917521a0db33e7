// Handles are numbers that are never used twice, so a freed or foreign handle is recognised instead of dereferenced.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace softcuda::driver {

struct Object {
    virtual ~Object() = default;
    uintptr_t handle = 0;
    uint64_t context = 0;  // serial of the context that owns it; 0: none
};

class Handles {
  public:
    template <class T>
    std::shared_ptr<T> find(const void* handle) const {
        std::lock_guard lock(mutex_);
        auto it = objects_.find(reinterpret_cast<uintptr_t>(handle));
        return it == objects_.end() ? nullptr : std::dynamic_pointer_cast<T>(it->second);
    }

    template <class Handle>
    Handle add(std::shared_ptr<Object> object) {
        std::lock_guard lock(mutex_);
        next_ += 16;
        object->handle = next_;
        objects_.emplace(next_, std::move(object));
        return reinterpret_cast<Handle>(next_);
    }

    bool remove(const void* handle) {
        std::lock_guard lock(mutex_);
        return objects_.erase(reinterpret_cast<uintptr_t>(handle)) != 0;
    }

    template <class T>
    std::vector<std::shared_ptr<T>> of_context(uint64_t context) const {
        std::lock_guard lock(mutex_);
        std::vector<std::shared_ptr<T>> found;
        for (auto& [_, object] : objects_)
            if (object->context == context)
                if (auto match = std::dynamic_pointer_cast<T>(object)) found.push_back(std::move(match));
        return found;
    }

  private:
    mutable std::mutex mutex_;
    std::unordered_map<uintptr_t, std::shared_ptr<Object>> objects_;
    uintptr_t next_ = 0x5c000000;  // far from CU_STREAM_LEGACY and CU_STREAM_PER_THREAD
};

Handles& handles();  // lives until the process ends

}  // namespace softcuda::driver
