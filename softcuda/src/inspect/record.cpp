#include "inspect/record.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace softcuda::inspect {

Record::Record(const std::string& stem) : path_(stem + ".jsonl") {
    for (int number = 2;; ++number) {
        const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file >= 0) {
            ::close(file);
            break;
        }
        if (errno != EEXIST) break;
        path_ = stem + "-" + std::to_string(number) + ".jsonl";
    }
    open(path_, std::ios::app);
    write_out();
}

void Record::write_out() {
    if (lost_) return;
    errno = 0;
    flush();
    if (good()) return;
    const int error = errno;
    lost_ = true;
    if (const int mark = ::open((path_ + ".lost").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600); mark >= 0)
        ::close(mark);
    const std::string line = "softcuda: cannot record what kernels do, in " + path_ + ": " +
                             (error ? std::strerror(error) : "writing fails") + "\n";
    if (::write(2, line.data(), line.size()) < 0) return;  // then nobody listens
}

}  // namespace softcuda::inspect
