// Streams that wait for a value in memory, and that write one.
#include "driver/driver.h"

namespace softcuda::driver {

namespace {

template <class Word>
Word load(CUdeviceptr address) {
    return std::atomic_ref(*reinterpret_cast<Word*>(address)).load(std::memory_order_acquire);
}

template <class Word>
Located word_at(CUdeviceptr address) {
    Located found = locate(address);
    require(address % sizeof(Word) == 0 && found.holds(address, sizeof(Word)));
    return found;
}

template <class Word>
void check_wait(CUdeviceptr address, unsigned flags) {
    word_at<Word>(address);
    require((flags & ~unsigned(CU_STREAM_WAIT_VALUE_FLUSH)) <= CU_STREAM_WAIT_VALUE_NOR);
}

template <class Word>
void check_write(CUdeviceptr address, unsigned flags) {
    word_at<Word>(address);
    require(flags <= CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
}

template <class Word>
void wait(const std::shared_ptr<Context>& context, Stream& stream, CUdeviceptr address, Word value, unsigned flags) {
    auto until = [address, value, how = flags & 3, pages = word_at<Word>(address)->pages] {
        Word now = load<Word>(address);
        switch (how) {
            case CU_STREAM_WAIT_VALUE_GEQ: return std::make_signed_t<Word>(now - value) >= 0;
            case CU_STREAM_WAIT_VALUE_EQ: return now == value;
            case CU_STREAM_WAIT_VALUE_AND: return (now & value) != 0;
            default: return Word(~(now | value)) != 0;
        }
    };
    Scheduler::get().submit(context, stream, Engine::wait, {}, {}, until);
}

template <class Word>
void write(const std::shared_ptr<Context>& context, Stream& stream, CUdeviceptr address, Word value) {
    Scheduler::get().submit(context, stream, Engine::copy, [address, value, pages = word_at<Word>(address)->pages] {
        std::atomic_ref(*reinterpret_cast<Word*>(address)).store(value, std::memory_order_release);
    });
}

template <class Word>
CUresult wait_for(CUstream handle, CUdeviceptr address, Word value, unsigned flags) {
    return in_context([&](auto& context) {
        auto stream = stream_of(context, handle);
        check_wait<Word>(address, flags);
        wait(context, *stream, address, value, flags);
    });
}

template <class Word>
CUresult write_to(CUstream handle, CUdeviceptr address, Word value, unsigned flags) {
    return in_context([&](auto& context) {
        auto stream = stream_of(context, handle);
        check_write<Word>(address, flags);
        write(context, *stream, address, value);
    });
}

void check(const CUstreamBatchMemOpParams& each) {
    switch (each.operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_32: return check_wait<uint32_t>(each.waitValue.address, each.waitValue.flags);
        case CU_STREAM_MEM_OP_WAIT_VALUE_64: return check_wait<uint64_t>(each.waitValue.address, each.waitValue.flags);
        case CU_STREAM_MEM_OP_WRITE_VALUE_32:
            return check_write<uint32_t>(each.writeValue.address, each.writeValue.flags);
        case CU_STREAM_MEM_OP_WRITE_VALUE_64:
            return check_write<uint64_t>(each.writeValue.address, each.writeValue.flags);
        case CU_STREAM_MEM_OP_BARRIER: return require(each.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU);
        case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return require(each.flushRemoteWrites.flags == 0);
        default: fail(CUDA_ERROR_INVALID_VALUE);
    }
}

void perform(const std::shared_ptr<Context>& context, Stream& stream, const CUstreamBatchMemOpParams& each) {
    const auto& waited = each.waitValue;
    const auto& written = each.writeValue;
    switch (each.operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_32:
            return wait<uint32_t>(context, stream, waited.address, waited.value, waited.flags);
        case CU_STREAM_MEM_OP_WAIT_VALUE_64:
            return wait<uint64_t>(context, stream, waited.address, waited.value64, waited.flags);
        case CU_STREAM_MEM_OP_WRITE_VALUE_32: return write<uint32_t>(context, stream, written.address, written.value);
        case CU_STREAM_MEM_OP_WRITE_VALUE_64: return write<uint64_t>(context, stream, written.address, written.value64);
        default: return;  // one memory: what was written is seen
    }
}

}  // namespace
}  // namespace softcuda::driver

using namespace softcuda::driver;

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    return wait_for<uint32_t>(stream, address, value, flags);
}
CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    return wait_for<uint64_t>(stream, address, value, flags);
}
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    return write_to<uint32_t>(stream, address, value, flags);
}
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    return write_to<uint64_t>(stream, address, value, flags);
}

CUresult cuStreamBatchMemOp_v2(CUstream handle, unsigned count, CUstreamBatchMemOpParams* operations, unsigned flags) {
    return in_context([&](auto& context) {
        require(count <= 256 && (operations || !count) && flags == 0);
        auto stream = stream_of(context, handle);
        for (unsigned i = 0; i < count; ++i) check(operations[i]);  // all or nothing
        for (unsigned i = 0; i < count; ++i) perform(context, *stream, operations[i]);
    });
}
