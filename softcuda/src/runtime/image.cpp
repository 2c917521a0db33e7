// The layout of fat binaries (fatbinary_section.h names the magic numbers) and, of the ELF files in them, what a kernel
// takes: registers and stack.
#include "runtime/image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

namespace softcuda::runtime {

namespace {

constexpr uint32_t fat_binary_magic = 0xba55ed50;
constexpr uint16_t kind_ptx = 1, kind_elf = 2;
constexpr uint64_t flags_compressed = 0x2000 | 0x8000;  // LZ4, Zstandard

struct Header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
};

struct PartHeader {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes;
    uint32_t compressed_bytes, options;
    uint16_t minor, major;
    uint32_t architecture, name_offset, name_bytes;
    uint64_t flags, reserved, uncompressed_bytes;
};

template <class T>
T read(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

struct Usage {
    int registers = -1, stack = -1, shared = 0;
};

// .nv.info holds records of a format, an attribute, and a value or the size of one.
template <class Take>
void read_info(std::string_view section, Take take) {
    for (size_t at = 0; at + 4 <= section.size();) {
        const uint8_t format = section[at], attribute = section[at + 1];
        const uint16_t value = read<uint16_t>(section.data() + at + 2);
        at += 4;
        if (format != 4) continue;  // the value is in the record
        if (at + value > section.size()) return;
        if (value == 8) take(attribute, read<uint32_t>(section.data() + at), read<uint32_t>(section.data() + at + 4));
        at += value;
    }
}

std::map<std::string, Usage> usage_of(std::string_view elf) {
    constexpr uint8_t frame_bytes = 0x11, register_count = 0x2f;
    std::map<std::string, Usage> found;
    if (elf.size() < sizeof(Elf64_Ehdr) || elf.substr(0, 4) != "\x7f\x45\x4c\x46") return found;
    const auto header = read<Elf64_Ehdr>(elf.data());
    auto section = [&](size_t index) {
        return read<Elf64_Shdr>(elf.data() + header.e_shoff + index * sizeof(Elf64_Shdr));
    };
    auto bytes_of = [&](const Elf64_Shdr& each) {
        return each.sh_type == SHT_NOBITS || each.sh_offset > elf.size() || each.sh_size > elf.size() - each.sh_offset
                   ? std::string_view()
                   : elf.substr(each.sh_offset, each.sh_size);
    };
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > elf.size() ||
        header.e_shnum * sizeof(Elf64_Shdr) > elf.size() - header.e_shoff || header.e_shstrndx >= header.e_shnum)
        return found;
    const std::string_view names = bytes_of(section(header.e_shstrndx));
    std::string_view symbols, symbol_names, info;
    bool reserves = false;
    for (size_t i = 0; i < header.e_shnum; ++i) {
        const Elf64_Shdr each = section(i);
        const std::string_view name = each.sh_name < names.size() ? names.data() + each.sh_name : "";
        if (each.sh_type == SHT_SYMTAB) {
            symbols = bytes_of(each);
            if (each.sh_link < header.e_shnum) symbol_names = bytes_of(section(each.sh_link));
        } else if (name == ".nv.info") {
            info = bytes_of(each);
        } else if (name.starts_with(".nv.shared.reserved.")) {
            reserves = true;
        } else if (name.starts_with(".nv.shared.")) {
            found[std::string(name.substr(11))].shared = int(each.sh_size);
        }
    }
    if (reserves)  // a kilobyte of the system's stands before a kernel's own
        for (auto& [_, usage] : found) usage.shared = std::max(0, usage.shared - 1024);
    read_info(info, [&](uint8_t attribute, uint32_t index, uint32_t value) {
        if ((index + 1) * sizeof(Elf64_Sym) > symbols.size()) return;
        const auto symbol = read<Elf64_Sym>(symbols.data() + index * sizeof(Elf64_Sym));
        if (symbol.st_name >= symbol_names.size()) return;
        Usage& usage = found[symbol_names.data() + symbol.st_name];
        if (attribute == register_count) usage.registers = int(value);
        if (attribute == frame_bytes) usage.stack = int(value);
    });
    return found;
}

}  // namespace

FatBinary read_fat_binary(const void* data) {
    FatBinary binary;
    const char* begin = static_cast<const char*>(data);
    const auto header = read<Header>(begin);
    if (header.magic != fat_binary_magic) return binary;
    const char* const end = begin + header.header_bytes + header.bytes;
    for (const char* at = begin + header.header_bytes; at + sizeof(PartHeader) <= end;) {
        const auto part = read<PartHeader>(at);
        if (part.header_bytes < sizeof(PartHeader) || part.header_bytes > size_t(end - at) ||
            part.bytes > size_t(end - at) - part.header_bytes)
            break;
        if (part.name_bytes && part.name_offset + part.name_bytes <= part.header_bytes)
            binary.name.assign(at + part.name_offset, part.name_bytes);
        if (part.kind == kind_ptx || part.kind == kind_elf)
            binary.parts.push_back({part.kind == kind_ptx, (part.flags & flags_compressed) != 0, int(part.architecture),
                                    at + part.header_bytes, size_t(part.bytes)});
        at += part.header_bytes + part.bytes;
    }
    return binary;
}

std::string ptx_of(const FatBinary& binary, int capability, std::string& why) {
    const FatBinary::Part* best = nullptr;
    int oldest = 0;
    bool compressed = false, machine_code = false;
    for (const auto& part : binary.parts) {
        machine_code = machine_code || !part.is_ptx;
        if (!part.is_ptx) continue;
        if (part.compressed) {
            compressed = true;
            continue;
        }
        if (part.architecture > capability)
            oldest = oldest ? std::min(oldest, part.architecture) : part.architecture;
        else if (!best || part.architecture > best->architecture)
            best = &part;
    }
    if (!best) {
        if (oldest)
            why = "PTX for sm_" + std::to_string(oldest) + ", newer than this device (sm_" +
                  std::to_string(capability) + ")";
        else if (compressed)
            why = "compressed PTX";
        else
            why = machine_code ? "machine code for a GPU and no PTX" : "no PTX";
        return {};
    }
    std::string text(best->data, best->bytes);
    text.erase(text.find_last_not_of(std::string_view("\0\n", 2)) + 1);  // the part is padded
    text.erase(0, text.find_first_not_of('\n'));
    text += "\n\n";
    for (const auto& part : binary.parts) {
        if (part.is_ptx || part.compressed || part.architecture != best->architecture) continue;
        for (auto& [kernel, usage] : usage_of({part.data, part.bytes}))
            if (usage.registers >= 0)
                text += "// softcuda: kernel=" + kernel + " registers=" + std::to_string(usage.registers) +
                        " shared=" + std::to_string(usage.shared) +
                        " stack=" + std::to_string(std::max(0, usage.stack)) + "\n";
    }
    return text;
}

}  // namespace softcuda::runtime
