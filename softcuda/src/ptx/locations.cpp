#include "locations.h"

#include <algorithm>

namespace softcuda::ptx {

uint64_t LocationTable::key(Place place) {
    return (uint64_t{place.file} << 48) ^ (uint64_t{place.line} << 16) ^ place.column;
}

uint32_t LocationTable::append(Place place, uint32_t parent) {
    links_.push_back({{place.file, place.line}, parent});
    uint32_t id = static_cast<uint32_t>(links_.size() - 1);
    latest_[key(place)] = id;
    return id;
}

uint32_t LocationTable::add(Place place) { return append(place, 0); }

uint32_t LocationTable::add(Place place, Place inlined_at) {
    auto caller = latest_.find(key(inlined_at));
    // A caller that no `.loc` has named is the end of its chain.
    uint32_t parent = caller != latest_.end() ? caller->second : append(inlined_at, 0);
    return append(place, parent);
}

void LocationTable::resolve(const std::vector<std::string>& files) {
    std::vector<bool> header(files.size());
    for (size_t i = 0; i < files.size(); ++i) header[i] = is_header(files[i]);
    auto in_header = [&](const Location& location) { return header[location.file]; };

    outer_.assign(links_.size(), {});
    inner_.assign(links_.size(), {});
    for (size_t id = 1; id < links_.size(); ++id) {  // a parent always comes before its children
        Location own = links_[id].location;
        if (own.file >= files.size()) own.file = 0;
        const uint32_t parent = links_[id].parent;
        const bool own_counts = parent == 0 || (in_header(outer_[parent]) && !in_header(own));
        outer_[id] = own_counts ? own : outer_[parent];
        const bool caller_counts = parent != 0 && in_header(own) && !in_header(inner_[parent]);
        inner_[id] = caller_counts ? inner_[parent] : own;
    }
}

bool is_header(std::string_view path) {
    if (path.find("/include/") != std::string_view::npos) return true;
    std::string_view base = path.substr(path.find_last_of('/') + 1);
    return base.starts_with("pycuda-");
}

}  // namespace softcuda::ptx
