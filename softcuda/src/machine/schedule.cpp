// How a warp advances: groups of lanes, divergence and reconvergence, calls, and operations that lanes meet in.
#include <algorithm>
#include <cstring>
#include <utility>

#include "machine/block.h"
#include "machine/specials.h"
#include "ptx/names.h"

namespace softcuda {
namespace {

// How long a ready group waits for others to catch up with it, and for how long it then goes ahead.  Ordinary loops end
// long before; a lane that waits for another lane's lock runs spinning operations and gets there soon.
constexpr int64_t patience = 1 << 20;
constexpr int64_t head_start = 1 << 16;
constexpr uint32_t nowhere = ~0u;

uint32_t stack_cost(const Function& function) { return (function.local_bytes + 15) / 16 * 16; }
constexpr uint32_t call_cost = 16;  // bytes of stack a call takes even without variables, so that recursion ends

uint32_t guarded(Warp& warp, const Op& op, uint32_t lanes) {
    if (op.predicate == Op::no_row) return lanes;
    uint32_t mask = warp.predicate(op.predicate);
    return lanes & (op.predicate_negated ? ~mask : mask);
}

void copy_slots(const std::vector<Slot>& from, std::byte* from_rows, const std::vector<Slot>& to, std::byte* to_rows,
                uint32_t lanes) {
    for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
        uint32_t bytes = std::min(from[i].bytes, to[i].bytes);
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            uint32_t lane = std::countr_zero(rest);
            std::memcpy(to_rows + to[i].offset + lane * to[i].bytes, from_rows + from[i].offset + lane * from[i].bytes,
                        bytes);
        }
    }
}

void copy_row(Row row, const std::byte* from_rows, std::byte* to_rows) {
    constexpr size_t words = 4 * warp_size;
    if (row.element_bytes == 4)
        std::memcpy(to_rows + row.offset, from_rows + row.offset, words);
    else
        std::memcpy(to_rows + row.offset, from_rows + row.offset,
                    row.element_bytes ? row.element_bytes * size_t(warp_size) : 4);
}

}  // namespace

Frame* WarpState::make_frame(const Function& function, Frame* parent, uint32_t local_base, uint32_t stack_taken) {
    Frame* made = worker->take_frame(function);
    made->code = function.stream(block->launch->observer).data();
    made->parent = parent;
    made->references = 1;
    made->depth = parent ? parent->depth + 1 : 0;
    made->local_base = local_base;
    made->stack_taken = stack_taken;
    refresh(*made);
    for (const auto& [special, row] : function.specials) fill_special(special, row, *this, *made);
    return made;
}

// Zeros, where the function may read before it writes.
void WarpState::refresh(Frame& used) {
    for (const Slot& slot : used.function->fresh) std::memset(used.rows + slot.offset, 0, slot.bytes);
}

void WarpState::release(Frame* released) {
    while (released && --released->references == 0) {
        Frame* parent = released->parent;
        worker->give_frame(released);
        released = parent;
    }
}

// Where the kernel begins: what is the same as in the warp's last block, it has still.
uint32_t WarpState::begin_kernel(const Function& kernel) {
    const bool same_row = grid_row_[0] == block->index[1] && grid_row_[1] == block->index[2];
    grid_row_[0] = block->index[1], grid_row_[1] = block->index[2];
    const bool first = !kernel_frame.rows;
    if (first) {
        kernel_frame.function = &kernel;
        kernel_frame.rows = block->frames + size_t(index) * frame_stride;
        std::memcpy(kernel_frame.rows, kernel.image.data(), kernel.image.size());
    }
    kernel_frame.code = block->code;
    refresh(kernel_frame);
    const size_t specials = first                                       ? kernel.specials.size()
                            : kernel_frame.code == kernel.affine.data() ? kernel.affine_specials
                                                                        : kernel.block_specials;
    for (size_t i = 0; i < specials; ++i) {
        const auto& [special, row] = kernel.specials[i];
        const bool of_row = special == Special::ctaid_y || special == Special::ctaid_z;
        if (!first && of_row && same_row) continue;
        if (first || index == 0)
            fill_special(special, row, *this, kernel_frame);
        else  // the same for all warps of a block: the first has it
            copy_row(row, block->frames, kernel_frame.rows);
    }
    if (first || observer) return 0;
    return same_row ? kernel.block_begin : kernel.row_begin;
}

void WarpState::start(const Function& kernel) {
    exited = 0;
    spins = 0;
    clock = 0;
    spin_total = 0;
    awaited = nullptr;
    cluster_pending = 0;
    favoured = 0;
    favoured_left = 0;
    groups.clear();
    groups.reserve(warp_size + 2);  // so that references to groups survive a split
    const uint32_t begin = begin_kernel(kernel);
    kernel_frame.references = 2;  // its groups', and the warp's own
    current = &kernel_frame;
    groups.push_back({.lanes = present, .pc = begin, .frame = current});
    if (!observer) return;
    place_ = {
        {block->index[0], block->index[1], block->index[2]}, index, static_cast<uint32_t>(worker->index), &kernel};
}

bool WarpState::runnable() const {
    for (const Group& group : groups)
        if (group.wait == Wait::ready) return true;
    return false;
}

// Takes `lanes` out of a group; the new group shares its place.
Group& WarpState::split(size_t index, uint32_t lanes) {
    Group part = groups[index];
    part.lanes = lanes;
    groups[index].lanes &= ~lanes;
    ++part.frame->references;
    groups.push_back(part);
    return groups.back();
}

void WarpState::remove(size_t index) {
    groups[index] = groups.back();
    groups.pop_back();
}

// Groups at the same instruction of the same activation become one.
void WarpState::merge() {
    for (size_t i = 0; i + 1 < groups.size(); ++i) {
        Group& into = groups[i];
        if (into.wait != Wait::ready && into.wait != Wait::meet) continue;
        for (size_t j = groups.size() - 1; j > i; --j) {
            const Group& from = groups[j];
            if (from.pc != into.pc || from.frame != into.frame) continue;
            if (from.wait != Wait::ready && from.wait != Wait::meet) continue;
            into.lanes |= from.lanes;
            into.wait = Wait::ready;
            into.age = 0;
            --into.frame->references;  // `into` still holds it
            remove(j);
        }
    }
}

uint32_t WarpState::merge_point(const Group& group) const {
    uint32_t point = nowhere;
    for (const Group& other : groups) {
        if (other.frame != group.frame || other.pc <= group.pc) continue;
        if (other.wait == Wait::ready || other.wait == Wait::meet) point = std::min(point, other.pc);
    }
    return point;
}

// Who runs next: the deepest call, then the lowest pc, so that lanes meet again; but nobody waits for ever.
Group* WarpState::select() {
    if (groups.size() > 1) merge();
    for (int attempt = 0; attempt < 2; ++attempt) {
        Group* best = nullptr;
        Group* oldest = nullptr;
        for (Group& group : groups) {
            if (group.wait != Wait::ready) continue;
            if (favoured_left > 0 && (group.lanes & favoured)) return &group;
            if (!best || group.frame->depth > best->frame->depth ||
                (group.frame->depth == best->frame->depth && group.pc < best->pc))
                best = &group;
            if (group.age > patience && (!oldest || group.age > oldest->age)) oldest = &group;
        }
        if (oldest) {
            oldest->age = 0;
            favoured = oldest->lanes;
            favoured_left = head_start;
            return oldest;
        }
        if (best) return best;
        if (groups.empty() || !resolve_meets()) return nullptr;
        merge();
    }
    return nullptr;
}

Stop WarpState::run(int64_t slice) {
    if (!observer) return run_loop<false, false>(slice);
    return observer->follows_steps() ? run_loop<true, true>(slice) : run_loop<true, false>(slice);
}

// All has been reported; a fault ends the launch.
inline void WarpState::run_unobserved(const Op& op, uint32_t lanes) {
    Observer* const observes = std::exchange(observer, nullptr);
    op.exec(*this, op, lanes);
    observer = observes;
}

// Runs an instruction that is not control flow, and reports it; or, unless steps are followed, a fused dot product.  How
// many instructions that were.
template <bool followed>
[[gnu::always_inline]] inline uint32_t WarpState::run_reported(const Op& op, uint32_t lanes) {
    running = &op;
    if (op.report == Report::orders) observer->orders(place_, op, lanes);
    if (op.report == Report::by_itself || op.report == Report::orders) {
        op.exec(*this, op, lanes);
        return 1;
    }
    const RowAccess row{lanes, frame, block->shared};
    if (!followed && op.report == Report::fused_dot) {
        const FusedDotRun& dot = current->function->fused_dots[op.target];
        for (uint32_t of : {0u, 1u}) observer->loads(place_, {dot.parts + of, dot.steps, 3}, row);
        run_unobserved(dot.whole, lanes);
        return 3 * dot.steps;
    }
    if (op.report != Report::never) observer->access(place_, op, row);
    run_unobserved(op, lanes);
    return 1;
}

void WarpState::report_until_here() {
    Observer* const observes = block->launch->observer;
    if (observes && running && running >= segment_begin && segment_lanes)
        observes->segment(place_, segment_begin, running + 1, std::exchange(segment_lanes, 0));
}

template <bool observed, bool followed>
Stop WarpState::run_loop(int64_t slice) {
    spent = 0;
    for (;;) {
        Group* chosen = select();
        if (!chosen) return groups.empty() ? Stop::done : Stop::waiting;
        if (spent >= slice) return Stop::preempted;
        Group& group = *chosen;
        size_t group_index = static_cast<size_t>(chosen - groups.data());
        const bool alone = groups.size() == 1;
        const int64_t spent_before = spent;
        current = group.frame;
        frame = current->rows;
        if constexpr (observed) place_.function = current->function;
        const Op* code = current->code;
        const uint32_t stop = alone ? nowhere : merge_point(group);
        const Op* stop_op = stop == nowhere ? nullptr : code + stop;
        const uint32_t lanes = group.lanes;
        const Op* op = code + group.pc;
        bool keep_on = true;  // uniform flow stays in here
        while (keep_on) {
            segment_begin = op;
            if constexpr (observed) segment_lanes = lanes;
            uint32_t active;
            for (;;) {
                active = guarded(*this, *op, lanes);
                // An operation that lanes meet in is reported when it runs, not when some of them come.
                if constexpr (observed)
                    if (active != lanes && !meets(op->flow)) observer->idle(place_, *op, lanes & ~active);
                if constexpr (followed)
                    if (!meets(op->flow)) observer->step(place_, *op, active, frame);
                if (op->flow != Flow::next) break;
                if constexpr (observed) {
                    op += active ? run_reported<followed>(*op, active) : 1;
                } else {
                    if (active) op->exec(*this, *op, active);
                    ++op;
                }
                if (op == stop_op) break;
            }
            const bool met = op == stop_op;
            if constexpr (observed) {
                running = op;
                const Op* end = met || meets(op->flow) ? op : op + 1;
                if (end != segment_begin) observer->segment(place_, segment_begin, end, lanes);
                segment_lanes = 0;
            }
            int64_t ran = op - segment_begin + (met ? 0 : 1);
            clock += static_cast<uint64_t>(ran);
            spent += ran + spins * spin_work;
            spin_total += spins;
            spins = 0;
            keep_on = alone && spent < slice;
            if (met) {
                group.pc = static_cast<uint32_t>(op - code);
                keep_on = false;
                break;
            }
            switch (op->flow) {
                case Flow::next: break;
                case Flow::branch: {
                    if constexpr (observed) observer->branch(place(), *op, lanes, active);
                    if (active == lanes) {
                        op = code + op->target;
                    } else if (active == 0) {
                        ++op;
                    } else {
                        split(group_index, active).pc = op->target;
                        ++op;
                        keep_on = false;
                    }
                    group.pc = static_cast<uint32_t>(op - code);
                    break;
                }
                case Flow::yield: {
                    if (active) op->exec(*this, *op, active);
                    ++op;
                    group.pc = static_cast<uint32_t>(op - code);
                    spin_total += 1;
                    spent += std::max<int64_t>(slice, 2 * spin_work);
                    keep_on = false;
                    break;
                }
                case Flow::meet:
                case Flow::warpgroup: {
                    if (active == 0 || meet_ready(*op, active, active)) {
                        if (active && op->flow == Flow::warpgroup && !products_committed(*this, *op)) {
                            group.pc = static_cast<uint32_t>(op - code);
                            group.wait = Wait::warpgroup;
                            group.op = op;
                            keep_on = false;
                            break;
                        }
                        if constexpr (observed) {
                            if constexpr (followed) observer->step(place_, *op, active, frame);
                            observer->instruction(place_, *op, active);
                            if (active) observer->meet(place(), *op, active, exited, frame);
                        }
                        if (active) op->exec(*this, *op, active);
                        ++op;
                        group.pc = static_cast<uint32_t>(op - code);
                        break;
                    }
                    Group* waiting = &group;
                    group.pc = static_cast<uint32_t>(op - code);
                    if (active != lanes) {
                        waiting = &split(group_index, active);
                        group.pc += 1;
                    }
                    waiting->wait = Wait::meet;
                    waiting->op = op;
                    keep_on = false;
                    resolve_meets();
                    break;
                }
                case Flow::barrier: {
                    group.pc = static_cast<uint32_t>(op - code) + 1;
                    if (active == 0) {
                        ++op;
                        break;
                    }
                    op->exec(*this, *op, active);
                    uint32_t result = 0;
                    if constexpr (observed)
                        observer->barrier(place(), *op, active, request.id,
                                          request.kind != BarrierRequest::Kind::arrive,
                                          request.threads && request.threads != block->warps.size() * warp_size);
                    bool go_on = block->arrive(*this, *op, active, result);
                    if (go_on) {
                        Group here = group;
                        here.lanes = active;
                        here.op = op;
                        reduce_result(here, result);
                        ++op;
                        break;
                    }
                    Group* waiting = active == lanes ? &group : &split(group_index, active);
                    waiting->wait = Wait::barrier;
                    waiting->barrier = static_cast<uint8_t>(request.id);
                    waiting->op = op;
                    keep_on = false;
                    break;
                }
                case Flow::cluster_barrier: {  // small[0]: 0 arrive, 1 wait
                    group.pc = static_cast<uint32_t>(op - code) + 1;
                    if (active && op->small[0] == 0) {
                        if constexpr (observed) observer->cluster_arrive(place(), active, block->cluster);
                        block->arrive_in_cluster(*this, active);
                    }
                    if (active == 0 || op->small[0] == 0 || !(cluster_pending & active)) {
                        ++op;
                        break;
                    }
                    Group* waiting = active == lanes ? &group : &split(group_index, active);
                    waiting->wait = Wait::cluster;
                    waiting->op = op;
                    keep_on = false;
                    break;
                }
                case Flow::branch_table:
                    group.pc = static_cast<uint32_t>(op - code) + 1;
                    if (active) branch_table(group, *op, active);
                    keep_on = false;
                    break;
                case Flow::call:
                case Flow::call_indirect:
                    group.pc = static_cast<uint32_t>(op - code) + 1;
                    keep_on = false;
                    if (!active) break;
                    if (op->flow == Flow::call)
                        call(group, *op, *block->launch->program->functions[op->target], active);
                    else
                        call_indirect(group, *op, active);
                    break;
                case Flow::ret:
                case Flow::exit:
                    group.pc = static_cast<uint32_t>(op - code) + 1;
                    keep_on = false;
                    if (active) finish(group, *op, active, op->flow == Flow::exit);
                    break;
            }
        }
        if (!alone) {
            int64_t delta = spent - spent_before;
            favoured_left -= delta;
            for (Group& other : groups)
                if (other.wait == Wait::ready) other.age = (other.lanes & lanes) ? other.age : other.age + delta;
        }
    }
}

void WarpState::branch_table(Group& group, const Op& op, uint32_t lanes) {
    const auto& targets = *static_cast<const std::vector<uint32_t>*>(op.extra);
    const uint32_t* choice = row<uint32_t>(op.a);
    size_t index = static_cast<size_t>(&group - groups.data());
    for (uint32_t rest = lanes; rest;) {
        uint32_t lane = std::countr_zero(rest);
        uint32_t same = 0;
        for (uint32_t others = rest; others; others &= others - 1) {
            uint32_t other = std::countr_zero(others);
            if (choice[other] == choice[lane]) same |= 1u << other;
        }
        if (choice[lane] >= targets.size())
            fault(
                FaultKind::illegal_instruction, op, static_cast<int>(lane),
                "branch index " + std::to_string(choice[lane]) + " of " + std::to_string(targets.size()) + " targets");
        if (same == groups[index].lanes)
            groups[index].pc = targets[choice[lane]];
        else
            split(index, same).pc = targets[choice[lane]];
        rest &= ~same;
    }
}

void WarpState::call(Group& group, const Op& op, const Function& callee, uint32_t lanes) {
    const CallSite& site = *static_cast<const CallSite*>(op.extra);
    Group& caller = lanes == group.lanes ? group : split(static_cast<size_t>(&group - groups.data()), lanes);
    Frame* parent = caller.frame;
    uint32_t taken = parent->stack_taken;
    if (parent->function->stack_row)  // of the lane whose alloca reached furthest
        for (uint32_t rest = lanes; rest; rest &= rest - 1)
            taken = std::max(taken, row<uint32_t>(parent->function->stack_row)[std::countr_zero(rest)]);
    uint64_t local = (uint64_t(parent->local_base) + 15) / 16 * 16 + stack_cost(*parent->function) + call_cost;
    uint32_t limit = block->local_stride;
    if (local + callee.local_bytes + taken > limit)
        fault(FaultKind::stack_overflow, op, std::countr_zero(lanes),
              "call of " + ptx::demangled(callee.name) + " at depth " + std::to_string(parent->depth + 1) +
                  " needs more than the " + std::to_string(limit) +
                  " bytes of stack a thread has (cuCtxSetLimit(CU_LIMIT_STACK_SIZE) sets them)");
    if (worker->frame_bytes > Worker::frame_limit)
        fault(FaultKind::stack_overflow, op, std::countr_zero(lanes),
              "call of " + ptx::demangled(callee.name) + " at depth " + std::to_string(parent->depth + 1) +
                  ": the registers of all calls under way need more than 2 GiB");
    Frame* made = make_frame(callee, parent, static_cast<uint32_t>(local), taken);
    made->site = &site;
    made->return_pc = caller.pc;
    copy_slots(site.params, parent->rows, callee.param_slots, made->rows, lanes);
    caller.frame = made;  // the parent is held by its child now
    caller.pc = 0;
}

void WarpState::call_indirect(Group& group, const Op& op, uint32_t lanes) {
    const Program& program = *block->launch->program;
    const CallSite& site = *static_cast<const CallSite*>(op.extra);
    const uint64_t* target = row<uint64_t>(op.a);
    const size_t index = static_cast<size_t>(&group - groups.data());
    const uint32_t pc = group.pc;
    for (uint32_t rest = lanes; rest;) {
        uint32_t lane = std::countr_zero(rest);
        uint64_t address = target[lane];
        uint32_t same = 0;
        for (uint32_t others = rest; others; others &= others - 1)
            if (target[std::countr_zero(others)] == address) same |= 1u << std::countr_zero(others);
        uint64_t number = (address - program.function_base) / 16;
        if (address < program.function_base || number >= program.functions.size() || address % 16 != 0) {
            char text[64];
            std::snprintf(text, sizeof text, "call of 0x%llx, which is no function",
                          static_cast<unsigned long long>(address));
            fault_address = address;
            fault(FaultKind::invalid_pc, op, static_cast<int>(lane), text);
        }
        const Function& callee = *program.functions[number];
        auto same_shape = [](const std::vector<Slot>& a, const std::vector<Slot>& b) {
            return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                              [](Slot x, Slot y) { return x.bytes == y.bytes; });
        };
        if (callee.code.empty() || callee.is_entry || !same_shape(site.params, callee.param_slots) ||
            !same_shape(site.returns, callee.return_slots))
            fault(FaultKind::illegal_instruction, op, static_cast<int>(lane),
                  "call of " + ptx::demangled(callee.name) + " through a pointer of another type");
        rest &= ~same;
        groups[index].pc = pc;
        if (same == groups[index].lanes)
            call(groups[index], op, callee, same);
        else
            call(split(index, same), op, callee, same);
    }
}

// ret and exit.
void WarpState::finish(Group& group, const Op& op, uint32_t lanes, bool whole_thread) {
    size_t index = static_cast<size_t>(&group - groups.data());
    Group& leaving = lanes == group.lanes ? group : split(index, lanes);
    index = static_cast<size_t>(&leaving - groups.data());
    Frame* left = leaving.frame;
    if (left->parent && !whole_thread) {
        if (!block->warpgroups.empty()) check_products_on_return(*this, op, left->rows);
        copy_slots(left->function->return_slots, left->rows, left->site->returns, left->parent->rows, lanes);
        leaving.frame = left->parent;
        leaving.pc = left->return_pc;
        leaving.age = 0;
        ++left->parent->references;
        release(left);
        return;
    }
    exited |= lanes;
    remove(index);
    release(left);
    block->lanes_exited(*this, lanes);
    if (!groups.empty()) resolve_meets();  // who waited for these lanes waits no longer
}

void WarpState::reduce_result(const Group& group, uint32_t value) {
    // bar.red's exec marks where its result goes: small[0] is 1 for a 32-bit row, 2 for a predicate.
    const Op& op = *group.op;
    if (op.small[0] == 0) return;
    std::byte* rows = group.frame->rows;
    if (op.small[0] == 1) {
        auto* result = reinterpret_cast<uint32_t*>(rows + op.dst);
        for (uint32_t rest = group.lanes; rest; rest &= rest - 1) result[std::countr_zero(rest)] = value;
    } else {
        auto& result = *reinterpret_cast<uint32_t*>(rows + op.dst);
        result = value ? result | group.lanes : result & ~group.lanes;
    }
}

// --- operations that lanes meet in

namespace {
uint32_t member_mask(const Group& group, const Op& op, uint32_t lane, uint32_t present) {
    return op.d == 0 ? present : reinterpret_cast<const uint32_t*>(group.frame->rows + op.d)[lane];
}
}  // namespace

// Whether every lane that `lanes` wait for is among `arrived`, or gone.
bool WarpState::meet_ready(const Op& op, uint32_t lanes, uint32_t arrived) {
    const uint32_t live = present & ~exited;
    if (op.d == 0) return (live & ~arrived) == 0;
    const uint32_t* mask = row<uint32_t>(op.d);
    uint32_t wanted = 0, outside = 0;
    for (int i = 0; i < warp_size; ++i) {
        uint32_t here = (lanes >> i) & 1 ? ~0u : 0u;
        wanted |= mask[i] & here;
        outside |= ~mask[i] & here & (1u << i);
    }
    if (outside) {
        char text[96];
        int lane = std::countr_zero(outside);
        std::snprintf(text, sizeof text, "lane %d is not in its own member mask 0x%08x, which is undefined", lane,
                      mask[lane]);
        fault(FaultKind::illegal_instruction, op, lane, text);
    }
    return (wanted & live & ~arrived) == 0;
}

// Lets those go on whose partners have all come, from whatever instruction.  True if somebody can.
bool WarpState::resolve_meets() {
    const uint32_t live = present & ~exited;
    bool progress = false;
    for (size_t first = 0; first < groups.size(); ++first) {
        if (groups[first].wait != Wait::meet || groups[first].op->flow == Flow::warpgroup) continue;
        const Exec exec = groups[first].op->exec;
        uint32_t arrived = 0;
        for (const Group& group : groups)
            if (group.wait == Wait::meet && group.op->exec == exec) arrived |= group.lanes;
        uint32_t ready = 0;
        for (const Group& group : groups) {
            if (group.wait != Wait::meet || group.op->exec != exec) continue;
            for (uint32_t rest = group.lanes; rest; rest &= rest - 1) {
                uint32_t lane = std::countr_zero(rest);
                if ((member_mask(group, *group.op, lane, present) & live & ~arrived) == 0) ready |= 1u << lane;
            }
        }
        if (!(ready & groups[first].lanes)) continue;
        std::vector<size_t> members;
        for (size_t i = 0, count = groups.size(); i < count; ++i) {
            if (groups[i].wait != Wait::meet || groups[i].op->exec != exec || !(groups[i].lanes & ready)) continue;
            if (groups[i].lanes & ~ready) {
                split(i, groups[i].lanes & ready);
                members.push_back(groups.size() - 1);
            } else {
                members.push_back(i);
            }
        }
        run_gathered(members, ready);
        progress = true;
    }
    return progress;
}

// Runs one operation for lanes that stand at several instructions: gather the operands, run once, scatter the results.
void WarpState::run_gathered(const std::vector<size_t>& members, uint32_t lanes) {
    Frame* const frame_before = current;
    if (observer)
        for (size_t i : members) {
            place_.function = groups[i].frame->function;
            running = groups[i].op;
            observer->step(place_, *running, groups[i].lanes, groups[i].frame->rows);
            observer->instruction(place_, *running, groups[i].lanes);
        }
    const Op& first = *groups[members[0]].op;
    auto run_for_all = [&](const Op& op) {
        if (observer) observer->meet(place(), op, lanes, exited, frame);
        op.exec(*this, op, lanes);
    };
    bool one_place = true;
    for (size_t i : members)
        one_place = one_place && groups[i].op == &first && groups[i].frame == groups[members[0]].frame;
    if (one_place) {
        current = groups[members[0]].frame;
        frame = current->rows;
        run_for_all(first);
    } else {
        for (size_t i : members)
            if (!groups[i].op->extra)
                fault(FaultKind::illegal_instruction, *groups[i].op, std::countr_zero(groups[i].lanes),
                      "executed by lanes of the warp at different instructions");
        const MeetShape& shape = *static_cast<const MeetShape*>(first.extra);
        constexpr size_t row_bytes = 16 * warp_size;
        alignas(64) std::byte scratch[7 * row_bytes] = {};
        struct Operand {
            uint8_t bytes;
            uint32_t Op::* offset;
            bool result;
        };
        const Operand operands[6] = {{shape.dst, &Op::dst, true}, {shape.dst2, &Op::dst2, true},
                                     {shape.a, &Op::a, false},    {shape.b, &Op::b, false},
                                     {shape.c, &Op::c, false},    {shape.d, &Op::d, false}};
        Op gathered = first;
        gathered.predicate = Op::no_row;
        for (size_t k = 0; k < 6; ++k) gathered.*(operands[k].offset) = static_cast<uint32_t>((k + 1) * row_bytes);
        auto move = [&](const Group& group, const Operand& operand, bool out) {
            std::byte* own = group.frame->rows + (*group.op).*(operand.offset);
            std::byte* common = scratch + gathered.*(operand.offset);
            if (operand.bytes == 0) {
                auto* to = reinterpret_cast<uint32_t*>(out ? own : common);
                auto* from = reinterpret_cast<uint32_t*>(out ? common : own);
                *to = (*to & ~group.lanes) | (*from & group.lanes);
                return;
            }
            for (uint32_t rest = group.lanes; rest; rest &= rest - 1) {
                size_t at = static_cast<size_t>(std::countr_zero(rest)) * operand.bytes;
                std::memcpy((out ? own : common) + at, (out ? common : own) + at, operand.bytes);
            }
        };
        for (size_t i : members)
            for (const Operand& operand : operands)
                if (operand.bytes != MeetShape::unused && !operand.result) move(groups[i], operand, false);
        frame = scratch;
        run_for_all(gathered);
        for (size_t i : members)
            for (const Operand& operand : operands)
                if (operand.bytes != MeetShape::unused && operand.result) move(groups[i], operand, true);
    }
    for (size_t i : members) {
        groups[i].wait = Wait::ready;
        groups[i].pc += 1;
        groups[i].age = 0;
    }
    current = frame_before;
    if (current) frame = current->rows, place_.function = current->function;
}

}  // namespace softcuda
