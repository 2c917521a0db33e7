// The file that an observer writes: one JSON object a line.
#pragma once

#include <fstream>
#include <string>

namespace softcuda::inspect {

class Record : public std::ofstream {
  public:
    // In `stem`.jsonl, or `stem`-2.jsonl and so on: a process that calls exec() keeps its number.
    explicit Record(const std::string& stem);
    // To the file, now.  If that fails, one line on stderr says why, what follows is lost, and an empty file beside it,
    // with .lost behind its name, says so.
    void write_out();

  private:
    std::string path_;
    bool lost_ = false;
};

// Ends a line, which then survives whatever becomes of the process.
inline std::ostream& end_line(std::ostream& record) {
    record << '\n';
    static_cast<Record&>(record).write_out();
    return record;
}

}  // namespace softcuda::inspect
