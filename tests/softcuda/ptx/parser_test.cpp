// Reads PTX files and prints what was found, or runs the built-in cases or a fuzz run; test_parser.py drives it.
//   parser_test cases | parser_test count FILE... | parser_test fuzz ROUNDS FILE...
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>

#include "ptx/ast.h"

using namespace softcuda::ptx;

namespace {

int failures = 0;

void check(bool ok, const char* what, int line) {
    if (ok) return;
    std::printf("parser_test.cpp:%d: %s does not hold\n", line, what);
    ++failures;
}
#define CHECK(condition) check((condition), #condition, __LINE__)

const std::string head = ".version 8.5\n.target sm_90\n.address_size 64\n";

Module body(const std::string& text) { return parse(head + ".visible .entry k(.param .u64 a)\n{\n" + text + "\n}\n"); }

void expect_error(const std::string& text, const std::string& message) {
    try {
        parse(text);
    } catch (const Error& error) {
        if (std::string(error.what()).find(message) != std::string::npos) return;
        std::printf("expected an error with \"%s\", got \"%s\"\n", message.c_str(), error.what());
        ++failures;
        return;
    }
    std::printf("expected an error with \"%s\", got none\n", message.c_str());
    ++failures;
}

void nested_scopes_are_renamed_apart() {
    Module m = body(R"(
        .reg .b32 t, u;
        .shared .b32 s;
        mov.b32 t, 1;
        { .reg .b32 t; .shared .b32 s; bra L; mov.b32 t, 2; st.shared.b32 [s], t; L: }
        { .reg .b32 t; bra L; L: mov.b32 t, s; }
        st.shared.b32 [s], t;
        bra L;
        L: ret;)");
    const Function& f = m.functions[0];
    CHECK(f.registers.size() == 4);
    CHECK(f.body[0].operands[0].reg == 0);
    CHECK(f.body[1].operands[0].name == "L" && f.labels.at("L") == 4);
    CHECK(f.body[2].operands[0].reg == 2);
    CHECK(f.body[3].operands[0].name == "s#2");
    CHECK(f.body[4].operands[0].name == "L#2" && f.labels.at("L#2") == 5);
    CHECK(f.body[5].operands[0].reg == 3 && f.body[5].operands[1].name == "s");
    CHECK(f.body[6].operands[0].name == "s");
    CHECK(f.body[7].operands[0].name == "L#3" && f.labels.at("L#3") == 8);
    CHECK(f.variables.size() == 2 && f.variables[1].name == "s#2");
}

void operands_come_in_every_form() {
    Module m = body(R"(
        .reg .pred p, q; .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .f32 %f<5>; .reg .v2 .f32 pair;
        .shared .align 16 .b8 x[64];
        @!p setp.lt.and.s32 p|q, %r1, -5, !q;
        shfl.sync.idx.b32 _|p, %r1, 0, 31, -1;
        ld.global.nc.L2::cache_hint.v4.f32 {%f0, _, %f1, %f2}, [%rd1+-16], %rd2;
        mov.u32 %r1, %tid.x;
        mov.b32 %r2, (1<<3) + 2;
        mov.b32 %r2, 1 ? 017 : 0b11;
        mov.b64 %rd1, x+8;
        mov.f32 %f0, 0f3F800000;
        mov.f32 %f0, -1.5;
        tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%rd1, {%f1, %f2}];
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [x], [%rd1, {%r1, %r2}], [x+32];
        ld.global.v2.f32 pair, [64];
        add.f32 %f0, pair.x, pair.y;
        vadd.u32.u32.u32 %r1, %r2.b3, %r3.h1, WARP_SZ;
        and.b32 %r1, %r2, 0xFFFFFFFFU;
        red.async.relaxed.cluster [%r1-4], %r2;)");
    const auto& i = m.functions[0].body;
    CHECK(i[0].predicate == 0 && i[0].predicate_negated);
    CHECK(i[0].operands[0].kind == OperandKind::reg_pair && i[0].operands[0].reg2 == 1);
    CHECK(static_cast<int64_t>(i[0].operands[2].bits) == -5 && i[0].operands[3].negated);
    CHECK(i[1].operands[0].reg == sink_register && i[1].operands[0].kind == OperandKind::reg_pair);
    CHECK(i[2].text() == "ld.global.nc.L2::cache_hint.v4.f32" && i[2].modifiers.size() == 5);
    CHECK(i[2].operands[0].elements[1].kind == OperandKind::sink && i[2].operands[1].offset == -16);
    CHECK(i[3].operands[1].kind == OperandKind::special && i[3].operands[1].name == "%tid.x");
    CHECK(i[4].operands[1].bits == 10 && i[5].operands[1].bits == 15);
    CHECK(i[6].operands[1].kind == OperandKind::symbol && i[6].operands[1].offset == 8);
    CHECK(i[7].operands[1].kind == OperandKind::float32 && i[7].operands[1].bits == 0x3F800000);
    CHECK(i[8].operands[1].kind == OperandKind::float64 && std::bit_cast<double>(i[8].operands[1].bits) == -1.5);
    CHECK(i[9].operands[1].elements[0].kind == OperandKind::vector &&
          i[9].operands[1].elements[0].elements.size() == 2);
    CHECK(i[10].operands.size() == 3 && i[10].operands[2].offset == 32 && i[10].operands[2].name == "x");
    CHECK(i[11].operands[0].elements.size() == 2 && i[11].operands[1].offset == 64);
    CHECK(i[12].operands[1].reg + 1 == i[12].operands[2].reg);
    CHECK(i[13].operands[1].name == "b3" && i[13].operands[2].name == "h1");
    CHECK(i[14].operands[2].bits == 0xFFFFFFFF && i[15].operands[0].offset == -4);
}

void initialisers_become_bytes_and_relocations() {
    Module m = parse(head + R"(
        .global .align 4 .u32 grid[2][3] = {{1, 2}, {-1}};
        .global .f32 f[] = {0f3F800000, 2.0, 3};
        .global .f64 d = 0f40000000;
        .func g;
        .global .align 8 .u64 table[4] = {g, generic(grid)+4, grid-8};
        .global .u8 bytes[2] = {0xFF(grid), 0xFF00(grid+1)};
        .global .attribute(.managed) .align 8 .b8 managed[16];
        .extern .shared .align 16 .b8 dynamic[];
        .const .u16 a = 7, b = 8;)");
    const auto& v = m.variables;
    auto word = [&](size_t which, size_t offset) {
        uint32_t value;
        std::memcpy(&value, &v[which].initial[offset], 4);
        return value;
    };
    CHECK(v[0].bytes == 24 && word(0, 4) == 2 && word(0, 8) == 0 && word(0, 12) == 0xFFFFFFFF);
    CHECK(v[1].bytes == 12 && word(1, 4) == 0x40000000 && word(1, 8) == 0x40400000);
    CHECK(word(2, 4) == 0x40000000);
    CHECK(v[3].relocations.size() == 3 && v[3].relocations[1].generic && v[3].relocations[1].addend == 4);
    CHECK(v[3].relocations[2].offset == 16 && v[3].relocations[2].addend == -8);
    CHECK(v[4].relocations[1].shift == 8 && v[4].relocations[1].bytes == 1 && v[4].relocations[1].addend == 1);
    CHECK(v[5].is_managed && v[5].initial.empty());
    CHECK(v[6].is_extern && v[6].bytes == 0 && v[6].align == 16);
    CHECK(v[7].name == "a" && v[8].initial[0] == 8);
}

void calls_keep_their_tables() {
    Module m = body(R"(
        .reg .b64 %rd<2>; .reg .b32 %r<2>;
        { .param .b32 param0; .param .b32 retval0; st.param.b32 [param0], %r0;
          proto: .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[16]) .noreturn;
          call (retval0), %rd0, (param0), proto; }
        { .param .b32 param0; targets: .branchtargets A, B; brx.idx %r0, targets; A: B: call.uni k, (param0); })");
    const Function& f = m.functions[0];
    const Instruction& call = f.body[1];
    CHECK(call.operands[0].kind == OperandKind::list && call.operands[0].elements[0].name == "retval0");
    CHECK(call.operands[1].kind == OperandKind::reg && call.operands[3].name == "proto");
    CHECK(f.prototypes.at("proto").params[0].bytes == 16);
    CHECK(f.branch_targets.at("targets") == (std::vector<std::string>{"A", "B"}));
    CHECK(f.body[3].operands[1].elements[0].name == "param0#2");
}

void lines_are_charged_to_the_readers_code() {
    Module m = parse(head + R"(
        // softcuda: k.registers=12
        .visible .entry k() .maxntid 256, 1, 1 .minnctapersm 2
        {
            .loc 1 10 0
            membar.cta;
            .loc 1 11 5
            .loc 2 100 3, function_name $a, inlined_at 1 11 5
            .loc 2 50 3, function_name $a+4, inlined_at 2 100 3
            ret;
            .loc 1 4 3, function_name $a, inlined_at 1 12 5
            ret;
        }
        .file 1 "snippets/k.cu"
        .file 2 "/usr/local/cuda/include/cooperative_groups.h"
        .section .debug_str { $a: .b8 1,2 })");
    const Function& f = m.functions[0];
    CHECK(f.location.line == 10 && m.files[f.location.file] == "snippets/k.cu");
    CHECK(f.body[1].location.line == 11 && f.body[1].inner_location.line == 11);
    CHECK(f.body[2].location.line == 12 && f.body[2].inner_location.line == 4);
    CHECK(f.max_threads[0] == 256 && f.min_blocks == 2);
    CHECK(m.notes == std::vector<std::string>{"k.registers=12"});
}

void errors_name_line_and_what_was_expected() {
    expect_error("", "line 1: unexpected end of text; expected '.version'");
    expect_error(head + ".entry k()\n{\n  add.s32 %r1, 1, 2;\n}", "line 6: register '%r1' is not declared");
    expect_error(head + ".entry k()\n{\n  bra NOWHERE;\n}", "line 6: 'NOWHERE' is not declared");
    expect_error(head + ".entry k()\n{\n  ret\n}", "line 7: unexpected '}'; expected an operand or ';'");
    expect_error(head + ".entry k()\n{\n  ret;\n", "has no end; expected '}'");
    expect_error(head + ".entry k()\n{\n .reg .b32 a;\n .reg .b32 a;\n}", "line 7: 'a' is declared twice");
    expect_error(head + ".entry k()\n{\nL: L: ret;}", "label 'L' is declared twice");
    expect_error(head + ".global .u32 x = 1/0;", "division by zero");
    expect_error(head + ".global .u32 x[2] = {1,2,3};", "too many values");
    expect_error(head + ".global .align 3 .u32 x;", "no power of two");
    expect_error(head + ".global .u64 x = nobody;", "which is not declared");
    expect_error(head + ".global .u32 x = " + std::string(100000, '('), "nested too deeply");
    expect_error(head + ".entry k() {" + std::string(100000, '{'), "nested too deeply");
    expect_error(head + ".entry k() { mov.b32 " + std::string(100000, '{'), "nested too deeply");
    expect_error(head + "/* no end", "expected '*/'");
}

std::string read(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void count(const char* path) {
    const std::string text = read(path);
    const auto start = std::chrono::steady_clock::now();
    const Module m = parse(text);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    size_t functions = 0, instructions = 0, registers = 0, labels = 0;
    for (const Function& f : m.functions) {
        functions += f.has_body;
        instructions += f.body.size();
        registers += f.registers.size();
        labels += f.labels.size();
    }
    std::printf("%s\t%zu\t%zu\t%zu\t%zu\t%zu\t%.3f\n", path, functions, instructions, registers, labels, text.size(),
                ms);
}

// Cut, flip, delete and repeat parts of real modules: whatever comes, only ptx::Error may.
void fuzz(int rounds, const std::string& original, std::mt19937& random) {
    for (int round = 0; round < rounds; ++round) {
        std::string text = original;
        auto place = [&] { return text.empty() ? 0 : random() % text.size(); };
        const int edits = 1 + static_cast<int>(random() % 4);
        for (int edit = 0; edit < edits; ++edit) {
            switch (random() % 5) {
                case 0: text.resize(place()); break;
                case 1:
                    if (!text.empty()) text[place()] = static_cast<char>(random());
                    break;
                case 2:
                    if (!text.empty()) text[place()] = ";{}()[],.%@:<>-|!0x"[random() % 19];
                    break;
                case 3: text.erase(place(), random() % 40); break;
                case 4: text.insert(place(), original.substr(random() % original.size(), random() % 80)); break;
            }
        }
        try {
            parse(text);
        } catch (const Error&) {
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "cases";
    try {
        if (mode == "cases") {
            nested_scopes_are_renamed_apart();
            operands_come_in_every_form();
            initialisers_become_bytes_and_relocations();
            calls_keep_their_tables();
            lines_are_charged_to_the_readers_code();
            errors_name_line_and_what_was_expected();
        } else if (mode == "count") {
            for (int i = 2; i < argc; ++i) count(argv[i]);
        } else if (mode == "fuzz" && argc > 2) {
            std::mt19937 random(1);
            for (int i = 3; i < argc; ++i) fuzz(std::atoi(argv[2]), read(argv[i]), random);
        }
    } catch (const Error& error) {
        std::printf("unexpected error: %s\n", error.what());
        return 1;
    }
    return failures ? 1 : 0;
}
