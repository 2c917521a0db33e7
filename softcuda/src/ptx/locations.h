// `.loc` lines and their `inlined_at` chains.
//
// nvcc writes one link of a chain per `.loc`: `.loc 3 92 9, function_name F, inlined_at 2 261 5` says that line 92 of
// file 3 stands in a function that was inlined at line 261 of file 2, which an earlier `.loc` may itself have described
// as inlined further out.  Links name each other only by file, line and column; the latest match is the one meant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ast.h"

namespace softcuda::ptx {

class LocationTable {
  public:
    struct Place {
        uint32_t file, line, column;
    };

    void begin_function() { latest_.clear(); }
    uint32_t add(Place place);  // returns an id; 0 is "unknown"
    uint32_t add(Place place, Place inlined_at);

    // Once all `.file` lines are read.  outer: the outermost caller outside headers; inner: the innermost line outside
    // headers (the reader's own `__device__` function).  Where all is header, the outermost and innermost of that.
    void resolve(const std::vector<std::string>& files);
    Location outer(uint32_t id) const { return outer_[id]; }
    Location inner(uint32_t id) const { return inner_[id]; }

  private:
    struct Link {
        Location location;
        uint32_t parent;
    };
    static uint64_t key(Place place);
    uint32_t append(Place place, uint32_t parent);

    std::vector<Link> links_{Link{{}, 0}};
    std::unordered_map<uint64_t, uint32_t> latest_;
    std::vector<Location> outer_, inner_;
};

// Headers that came with the toolkit, the host compiler or PyCUDA: not what the reader wrote.
bool is_header(std::string_view path);

}  // namespace softcuda::ptx
