// Looks for defects that may hide in a right result: races, reads of what nobody wrote, barriers that not everybody
// reaches, shuffles from lanes that take no part, memory never freed.  Writes one JSON object a finding, each once.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "inspect/footprint.h"
#include "inspect/order.h"
#include "inspect/record.h"
#include "inspect/shadow.h"
#include "machine/observer.h"

namespace softcuda::inspect {

class Checker : public Observer {
  public:
    // Writes to a Record of that name.
    explicit Checker(const std::string& record);
    void launch_begin(const Program& program, const Function& kernel, const LaunchConfig& config) override;
    void launch_end(const Program& program, const Function& kernel, const LaunchConfig& config,
                    const LaunchResult& result) override;
    void block_begin(const WarpPlace& place) override;
    void block_end(const WarpPlace& place) override;
    void orders(const WarpPlace& place, const Op& op, uint32_t lanes) override;
    void access(const WarpPlace& place, const Op& op, const RowAccess& access) override;
    void loads(const WarpPlace& place, const Loads& all, const RowAccess& row) override;
    void memory(const WarpPlace& place, const Op& op, const MemoryEvent& event) override;
    void bulk(const WarpPlace& place, const Op& op, const BulkEvent& event) override;
    void waited(const WarpPlace& place, const Op& op, uint32_t lanes, const void* barrier) override;
    void barrier(const WarpPlace& place, const Op& op, uint32_t lanes, uint32_t id, bool waits, bool counted) override;
    void barrier_done(const WarpPlace& place, uint32_t id, uint32_t threads) override;
    void cluster_arrive(const WarpPlace& place, uint32_t lanes, const void* cluster) override;
    void cluster_done(const WarpPlace& place, const void* cluster) override;
    void meet(const WarpPlace& place, const Op& op, uint32_t lanes, uint32_t gone, const std::byte* frame) override;
    void exited(const WarpPlace& place, uint32_t lanes) override;
    void step(const WarpPlace& place, const Op& op, uint32_t lanes, const std::byte* frame) override;
    void product(const WarpPlace& place, const ProductEvent& event) override;
    bool follows_steps() const override { return product_kinds_ != nullptr; }
    bool one_worker() const override { return true; }
    void sees(const std::shared_ptr<const Memory::View>& view) override;
    void allocated(uint64_t address, uint64_t bytes) override;
    void written(uint64_t address, uint64_t bytes) override;
    void leaked(const Allocation& allocation) override;
    void process_end() override;

  private:
    // A thread and the line it was at.
    struct Who {
        uint32_t block, thread, line;
        const char* access;
    };
    // What an instruction is to the checker, by its line in Program::locations.
    enum class Kind : uint8_t {
        plain,
        fence,
        block_fence,
        proxy_fence,
        commit,
        wait_group,
        wait_all,
        copy,
        arrive,
        bulk,
        unseen,      // writes shared memory, and no event says where
        init,        // of an mbarrier
        init_fence,  // fence.mbarrier_init
        cas,
        up,
        down,
        bfly,
        idx
    };

    struct Barrier {
        Clocks clocks;
        Knowledge knows;
        std::vector<uint32_t> waiting;  // lanes, by warp
        std::vector<uint32_t> line;     // where they wait, by warp
        bool counted = false;
        bool reported = false;
    };
    static constexpr size_t cluster_barrier = 16;

    struct Copy {  // asynchronous, not waited for
        uint32_t warp, group, id;
        uint64_t offset;
        uint32_t bytes;
    };

    // A bulk copy or tensor copy that reads or writes the block's shared memory.
    struct Engine {
        std::shared_ptr<const TransferState> state;
        const void* barrier;  // null: its thread's groups report the end
        uint32_t begin, end;
        uint32_t block, warp, thread, line;  // who began it
        bool writes;
        bool done;
        Clocks waited;  // by warp: its clock when it had seen the end, 0 if it has not
    };

    struct Init {  // of an mbarrier
        const void* barrier;
        uint32_t offset, warp, thread, line;
        uint32_t clock;  // its warp's
        bool shown;      // to the copy engine, by a fence
    };

    // A read of shared memory that nobody has written: reported when the block ends, unless its line is part of a race, which
    // says more.
    struct Unreported {
        uint32_t line;
        std::string key, text;
    };

    // checker_products.cpp
    enum class ProductKind : uint8_t { none, copy, product, fence, commit, wait, proxy_fence };
    struct Product {  // of a warp, issued and not waited for
        uint32_t line = 0, lane = 0;
        uint64_t number = 0, group = 0;
        uint32_t first_mark = 0;           // of what came later
        const std::byte* frame = nullptr;  // of its registers
        Clocks proxied;                    // Block::proxied when it was issued
        bool computed = false;             // at the wait of another warp
        uint32_t reading = 0;              // then: its place in Block::readings, from 1
    };
    struct Reading {  // of shared memory, by a product that a warp of its group has waited for
        uint32_t line, lane;
        std::array<uint32_t, warps_in_group> waited;  // each warp's clock behind its wait; 0: it has not waited
    };
    struct Products {  // of a warp
        std::vector<Product> under_way;
        uint64_t issued = 0, committed = 0;
        uint32_t fences = 1;        // wgmma.fence so far
        uint32_t waits = 1;         // wgmma.wait_group so far
        uint32_t waits_fenced = 1;  // before the last fence
        uint32_t computed_at = 0;   // below this clock it has computed the warpgroup's products
        struct Write {              // to a register, by other instructions
            const std::byte* frame = nullptr;
            uint32_t line = 0, lane = 0, fences = 0, waits = 0;
        };
        std::vector<Write> writes;  // by row
    };

    struct Block {
        uint32_t serial = 0;
        std::vector<Products> products;  // by warp
        std::vector<Reading> readings;
        std::vector<uint32_t> read_by;  // by 16 bytes and warpgroup: the last reading, times 16, and a bit per warp
        Clocks proxied;                 // writes below are visible to the asynchronous proxy
        std::vector<WarpOrder> warps;
        std::vector<uint32_t> groups;  // of asynchronous copies committed, by warp
        std::vector<Copy> copies;
        std::vector<Engine> engines;
        std::vector<Init> inits;
        std::array<Barrier, 17> barriers;
        Marks marks;  // of accesses to shared memory
        Shadow shared;
        Filled copied;              // what bulk copies have filled of it, or will have
        uint32_t ordered = 0;       // marks below come before everything that follows
        Clocks ended;               // what lanes that have exited did
        uint32_t gone = 0;          // threads
        uint32_t global_phase = 0;  // the same of marks of global memory, in this block
        bool counted = false;       // a barrier of some of the threads
        bool fenced = false;        // somebody has released something
        bool shares = false;        // it is one of several of a cluster
        bool blind = false;         // it has run for so long that its shared memory is watched no more
        std::vector<Unreported> unreported;
    };

    // A plain read beside a compare-and-swap of another thread: reported unless its thread compares and swaps too.
    struct Guess {
        uint32_t block, warp;
        uint64_t address;
        std::string key, text;
    };

    struct Notes;
    struct Launch {
        const Program* program;
        const Function* kernel;
        const LaunchConfig* config;
        std::unordered_map<uint64_t, Block*> running;
        std::vector<std::array<uint32_t, 3>> blocks;  // by serial
        GridOrder order;
        Notes* notes;
        bool bulk;    // the program has copies that are followed in `engines`
        bool unseen;  // something of the program writes shared memory unseen
        std::unordered_set<uint64_t> reported;
        std::vector<Guess> guesses;
        std::unordered_set<uint32_t> raced;  // lines of races in shared memory
        std::map<const void*, Knowledge> clusters;
    };

    struct Known {  // an allocation
        Allocation allocation;
        bool tracked;
        Shadow shadow;
        Filled filled;
    };

    // An access on its way through the shadow.
    struct Touch {
        Block& block;
        WarpOrder& warp;
        uint32_t warp_index;
        const Op& op;
        const MemoryEvent& event;
        Marks& marks;
        Shadow& shadow;
        uint64_t base;       // of the addresses
        const Known* known;  // null: shared memory
        uint32_t lanes;
        uint32_t ordered;  // marks below need no look
        uint32_t phase;    // marks since the block's last barrier
        bool one_place;    // all lanes at one address
        uint32_t id = 0;
        bool special = false;  // atomic or strong
        // the verdict on the mark looked at last
        uint32_t judged = 0;
        bool fine = false, own_warp = false;
        Mark* mark = nullptr;
    };

    // Of a load or store instruction, by its line in Program::locations.
    struct Site {
        std::shared_ptr<Footprints> prints;  // with all that use the same row of addresses
        Known* known = nullptr;              // the allocation it touched last
        uint64_t seen = 0;                   // `known` holds as long as this is views_seen_
        uint64_t last = 0;                   // the first address of the access before
        uint32_t id = 0;                     // and if that was a load, its mark
        Mark mark;
        struct Together {  // of the first of several loads
            bool alike = true;
            Footprints prints;
        };
        std::unique_ptr<Together> together;
    };
    struct Notes {  // of a program, by line
        std::vector<Kind> kinds;
        std::vector<ProductKind> products;  // empty: it has none
        std::vector<Site> sites;
        std::map<std::tuple<const Function*, uint32_t, uint8_t, Access, uint8_t>, std::shared_ptr<Footprints>> prints;
    };

    // checker_quick.cpp
    struct Quick {
        Block& block;
        WarpOrder& warp;
        uint32_t warp_index;
        Marks& marks;
        uint32_t ordered, phase;  // as in Touch
    };
    struct Piece {
        int32_t at;
        uint32_t count;
        const uint32_t* lane;
        enum class Before : uint8_t { nothing, others, own } before;
    };
    template <bool shared, bool load>
    bool quick(const WarpPlace& place, const Loads& all, const RowAccess& access);
    bool without_a_word(const WarpPlace& place, const Op& op, const RowAccess& access);
    static bool settled(const Quick& q, const uint32_t* cells, const uint32_t* lane, uint32_t count);
    bool note_reads(const Quick& q, const Footprint& print, const uint32_t* read);
    static uint32_t mark_of(const Quick& q, Site& site, const Op& op, uint32_t lanes);
    std::vector<Piece> pieces_;

    Launch& launch() { return *launches_.back(); }
    Block& block(const WarpPlace& place) {
        const bool same = current_number_ != ~0ull && place.block[0] == current_place_[0] &&
                          place.block[1] == current_place_[1] && place.block[2] == current_place_[2];
        return same ? *current_ : find_block(place);
    }
    Block& find_block(const WarpPlace& place);
    static Kind kind_of(const std::string& text);
    void shared_access(Block& block, const WarpPlace& place, const Op& op, const MemoryEvent& event);
    void global_access(Block& block, const WarpPlace& place, const Op& op, const MemoryEvent& event);
    void touch(Touch& t);
    static bool read_cells(Touch& t);
    static bool update_cells(Touch& t);
    void touch_cell(Touch& t, uint32_t lane, size_t cell);
    static bool nothing_in(Touch& t, size_t cell);
    void excuse(Touch& t, uint32_t lane, size_t cell);
    bool comes_before(Touch& t, const Mark& mark, uint32_t other, uint32_t lane);
    void judge(Touch& t, uint32_t cell, uint32_t lane, bool other_writes);
    void learn(Touch& t, uint32_t cell, uint32_t lane);
    void release(Touch& t);
    void snapshot(Block& block, uint32_t warp);
    void wait_for_copies(Block& block, uint32_t warp, uint32_t groups);
    // checker_bulk.cpp
    static void fence_proxy(Block& block, uint32_t warp);
    bool ended_for(const Block& block, const Engine& engine, uint32_t warp) const;
    void engine_access(const WarpPlace& place, const Op& op, const BulkEvent& event, const BulkEvent::Shared& part,
                       bool writes);
    void compare_with_threads(Block& block, const WarpPlace& place, const Op& op, const BulkEvent::Shared& part,
                              bool writes, const Who& here);
    void meet_engines(Block& block, const WarpPlace& place, const Op& op, const MemoryEvent& event);
    Block* running_block(const WarpPlace& place);  // null: it has ended
    void report_shared(const char* kind, const char* what, uint32_t offset, uint32_t bytes, const Who& first,
                       const Who* second);
    void report_unread(const Block& block);
    static void note_inits(Block& block, const WarpPlace& place, const Op& op, const MemoryEvent& event);
    static void show_inits(Block& block, uint32_t warp, bool of_others);
    void look_at_init(const Block& block, const void* barrier, const Who& here);
    static ProductKind product_kind_of(const std::string& text);
    static void note_products(const Program& program, Notes& notes);
    static void show_to_products(Block& block, uint32_t warp);
    void look_for_fence(const Products& products, const Op& op, const std::byte* frame, const Who& here);
    void meet_product(Block& block, const WarpPlace& place, const Op& op, uint32_t lanes, const std::byte* frame);
    static void note_reading(Block& block, uint32_t group, uint32_t at, uint32_t warps);
    static void forget_readings(Block& block, uint32_t begin, uint32_t end);
    void meet_readings(Block& block, const WarpPlace& place, const Op& op, const MemoryEvent& event);
    bool same_value(const Touch& t, uint32_t lane, uint32_t other) const;
    bool keeps_value(const Touch& t, uint32_t lane) const;
    bool value_of(const Touch& t, uint32_t lane, std::byte* bytes) const;
    void uninitialised(Touch& t, uint32_t lanes);

    bool first_time(const char* kind, uint32_t line, uint32_t other);
    void report_rest(Block& block);
    // The finding's identity, and all that is said of it.
    std::pair<std::string, std::string> describe_finding(const char* kind, const char* what, const char* space,
                                                         const Touch* at, uint64_t address, const Who& first,
                                                         const Who* second);
    void report(const char* kind, const char* what, const char* space, const Touch* at, uint64_t address,
                const Who& first, const Who* second);
    std::string describe_access(const Who& who);
    std::string variable_at(uint64_t address);
    static std::string allocation_text(const Allocation& allocation, uint64_t address);
    void forget_global();
    void restart(Marks& marks);
    void apply_writes();
    Known* find(uint64_t address);

    Record out_;
    std::vector<std::unique_ptr<Launch>> launches_;  // the last one runs
    std::vector<std::unique_ptr<Block>> blocks_;
    std::vector<Block*> idle_;
    Block* current_ = nullptr;
    uint64_t current_number_ = ~0ull;
    uint32_t current_place_[3] = {};
    const Kind* kinds_ = nullptr;                   // of the running launch
    const ProductKind* product_kinds_ = nullptr;    // the same; null: it has no products
    Site* sites_ = nullptr;                         // the same
    std::unordered_map<uint64_t, Notes> notes_of_;  // by program
    Marks marks_;                                   // of accesses to global memory
    std::shared_ptr<const Memory::View> view_;
    std::map<uint64_t, std::unique_ptr<Known>> known_;  // by base
    Known* last_known_ = nullptr;
    uint64_t views_seen_ = 1;
    std::set<std::string> findings_;
    std::set<uint64_t> sources_written_;

    std::atomic<bool> failed_{false};

    std::mutex mutex_;  // what follows
    struct Change {
        uint64_t address, bytes;
        bool fresh;
    };
    std::vector<Change> changes_;
};

}  // namespace softcuda::inspect
