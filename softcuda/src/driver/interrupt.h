// Ctrl-C while the host waits for the device.
//
// Python's own handler of SIGINT only sets a flag, which nobody reads while the main thread sits in a cu* function.  So
// a cu* function that waits longer than `signal_period` does what Python asks of C code that takes long: now and then it
// calls PyErr_CheckSignals().  That runs the handlers that the program has installed with `signal`, and here their word
// holds: if none raises an exception, the wait goes on; if one does, as Python's default handler does at Ctrl-C, every
// launch ends that was asked for until then, the function returns CUDA_SUCCESS, and Python raises the exception before
// it runs anything else.  The context remains usable.  A second Ctrl-C before the launch has ended kills the process.
//
// softcuda installs no handler of its own.  A program that ignores SIGINT, or leaves it to the system, or handles it in
// C, gets what it asked for; and so does every program for SIGTERM.  Python runs handlers in its main thread only.
// Where other threads wait for a launch that an interrupt has ended, their cu* functions answer
// CUDA_ERROR_LAUNCH_TIMEOUT: nobody takes a partial result for a whole one.
#pragma once

#include <chrono>
#include <cstdint>

namespace softcuda::driver {

struct Context;

inline constexpr std::chrono::milliseconds signal_period{50};

// Lets Python run the handlers of signals that have come.  Without locks held that a cu* function may want.
void look_for_signals();

// A wait for work of a context, from its construction to `end`.
class WaitForWork {
  public:
    explicit WaitForWork(const Context& context);
    void end()
        const;  // throws Fail if the context has failed, or if an interrupt cut work and this thread does not know

  private:
    const Context& context_;
    const uint64_t cut_before_;
};

}  // namespace softcuda::driver
