// Several PTX modules into one, as nvlink does with relocatable objects.
//
// An image of several modules is text too: the modules one after another, each behind a line `// softcuda: module NAME`
// (`member` in place of `module`: of a library, taken only if something in it is needed).  cuLinkComplete and the
// compiler stand-in write such images, and cuModuleLoadData reads them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ast.h"

namespace softcuda::ptx {

struct LinkInput {
    std::string name;     // "kernel.ptx", for messages
    std::string text;     // PTX
    bool member = false;  // of a library
};

struct Image {
    std::vector<LinkInput> inputs;
    bool device_runtime = false;  // `// softcuda: library cudadevrt`: kernels may launch kernels
    bool linked = false;          // has such lines; else it is one plain PTX module
};
Image split_image(std::string_view text, const std::string& name);
std::string join_image(const Image& image);

struct LinkError : std::runtime_error {  // nvlink's words, one line a symbol
    using std::runtime_error::runtime_error;
};

// Parses and joins.  `provided`: functions that need no definition.  Throws Error (its text names the input) or LinkError.
Module link(const std::vector<LinkInput>& inputs, const std::function<bool(const std::string&)>& provided);

// What `module` uses and nobody defines: "function 'f'", "variable 'v'".
std::vector<std::string> undefined(const Module& module, const std::function<bool(const std::string&)>& provided);

}  // namespace softcuda::ptx
