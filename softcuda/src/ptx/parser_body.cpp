// What stands between a function's braces: registers, variables, labels, tables, instructions and their operands.
#include <algorithm>

#include "parser.h"

namespace softcuda::ptx {
namespace {

constexpr size_t max_registers = 1 << 20;
constexpr uint32_t max_scopes = 256;
constexpr int max_operand_depth = 4;

bool starts_with_index(std::string_view name, std::string_view prefix, int limit) {
    if (!name.starts_with(prefix) || name.size() == prefix.size()) return false;
    int value = 0;
    for (char c : name.substr(prefix.size())) {
        if (c < '0' || c > '9' || value > limit) return false;
        value = value * 10 + (c - '0');
    }
    return value < limit;
}

// Special registers, without the `.x` of those that are vectors.
bool is_special(std::string_view name) {
    static const std::unordered_set<std::string_view> names = {
        "WARP_SZ",
        "%tid",
        "%ntid",
        "%laneid",
        "%warpid",
        "%nwarpid",
        "%ctaid",
        "%nctaid",
        "%smid",
        "%nsmid",
        "%gridid",
        "%is_explicit_cluster",
        "%clusterid",
        "%nclusterid",
        "%cluster_ctaid",
        "%cluster_nctaid",
        "%cluster_ctarank",
        "%cluster_nctarank",
        "%lanemask_eq",
        "%lanemask_le",
        "%lanemask_lt",
        "%lanemask_ge",
        "%lanemask_gt",
        "%clock",
        "%clock_hi",
        "%clock64",
        "%globaltimer",
        "%globaltimer_lo",
        "%globaltimer_hi",
        "%reserved_smem_offset_begin",
        "%reserved_smem_offset_end",
        "%reserved_smem_offset_cap",
        "%total_smem_size",
        "%aggr_smem_size",
        "%dynamic_smem_size",
        "%current_graph_exec",
    };
    if (names.contains(name) || starts_with_index(name, "%envreg", 32)) return true;
    if (starts_with_index(name, "%reserved_smem_offset_", 2) || starts_with_index(name, "%pm", 8)) return true;
    return name.ends_with("_64") && starts_with_index(name.substr(0, name.size() - 3), "%pm", 8);
}

int component_index(std::string_view component) {  // of .x .y .z .w, or .r .g .b .a
    if (component.size() != 1) return -1;
    size_t place = std::string_view("xyzwrgba").find(component[0]);
    return place == std::string_view::npos ? -1 : static_cast<int>(place % 4);
}

// Video instructions take bytes or halves of registers: %r1.b0, %r2.h1, %r3.b7610 (of two registers together).
bool is_selector(std::string_view name) {
    if (name.size() < 2 || (name[0] != 'b' && name[0] != 'h')) return false;
    const bool bytes = name[0] == 'b';
    if (name.size() > (bytes ? 5u : 3u)) return false;
    return std::all_of(name.begin() + 1, name.end(), [&](char c) { return c >= '0' && c <= (bytes ? '7' : '3'); });
}

}  // namespace

void Parser::parse_body(Function& function) {
    const uint32_t base = scopes_.depth();  // the scope of the parameters is the body's own
    const uint32_t first_line = current().line;
    expect("{", "of a function");
    for (;;) {
        if (current().kind == TokenKind::end) {
            fail(first_line, "the body of '" + function.name + "' has no end; expected '}'");
        } else if (current().is("{")) {
            if (scopes_.depth() >= max_scopes) fail(current().line, "scopes nested too deeply");
            scopes_.open(current().line);
            advance();
        } else if (accept("}")) {
            const bool outermost = scopes_.depth() == base;
            close_scope(function);
            if (outermost) return;
        } else {
            parse_statement(function);
        }
    }
}

// The result of an atom that nobody reads becomes `_`, and the atom as good as a red: nvcc leaves that to ptxas.
void Parser::drop_unread_results(Function& function) {
    std::vector<int32_t> registers;
    for (const Instruction& instruction : function.body) {
        if (instruction.predicate >= 0) registers.push_back(instruction.predicate);
        for (const Operand& operand : instruction.operands) mentioned(operand, registers);
    }
    std::vector<uint32_t> mentions(function.registers.size());
    for (int32_t reg : registers) ++mentions[static_cast<size_t>(reg)];
    for (Instruction& instruction : function.body) {
        if (instruction.opcode != "atom" || instruction.operands.empty()) continue;
        Operand& result = instruction.operands[0];
        if (result.kind == OperandKind::reg && mentions[static_cast<size_t>(result.reg)] == 1) {
            result.kind = OperandKind::sink;
            result.reg = no_register;
        }
    }
}

void Parser::close_scope(Function& function) {
    for (const PendingName& use : scopes_.close(function.body)) {
        unresolved_.emplace_back(use.place ? *use.place : std::string(use.name), use.line);
    }
}

void Parser::parse_statement(Function& function) {
    const Token& token = current();
    if (accept(";")) return;
    if (token.kind == TokenKind::dotted) {
        if (accept_dotted("reg")) return parse_registers(function);
        if (accept_dotted("loc")) return parse_loc();
        if (is_space(token)) return parse_local_variables(function);
        if (accept_dotted("pragma")) return parse_pragma();
        if (accept_dotted("file")) return parse_file();
        if (token.is_dotted("section")) return skip_section();
        unexpected("an instruction, a label, or a directive such as .reg");
    }
    if (token.kind == TokenKind::name && lexer_.peek().is(":")) return parse_label_or_table(function);
    if (token.kind == TokenKind::name || token.is("@")) return parse_instruction(function);
    unexpected("an instruction, a label, or a directive such as .reg");
}

// ---- Declarations ----------------------------------------------------------------------------------------------

void Parser::declare_register(Function& function, std::string_view name, Type type, uint32_t width, uint32_t line) {
    if (function.registers.size() + width > max_registers) {
        fail(line, "'" + function.name + "' declares more than " + std::to_string(max_registers) + " registers");
    }
    Name entry{width > 1 ? NameKind::reg_vector : NameKind::reg,
               0,
               static_cast<int32_t>(function.registers.size()),
               static_cast<uint8_t>(width),
               {}};
    if (!scopes_.declare(name, entry)) fail(line, "'" + std::string(name) + "' is declared twice in one scope");
    static constexpr std::string_view components = "xyzw";
    for (uint32_t i = 0; i < width; ++i) {
        std::string full(name);
        if (width > 1) full += width <= 4 ? std::string(".") + components[i] : "." + std::to_string(i);
        function.registers.push_back({std::move(full), type});
    }
}

void Parser::parse_registers(Function& function) {  // .reg .v2 .b32 %r<12>, a;
    Type type = Type::none;
    uint32_t width = 1;
    while (current().kind == TokenKind::dotted) {
        if (accept_dotted("v2")) {
            width = 2;
        } else if (accept_dotted("v4")) {
            width = 4;
        } else if (accept_dotted("v8")) {
            width = 8;
        } else if (current().is_dotted("align")) {
            advance();
            parse_count(lexer_, "an alignment in bytes", 1 << 16);
        } else if (type_from_name(current().text, type)) {
            advance();
        } else {
            unexpected("a register type such as .b32");
        }
    }
    if (type == Type::none) unexpected("a register type such as .b32");
    do {
        const uint32_t line = current().line;
        std::string_view name = expect_name("a register's name");
        if (!accept("<")) {
            declare_register(function, name, type, width, line);
            continue;
        }
        const uint64_t count = parse_range_count(lexer_, max_registers);
        for (uint64_t i = 0; i < count; ++i) {
            declare_register(function, scopes_.keep(std::string(name) + std::to_string(i)), type, width, line);
        }
    } while (accept(","));
    expect(";", "after .reg");
}

void Parser::declare_local(Function& function, Variable variable, std::string_view raw, uint32_t line) {
    if (scopes_.depth() > 1 && variable_index_.contains(variable.name))
        scopes_.reserve(raw);  // shadows a module variable
    const bool is_module_wide = variable.space == "global" || variable.space == "const";
    if (is_module_wide) variable.name = function.name + "#" + variable.name;  // static storage: one a module, as in C
    variable.name = scopes_.unique(variable.name);
    Name entry{NameKind::variable, 0, no_register, 1, scopes_.keep(variable.name)};
    if (!scopes_.declare(raw, entry)) fail(line, "'" + std::string(raw) + "' is declared twice in one scope");
    if (is_module_wide) {
        add_module_variable(std::move(variable));
    } else {
        function.variables.push_back(std::move(variable));
    }
}

void Parser::parse_local_variables(Function& function) {
    for (Declared& declared : parse_variables()) {
        const uint32_t line = declared.variable.ptx_line;
        std::string_view raw = declared.raw.empty() ? scopes_.keep(declared.variable.name) : declared.raw;
        declare_local(function, std::move(declared.variable), raw, line);
    }
}

// ---- Labels and tables -----------------------------------------------------------------------------------------

void Parser::parse_label_or_table(Function& function) {
    const Token token = current();
    advance();
    advance();  // the colon
    std::string label;
    if (!scopes_.declare_label(token.text, label)) {
        fail(token.line, "label '" + std::string(token.text) + "' is declared twice in one scope");
    }
    if (accept_dotted("branchtargets")) {
        parse_targets(function.branch_targets[label]);
    } else if (accept_dotted("calltargets")) {
        parse_targets(function.call_targets[label]);
    } else if (accept_dotted("callprototype")) {
        parse_prototype(function, label);
    } else {
        function.labels.emplace(label, static_cast<uint32_t>(function.body.size()));
    }
}

void Parser::parse_targets(std::vector<std::string>& targets) {
    std::vector<Token> names;
    do {
        names.push_back(current());
        expect_name("a label or function");
    } while (accept(","));
    expect(";", "after the targets");
    for (const Token& name : names) targets.emplace_back(name.text);
    for (size_t i = 0; i < names.size(); ++i) scopes_.use_later({names[i].text, names[i].line, -1, &targets[i]});
}

void Parser::parse_prototype(Function& function, const std::string& name) {  // .callprototype (.param .b32 _) _ (...);
    Prototype& prototype = function.prototypes[name];
    if (current().is("(")) prototype.returns = parse_parameters(nullptr);
    expect_name("'_' in .callprototype");
    if (current().is("(")) prototype.params = parse_parameters(nullptr);
    Function ignored;  // .noreturn and .abi_preserve may follow
    parse_performance(ignored);
    expect(";", "after .callprototype");
}

// ---- Instructions ----------------------------------------------------------------------------------------------

void Parser::parse_guard(Instruction& instruction) {
    advance();
    instruction.predicate_negated = accept("!");
    const Token token = current();
    expect_name("a predicate register after '@'");
    const Name* name = scopes_.find(token.text);
    if (!name || name->kind != NameKind::reg)
        fail(token.line, "'" + std::string(token.text) + "' after '@' is no predicate register");
    instruction.predicate = name->index;
}

void Parser::parse_instruction(Function& function) {
    Instruction instruction;
    instruction.ptx_line = current().line;
    instruction.location.line = location_;
    if (current().is("@")) parse_guard(instruction);
    const Token opcode = current();
    if (opcode.kind != TokenKind::name || opcode.text[0] == '%') unexpected("an instruction");
    instruction.opcode = opcode.text;
    advance();
    if (current().kind == TokenKind::dotted) instruction.modifiers.reserve(4);
    while (current().kind == TokenKind::dotted) {
        instruction.modifiers.emplace_back(current().text);
        advance();
    }
    const bool is_call = opcode.text == "call";
    signs_registers_ = opcode.text == "vmad";
    if (!current().is(";")) {
        instruction.operands.reserve(4);
        do {
            instruction.operands.push_back(parse_operand(is_call, 0));
        } while (accept(","));
    }
    if (!current().is(";")) unexpected("',' or ';' after an operand of '" + instruction.text() + "'");
    advance();
    function.body.push_back(std::move(instruction));
}

// ---- Operands --------------------------------------------------------------------------------------------------

Operand Parser::parse_operand(bool in_call, int depth) {
    if (depth > max_operand_depth) fail(current().line, "operands nested too deeply");
    const Token& token = current();
    if (token.kind == TokenKind::name) return parse_named_operand(false);
    if (token.is("!")) {
        advance();
        return parse_named_operand(true);
    }
    if (signs_registers_ && token.is("-") && lexer_.peek().kind == TokenKind::name) {
        advance();
        return parse_named_operand(true);
    }
    if (token.is("[")) return parse_address(depth);
    if (token.is("{")) return parse_elements(OperandKind::vector, "}", in_call, depth);
    if (token.is("(") && in_call) return parse_elements(OperandKind::list, ")", in_call, depth);
    if (!starts_constant(token)) unexpected("an operand or ';'");
    Constant value = parse_constant(lexer_);
    Operand operand;
    operand.kind = value.kind == Constant::Kind::integer   ? OperandKind::integer
                   : value.kind == Constant::Kind::float32 ? OperandKind::float32
                                                           : OperandKind::float64;
    operand.bits = value.bits;
    return operand;
}

Operand Parser::parse_elements(OperandKind kind, std::string_view closing, bool in_call, int depth) {
    Operand operand;
    operand.kind = kind;
    advance();
    if (accept(closing)) return operand;
    do {
        operand.elements.push_back(parse_operand(in_call, depth + 1));
    } while (accept(","));
    expect(closing, "after a list of operands");
    return operand;
}

// A variable's renamed name, or a note to settle the name at the end of its scope.  Registers are returned.
const Name* Parser::use_name(std::string_view name, uint32_t line, Operand& operand) {
    const Name* known = scopes_.find(name);
    if (known && known->kind != NameKind::variable) return known;
    if (known) {
        operand.name = known->unique;
    } else {
        operand.name = name;
        scopes_.use_later({name, line, static_cast<int64_t>(function_->body.size())});
    }
    return nullptr;
}

void Parser::parse_offset(Operand& operand) {
    if (current().is("+") || current().is("-")) operand.offset = parse_integer(lexer_, "an offset");
}

Operand Parser::parse_named_operand(bool negated) {
    Operand operand;
    operand.negated = negated;
    const Token token = current();
    expect_name("a register after '!'");

    auto finish_pair = [&] {  // %p1|%p2, _|%p1
        if (!accept("|")) return;
        operand.kind = OperandKind::reg_pair;
        const Token second = current();
        expect_name("a register after '|'");
        if (second.text == "_") {
            operand.reg2 = sink_register;
            return;
        }
        const Name* name = scopes_.find(second.text);
        if (!name || name->kind != NameKind::reg)
            fail(second.line, "'" + std::string(second.text) + "' after '|' is no register");
        operand.reg2 = name->index;
    };

    if (token.text == "_") {
        operand.kind = OperandKind::sink;
        if (current().is("|")) operand.reg = sink_register;
        finish_pair();
        return operand;
    }
    const Name* name = scopes_.find(token.text);
    if (!name && is_special(token.text)) {
        operand.kind = OperandKind::special;
        operand.name = token.text;
        if (current().kind == TokenKind::dotted && component_index(current().text) >= 0) {
            operand.name += "." + std::string(current().text);
            advance();
        }
        return operand;
    }
    if (!name && token.text[0] == '%') {
        fail(token.line, "register '" + std::string(token.text) + "' is not declared; expected .reg before its use");
    }
    name = use_name(token.text, token.line, operand);
    if (!name) {
        if (negated) fail(token.line, "'" + std::string(token.text) + "' after '!' is no register");
        operand.kind = OperandKind::symbol;
        parse_offset(operand);
        return operand;
    }
    operand.kind = OperandKind::reg;
    operand.reg = name->index;
    const bool dotted = current().kind == TokenKind::dotted;
    if (name->kind == NameKind::reg_vector) {
        const int component = dotted ? component_index(current().text) : -1;
        if (dotted && (component < 0 || component >= name->width))
            unexpected("a component of '" + std::string(token.text) + "'");
        if (dotted) {
            operand.reg += component;
            advance();
            return operand;
        }
        operand.kind = OperandKind::vector;
        operand.reg = no_register;
        for (int i = 0; i < name->width; ++i) {
            Operand& element = operand.elements.emplace_back();
            element.kind = OperandKind::reg;
            element.reg = name->index + i;
        }
        return operand;
    }
    if (dotted) {
        if (!is_selector(current().text)) unexpected("',' or ';' after register '" + std::string(token.text) + "'");
        operand.name = current().text;
        advance();
    }
    finish_pair();
    return operand;
}

// [%rd1+8], [buffer+4], [64], and with coordinates: [%rd1, {%r1, %r2}], [texture, sampler, {%f1}].
Operand Parser::parse_address(int depth) {
    Operand operand;
    operand.kind = OperandKind::address;
    advance();
    const Token base = current();
    if (base.kind == TokenKind::name && base.text != "WARP_SZ") {
        advance();
        if (base.text[0] == '%' && !scopes_.find(base.text)) {
            fail(base.line, "register '" + std::string(base.text) + "' is not declared; expected .reg before its use");
        }
        if (const Name* name = use_name(base.text, base.line, operand)) {
            if (name->kind != NameKind::reg)
                fail(base.line, "'" + std::string(base.text) + "' is a vector and no address");
            operand.reg = name->index;
        }
        parse_offset(operand);
    } else {
        operand.offset = parse_integer(lexer_, "an address: a register, a name or a number");
    }
    while (accept(",")) operand.elements.push_back(parse_operand(false, depth + 1));
    expect("]", "after an address");
    return operand;
}

}  // namespace softcuda::ptx
