#include "driver/interrupt.h"

#include <dlfcn.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "driver/api.h"
#include "driver/driver.h"
#include "machine/interrupts.h"

namespace softcuda::driver {

namespace {

struct Exception {
    void *type = nullptr, *value = nullptr, *traceback = nullptr;
};

// What is wanted of Python, where the process has it.
struct Python {
    int (*is_initialized)() = nullptr;
    int (*take_gil)() = nullptr;
    void (*give_gil)(int) = nullptr;
    int (*check_signals)() = nullptr;
    void (*fetch)(void**, void**, void**) = nullptr;
    void (*restore)(void*, void*, void*) = nullptr;
    int (*matches)(void*, void*) = nullptr;
    int (*add_pending_call)(int (*)(void*), void*) = nullptr;
    void** keyboard_interrupt = nullptr;

    Python() {
        const bool all = find(is_initialized, "Py_IsInitialized") && find(take_gil, "PyGILState_Ensure") &&
                         find(give_gil, "PyGILState_Release") && find(check_signals, "PyErr_CheckSignals") &&
                         find(fetch, "PyErr_Fetch") && find(restore, "PyErr_Restore") &&
                         find(matches, "PyErr_GivenExceptionMatches") && find(add_pending_call, "Py_AddPendingCall") &&
                         find(keyboard_interrupt, "PyExc_KeyboardInterrupt");
        if (!all) is_initialized = nullptr;
    }
    bool runs() const { return is_initialized && is_initialized(); }
    Exception take_exception() const {
        Exception taken;
        fetch(&taken.type, &taken.value, &taken.traceback);
        return taken;
    }
    void give_exception(const Exception& given) const { restore(given.type, given.value, given.traceback); }

  private:
    template <class Pointer>
    static bool find(Pointer& pointer, const char* name) {
        pointer = reinterpret_cast<Pointer>(dlsym(RTLD_DEFAULT, name));
        return pointer != nullptr;
    }
};

const Python& python() {
    static const Python found;
    return found;
}

// Of Python's main thread, with the GIL held: what Python is to raise once the cu* function has returned.
Exception to_raise;

int raise_now(void*) {
    python().give_exception(std::exchange(to_raise, {}));
    return -1;
}

bool in_main_thread() { return gettid() == getpid(); }

}  // namespace

void look_for_signals() {
    if (!in_main_thread() || !python().runs()) return;
    const int gil = python().take_gil();
    const Exception before = python().take_exception();  // a destructor may run while an exception is under way
    if (python().check_signals() != 0) {
        const Exception came = python().take_exception();
        if (to_raise.type) {  // the second, and what the first should have ended still runs
            if (python().matches(came.type, *python().keyboard_interrupt)) {
                std::signal(SIGINT, SIG_DFL);
                std::raise(SIGINT);
            }
            python().give_exception(std::exchange(to_raise, came));  // the later one holds
            python().give_exception({});
        } else {
            to_raise = came;
            python().add_pending_call(raise_now, nullptr);
            ++interrupts;
        }
    }
    python().give_exception(before);
    python().give_gil(gil);
}

WaitForWork::WaitForWork(const Context& context) : context_(context), cut_before_(context.cut_launches) {}

void WaitForWork::end() const {
    if (context_.failed()) fail(context_.error());
    if (context_.cut_launches == cut_before_ || in_main_thread()) return;  // there Python raises, or has raised
    fail(CUDA_ERROR_LAUNCH_TIMEOUT, "what this thread waited for was interrupted");
}

}  // namespace softcuda::driver

// Ends every launch that was asked for until now: for the Python package, when a program ends at Ctrl-C.
extern "C" __attribute__((visibility("default"))) void softcuda_interrupt() { ++softcuda::interrupts; }
