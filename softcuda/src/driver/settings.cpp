#include "driver/settings.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "driver/errors.h"
#include "driver/scheduler.h"
#include "generated/profiles.h"
#include "inspect/inspector.h"
#include "machine/decode.h"
#include "machine/optimisations.h"

namespace softcuda::driver {

namespace {

// A setting that cannot be; what is wrong with it.
struct Mistake {
    std::string text;
};

[[noreturn]] void bad(const char* name, const char* value, const std::string& wanted) {
    throw Mistake{std::string(name) + "=" + value + " is not " + wanted};
}

// All there are.  The Python package knows the same (_settings.py); what has no comment is in the README.
constexpr std::string_view names[] = {
    "SOFTCUDA_BUILD",  // which build softcuda's own tests test
    "SOFTCUDA_DEVICE",  "SOFTCUDA_DEVICES",
    "SOFTCUDA_INSPECT",  // from softcuda's commands to the driver, and so is _TRACE
    "SOFTCUDA_LIBRARY",  // another libcuda.so.1
    "SOFTCUDA_MEMORY",  "SOFTCUDA_OPTIMISE",
    "SOFTCUDA_PYTHON",  // from the Python package to its nvcc and ptxas, and so are _TOOLKIT and _TRITON
    "SOFTCUDA_QUIET",   "SOFTCUDA_SEED",     "SOFTCUDA_SIMD",  "SOFTCUDA_THREADS",
    "SOFTCUDA_TIMEOUT", "SOFTCUDA_TOOLKIT",  "SOFTCUDA_TRACE", "SOFTCUDA_TRITON",
};

// Letters to change, put in, leave out, or swap with their neighbour to make one of the other.
size_t distance(std::string_view from, std::string_view to) {
    std::vector<std::vector<size_t>> steps(from.size() + 1, std::vector<size_t>(to.size() + 1));
    for (size_t i = 0; i <= from.size(); ++i)
        for (size_t j = 0; j <= to.size(); ++j) {
            size_t& least = steps[i][j];
            if (i == 0 || j == 0) {
                least = i + j;
                continue;
            }
            const bool same = from[i - 1] == to[j - 1];
            least = std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + !same});
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
                least = std::min(least, steps[i - 2][j - 2] + 1);
        }
    return steps[from.size()][to.size()];
}

void check_names() {
    for (char** entry = environ; entry && *entry; ++entry) {
        std::string_view name = *entry;
        name = name.substr(0, name.find('='));
        if (!name.starts_with("SOFTCUDA_") || std::ranges::find(names, name) != std::end(names)) continue;
        const auto* nearest =
            std::ranges::min_element(names, {}, [&](std::string_view known) { return distance(name, known); });
        std::string text = std::string(name) + " is no setting of softcuda's";
        if (distance(name, *nearest) <= 2) text += "; did you mean " + std::string(*nearest) + "?";
        throw Mistake{std::move(text)};
    }
}

const char* setting(const char* name) {
    const char* value = std::getenv(name);
    return value && *value ? value : nullptr;
}

template <class Number>
std::optional<Number> number(std::string_view text) {
    Number result{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return result;
}

std::optional<uint64_t> size(std::string_view text) {  // "2G", "512MiB", "1.5g", "4096"
    for (std::string_view tail : {"iB", "ib", "B", "b"})
        if (text.ends_with(tail)) {
            text.remove_suffix(tail.size());
            break;
        }
    double factor = 1;
    constexpr std::string_view units = "kmgt";
    if (!text.empty())
        if (size_t unit = units.find(char(text.back() | 0x20)); unit != units.npos) {
            factor = std::ldexp(1.0, 10 * int(unit + 1));
            text.remove_suffix(1);
        }
    auto count = number<double>(text);
    if (!count || !(*count > 0) || *count * factor < 1 || *count * factor > 0x1p60) return std::nullopt;
    return uint64_t(*count * factor);
}

// What this machine can spare: MemAvailable, or less where a control group says so.
uint64_t available_memory() {
    uint64_t bytes = uint64_t(4) << 30;
    std::ifstream meminfo("/proc/meminfo");
    for (std::string key; meminfo >> key; meminfo.ignore(1 << 10, '\n')) {
        uint64_t kib;
        if (key == "MemAvailable:" && meminfo >> kib) bytes = kib << 10;
    }
    auto read = [](const char* path) {
        std::ifstream file(path);
        uint64_t value;
        return file >> value ? std::optional(value) : std::nullopt;  // "max" is no number
    };
    auto limit = read("/sys/fs/cgroup/memory.max"), used = read("/sys/fs/cgroup/memory.current");
    if (limit && used && *limit > *used) bytes = std::min(bytes, *limit - *used);
    return bytes;
}

const DeviceProfile& profile(const char* variable, std::string_view wanted) {
    std::string names;
    for (size_t i = 0; i < profile_count; ++i) {
        if (profiles[i].id == wanted) return profiles[i];
        names += (i ? ", " : "") + std::string(profiles[i].id);
    }
    bad(variable, std::string(wanted).c_str(), "one of " + names);
}

// "2": as many of SOFTCUDA_DEVICE; "h200,t4": these.
std::vector<const DeviceProfile*> wanted_devices() {
    const char* name = setting("SOFTCUDA_DEVICE");
    const DeviceProfile* usual = name ? &profile("SOFTCUDA_DEVICE", name) : &profiles[0];
    const char* text = setting("SOFTCUDA_DEVICES");
    if (!text) return {usual};
    std::vector<const DeviceProfile*> wanted;
    if (auto count = number<int>(text)) {
        if (*count >= 1 && *count <= device_limit) wanted.assign(size_t(*count), usual);
    } else {
        for (std::string_view rest = text;;) {
            size_t comma = rest.find(',');
            wanted.push_back(&profile("SOFTCUDA_DEVICES", rest.substr(0, comma)));
            if (comma == rest.npos) break;
            rest.remove_prefix(comma + 1);
        }
        if (wanted.size() > device_limit) wanted.clear();
    }
    if (wanted.empty())
        bad("SOFTCUDA_DEVICES", text,
            "a number of devices from 1 to " + std::to_string(device_limit) + " or a list of profiles");
    return wanted;
}

// What launches read, each time.
void read_launch_settings(MachineConfig& machine) {
    if (const char* text = setting("SOFTCUDA_THREADS")) {
        auto count = number<int>(text);
        if (!count || *count < 1 || *count > 1024) bad("SOFTCUDA_THREADS", text, "a number of threads from 1 to 1024");
        machine.workers = *count;
    }
    if (const char* text = setting("SOFTCUDA_SEED")) {
        auto seed = number<uint64_t>(text);
        if (!seed) bad("SOFTCUDA_SEED", text, "a whole number (0: no shuffling)");
        machine.shuffle_seed = *seed;
    }
    if (const char* text = setting("SOFTCUDA_TIMEOUT")) {
        auto seconds = number<double>(text);
        if (!seconds || !(*seconds >= 0) || std::isinf(*seconds))
            bad("SOFTCUDA_TIMEOUT", text, "a number of seconds a launch may take (0: no limit)");
        machine.time_limit_s = *seconds;
    }
}

Settings settings_of(const DeviceProfile& profile, size_t devices) {
    Settings settings;
    settings.profile = &profile;
    settings.memory = std::min(profile.memory, available_memory() / 2 / devices) & ~uint64_t(0xfffff);
    if (const char* text = setting("SOFTCUDA_MEMORY")) {
        auto bytes = size(text);
        if (!bytes) bad("SOFTCUDA_MEMORY", text, "a size such as 2G or 512M");
        settings.memory = *bytes;
    }

    auto attribute = [&](int which, int otherwise) {
        for (size_t i = 0; i < settings.profile->count; ++i)
            if (settings.profile->attributes[i][0] == which) return settings.profile->attributes[i][1];
        return otherwise;
    };
    MachineConfig& machine = settings.machine;
    machine.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, machine.sm_count);
    machine.warps_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048) / 32;
    machine.capability = settings.profile->major * 10 + settings.profile->minor;
    machine.shared_per_block = uint32_t(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 49152));
    machine.clock_khz = uint32_t(attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, int(machine.clock_khz)));
    read_launch_settings(machine);
    return settings;
}

void check_choices() {
    if (const char* text = setting("SOFTCUDA_QUIET"))
        if (std::string_view(text) != "0" && std::string_view(text) != "1") bad("SOFTCUDA_QUIET", text, "0 or 1");
    if (const char* text = setting("SOFTCUDA_OPTIMISE"))
        if (Optimisations chosen; !parse_optimisations(text, chosen))
            bad("SOFTCUDA_OPTIMISE", text,
                "all, none, or some of registers, hoisting, plans, dots, affine, lockstep, with commas (no-dots: "
                "without)");
    if (const char* text = setting("SOFTCUDA_SIMD")) {
        std::string all;
        bool known = false;
        for (std::string_view level : simd_levels()) {
            all += (all.empty() ? "" : ", ") + std::string(level);
            known = known || level == text;
        }
        if (!known) bad("SOFTCUDA_SIMD", text, "one of " + all + ", which this CPU has");
    }
    if (const char* text = setting("SOFTCUDA_INSPECT"))
        if (!inspect::is_inspection(text))
            bad("SOFTCUDA_INSPECT", text, "profile:FOLDER, check:FOLDER or trace:FOLDER");
}

std::vector<Settings> all_settings() {
    check_names();
    check_choices();
    std::vector<const DeviceProfile*> wanted = wanted_devices();
    std::vector<Settings> settings;
    for (const DeviceProfile* profile : wanted) settings.push_back(settings_of(*profile, wanted.size()));
    return settings;
}

template <class Read>
auto refusing(Read&& read) {
    try {
        return read();
    } catch (const Mistake& mistake) {
        say(mistake.text);
        throw Fail{CUDA_ERROR_INVALID_VALUE};
    }
}

}  // namespace

std::vector<Settings> read_settings() { return refusing(all_settings); }

void check_launch_settings() {
    MachineConfig unused;
    refusing([&] { read_launch_settings(unused); });
}

// What is wrong with the settings, in one line; empty: nothing.  For the Python package, before a program starts.
extern "C" __attribute__((visibility("default"))) const char* softcuda_mistake_in_settings() {
    static std::string text;
    text.clear();
    try {
        all_settings();
    } catch (const Mistake& mistake) {
        text = mistake.text;
    }
    return text.c_str();
}

}  // namespace softcuda::driver
