#include "parser.h"

#include <algorithm>
#include <bit>

namespace softcuda::ptx {
namespace {

constexpr uint64_t max_variable_bytes = 1ull << 40;
constexpr uint64_t max_initialized_bytes = 1ull << 28;
constexpr uint64_t max_files = 1 << 16;
constexpr size_t max_dimensions = 8;

}  // namespace

Module parse(std::string_view text) { return Parser(text).parse_module(); }

// ---- Tokens ----------------------------------------------------------------------------------------------------

void Parser::fail(uint32_t line, const std::string& what) { throw Error(line, what); }

void Parser::unexpected(const std::string& expected) {
    fail(current().line, "unexpected " + describe(current()) + "; expected " + expected);
}

bool Parser::accept(std::string_view punctuation) {
    if (!current().is(punctuation)) return false;
    advance();
    return true;
}

bool Parser::accept_dotted(std::string_view name) {
    if (!current().is_dotted(name)) return false;
    advance();
    return true;
}

void Parser::expect(std::string_view punctuation, const char* where) {
    if (!accept(punctuation)) unexpected("'" + std::string(punctuation) + "' " + where);
}

std::string_view Parser::expect_name(const char* what) {
    if (current().kind != TokenKind::name) unexpected(what);
    std::string_view name = current().text;
    advance();
    return name;
}

// ---- Modules ---------------------------------------------------------------------------------------------------

Module Parser::parse_module() {
    if (!current().is_dotted("version")) unexpected("'.version' at the start of a PTX module");
    parse_version();
    while (current().kind != TokenKind::end) parse_top_level();
    check_names();
    resolve_locations();
    module_.notes = lexer_.take_notes();
    return std::move(module_);
}

void Parser::parse_top_level() {
    Linkage linkage;
    for (;;) {
        if (accept_dotted("extern")) {
            linkage.is_extern = true;
        } else if (accept_dotted("visible")) {
            linkage.is_visible = true;
        } else if (accept_dotted("weak")) {
            linkage.is_weak = true;
        } else if (accept_dotted("common")) {
            linkage.is_common = true;
        } else {
            break;
        }
    }
    if (current().kind != TokenKind::dotted && !current().is(";")) unexpected("a directive such as .entry or .global");
    if (accept_dotted("entry")) return parse_function(true, linkage);
    if (accept_dotted("func")) return parse_function(false, linkage);
    if (is_space(current())) {
        for (Declared& declared : parse_variables()) {
            Variable& variable = declared.variable;
            variable.is_extern = linkage.is_extern;
            variable.is_visible = linkage.is_visible;
            variable.is_weak = linkage.is_weak;
            variable.is_common = linkage.is_common;
            add_module_variable(std::move(variable));
        }
        return;
    }
    if (current().is_dotted("version")) return parse_version();
    if (accept_dotted("target")) return parse_target();
    if (accept_dotted("address_size")) {
        module_.address_size = static_cast<int>(parse_count(lexer_, "32 or 64", 64));
        return;
    }
    if (accept_dotted("file")) return parse_file();
    if (accept_dotted("loc")) return parse_loc();
    if (accept_dotted("alias")) return parse_alias();
    if (accept_dotted("pragma")) return parse_pragma();
    if (current().is_dotted("section")) return skip_section();
    if (accept(";")) return;
    unexpected("a directive such as .entry or .global");
}

void Parser::parse_version() {
    advance();
    const Token number = current();
    auto [major, minor] = std::pair(0, 0);
    size_t dot = number.text.find('.');
    auto read = [](std::string_view digits, int& value) {
        if (digits.empty() || digits.size() > 4) return false;
        for (char c : digits) {
            if (c < '0' || c > '9') return false;
            value = value * 10 + (c - '0');
        }
        return true;
    };
    if (number.kind != TokenKind::number || dot == std::string_view::npos || !read(number.text.substr(0, dot), major) ||
        !read(number.text.substr(dot + 1), minor)) {
        unexpected("a PTX version such as 8.5");
    }
    module_.version_major = major;
    module_.version_minor = minor;
    advance();
}

void Parser::parse_target() {
    module_.target = expect_name("a target such as sm_90");
    while (accept(",")) expect_name("a target option such as debug");
}

void Parser::parse_file() {
    const uint64_t index = parse_count(lexer_, "a file number", max_files);
    if (current().kind != TokenKind::string) unexpected("a file name in quotes");
    if (module_.files.size() <= index) module_.files.resize(index + 1);
    module_.files[index] = current().text;
    advance();
    while (accept(",")) parse_integer(lexer_, "a time stamp or a file size");
}

LocationTable::Place Parser::parse_place() {
    LocationTable::Place place{};
    place.file = static_cast<uint32_t>(parse_count(lexer_, "a file number", max_files));
    place.line = static_cast<uint32_t>(parse_count(lexer_, "a line number", UINT32_MAX));
    place.column = static_cast<uint32_t>(parse_count(lexer_, "a column", UINT32_MAX));
    return place;
}

void Parser::parse_loc() {
    LocationTable::Place place = parse_place();
    bool inlined = false;
    LocationTable::Place caller{};
    while (accept(",")) {
        std::string_view attribute = expect_name("function_name or inlined_at");
        if (attribute == "function_name") {
            expect_name("a label of .debug_str");
            if (accept("+")) parse_integer(lexer_, "an offset");
        } else if (attribute == "inlined_at") {
            caller = parse_place();
            inlined = true;
        } else {
            fail(current().line,
                 "unknown attribute '" + std::string(attribute) + "' of .loc; expected function_name or inlined_at");
        }
    }
    location_ = inlined ? locations_.add(place, caller) : locations_.add(place);
    if (function_ && function_->location.line == 0) function_->location.line = location_;
}

void Parser::parse_alias() {
    const uint32_t line = current().line;
    std::string alias(expect_name("the alias"));
    expect(",", "between alias and function");
    std::string function(expect_name("the function behind an alias"));
    expect(";", "after .alias");
    unresolved_.emplace_back(function, line);
    module_.aliases[std::move(alias)] = std::move(function);
}

void Parser::parse_pragma() {
    do {
        if (current().kind != TokenKind::string) unexpected("a pragma in quotes");
        advance();
    } while (accept(","));
    expect(";", "after .pragma");
}

void Parser::skip_section() {
    advance();
    while (current().kind == TokenKind::dotted || current().kind == TokenKind::name) advance();
    if (!current().is("{")) unexpected("'{' of a .section");
    lexer_.skip_braces();
}

void Parser::check_names() {
    for (const auto& [name, line] : unresolved_) {
        if (variable_index_.contains(name) || function_index_.contains(name) || module_.aliases.contains(name))
            continue;
        fail(line, "'" + name + "' is not declared; expected a register, label, variable or function");
    }
    for (const Variable& variable : module_.variables) {
        for (const Relocation& relocation : variable.relocations) {
            const std::string& name = relocation.symbol;
            if (variable_index_.contains(name) || function_index_.contains(name) || module_.aliases.contains(name))
                continue;
            fail(variable.ptx_line,
                 "the initialiser of '" + variable.name + "' names '" + name + "', which is not declared");
        }
    }
}

// While reading, Location::line holds an id of `locations_`; `.file` lines may come last.
void Parser::resolve_locations() {
    locations_.resolve(module_.files);
    for (Function& function : module_.functions) {
        function.location = locations_.outer(function.location.line);
        for (Instruction& instruction : function.body) {
            const uint32_t id = instruction.location.line;
            instruction.location = locations_.outer(id);
            instruction.inner_location = locations_.inner(id);
        }
    }
}

// ---- Variables -------------------------------------------------------------------------------------------------

bool Parser::is_space(const Token& token) {
    if (token.kind != TokenKind::dotted) return false;
    for (std::string_view space : {"global", "shared", "const", "local", "param", "tex"}) {
        if (token.text == space) return true;
    }
    return false;
}

void Parser::parse_attribute(Variable& variable) {  // .attribute(.managed, .unified(1, 2))
    expect("(", "after .attribute");
    do {
        if (accept_dotted("managed")) {
            variable.is_managed = true;
        } else if (accept_dotted("unified")) {
            expect("(", "after .unified");
            do {
                parse_integer(lexer_, "half of a unique id");
            } while (accept(","));
            expect(")", "after .unified");
        } else {
            unexpected(".managed or .unified in .attribute");
        }
    } while (accept(","));
    expect(")", "after .attribute");
}

// `.align 8 .v2 .f32`, `.u64 .ptr .global .align 16`: everything between the space and the name.
Parser::Declared Parser::parse_type(std::string_view space) {
    Declared declared;
    Variable& variable = declared.variable;
    variable.space = space;
    variable.ptx_line = current().line;
    uint64_t align = 0;
    bool of_pointee = false;  // behind .ptr, space and alignment describe what is pointed to
    while (current().kind == TokenKind::dotted) {
        if (accept_dotted("align")) {
            const Token number = current();
            uint64_t value = parse_count(lexer_, "an alignment in bytes", 1 << 16);
            if (!std::has_single_bit(value)) fail(number.line, "alignment " + describe(number) + " is no power of two");
            if (!of_pointee) align = value;
        } else if (accept_dotted("ptr")) {
            of_pointee = true;
        } else if (of_pointee && is_space(current())) {
            advance();
        } else if (accept_dotted("attribute")) {
            parse_attribute(variable);
        } else if (accept_dotted("v2")) {
            declared.width = 2;
        } else if (accept_dotted("v4")) {
            declared.width = 4;
        } else if (accept_dotted("v8")) {
            declared.width = 8;
        } else if (variable.type == Type::none && type_from_name(current().text, variable.type)) {
            advance();
        } else {
            unexpected("a type such as .b32");
        }
    }
    if (variable.type == Type::none) unexpected("a type such as .b32");
    const uint32_t natural = static_cast<uint32_t>(std::max(bytes_of(variable.type), 1)) * declared.width;
    variable.align = align ? static_cast<uint32_t>(align) : natural;
    return declared;
}

// `x`, `x<4>`, `x[4][8]`, `x[] = {1, 2}`.
Parser::Declared Parser::parse_declared_name(Declared declared) {
    Variable& variable = declared.variable;
    variable.ptx_line = current().line;
    declared.raw = expect_name("a name");
    variable.name = declared.raw;
    if (accept("<")) declared.count = parse_range_count(lexer_, 4096);
    std::vector<uint64_t> dimensions;
    while (accept("[")) {
        if (dimensions.size() == max_dimensions)
            fail(current().line, "'" + variable.name + "' has too many dimensions");
        dimensions.push_back(current().is("]") ? 0 : parse_count(lexer_, "a number of elements", max_variable_bytes));
        expect("]", "after the number of elements");
    }
    if (variable.type == Type::pred) fail(variable.ptx_line, "'" + variable.name + "' is a .pred outside registers");
    // An opaque reference holds a handle.
    uint64_t bytes = static_cast<uint64_t>(bytes_of(variable.type)) * declared.width;
    if (bytes == 0) bytes = 8;
    bool unsized = false;
    for (uint64_t dimension : dimensions) {
        unsized |= dimension == 0;
        if (dimension > max_variable_bytes / bytes) fail(variable.ptx_line, "'" + variable.name + "' is too large");
        if (dimension) bytes *= dimension;
    }
    variable.bytes = unsized ? 0 : bytes;
    if (accept("=")) {
        if (declared.count)
            fail(variable.ptx_line, "'" + variable.name + "' is a range of names and takes no initialiser");
        parse_initializer(variable, dimensions, declared.width);
    }
    return declared;
}

std::vector<Parser::Declared> Parser::parse_variables() {
    const std::string_view space = current().text;
    advance();
    Declared shared = parse_type(space);
    std::vector<Declared> all;
    do {
        Declared declared = parse_declared_name(shared);
        if (declared.count == 0) {
            all.push_back(std::move(declared));
            continue;
        }
        const std::string base = declared.variable.name;
        for (uint64_t i = 0; i < declared.count; ++i) {
            declared.variable.name = base + std::to_string(i);
            declared.raw = {};
            all.push_back(declared);
        }
    } while (accept(","));
    expect(";", "after a variable");
    return all;
}

void Parser::parse_initializer(Variable& variable, const std::vector<uint64_t>& dimensions, uint32_t width) {
    if (bytes_of(variable.type) == 0) {  // .texref t = {addr_mode_0 = wrap, ...}: sampling state, which the driver sets
        if (!current().is("{")) unexpected("'{' of an initialiser");
        lexer_.skip_braces();
        return;
    }
    // A vector is one more dimension.  strides[k]: elements covered by one entry of level k.
    std::vector<uint64_t> shape = dimensions;
    if (width > 1) shape.push_back(width);
    const bool open_ended = !shape.empty() && shape.front() == 0;
    std::vector<uint64_t> strides(shape.size() + 1, 1);
    for (size_t k = shape.size(); k-- > 0;) strides[k] = strides[k + 1] * (k == 0 && open_ended ? 1 : shape[k]);
    if (variable.bytes > max_initialized_bytes)
        fail(variable.ptx_line, "'" + variable.name + "' is too large to initialise");
    variable.initial.assign(variable.bytes, 0);
    if (shape.empty()) {
        const bool braced = accept("{");
        parse_initial_value(variable, 0);
        if (braced) expect("}", "after an initialiser");
        return;
    }
    if (open_ended) strides[0] = max_initialized_bytes;
    parse_initializer_level(variable, strides, 0, 0);
    if (open_ended) {
        const uint64_t row = strides[1] * static_cast<uint64_t>(bytes_of(variable.type));
        if (row > max_initialized_bytes) fail(variable.ptx_line, "'" + variable.name + "' is too large to initialise");
        if (row) variable.initial.resize((variable.initial.size() + row - 1) / row * row);
        variable.bytes = variable.initial.size();
    }
}

// Entries of one brace level: nested braces start rows, bare values go on one by one.
void Parser::parse_initializer_level(Variable& variable, const std::vector<uint64_t>& strides, size_t level,
                                     uint64_t first) {
    const uint32_t line = current().line;
    expect("{", "of an initialiser");
    const uint64_t end = first + strides[level];
    uint64_t element = first;
    while (!current().is("}")) {
        if (element >= end) fail(current().line, "too many values in the initialiser of '" + variable.name + "'");
        if (current().is("{")) {
            if (element + strides[level + 1] > end) {
                fail(current().line, "too many values in the initialiser of '" + variable.name + "'");
            }
            if (level + 2 >= strides.size()) unexpected("a value: the initialiser has more braces than dimensions");
            parse_initializer_level(variable, strides, level + 1, element);
            element += strides[level + 1];
        } else {
            parse_initial_value(variable, element++);
        }
        if (!accept(",")) break;
    }
    if (!accept("}")) unexpected("'}' of the initialiser that starts on line " + std::to_string(line));
}

// `name`, `name+8`, `generic(name)-4`
Relocation Parser::parse_symbol_value() {
    Relocation relocation;
    std::string_view name = expect_name("a symbol");
    if (name == "generic" && accept("(")) {
        relocation.generic = true;
        name = expect_name("a symbol in generic()");
        if (current().is("+") || current().is("-")) relocation.addend = parse_integer(lexer_, "an offset");
        expect(")", "after generic");
    }
    relocation.symbol = name;
    if (current().is("+") || current().is("-")) relocation.addend += parse_integer(lexer_, "an offset");
    return relocation;
}

void Parser::parse_initial_value(Variable& variable, uint64_t element) {
    const uint32_t line = current().line;
    const uint64_t size = static_cast<uint64_t>(bytes_of(variable.type));
    const uint64_t offset = element * size;
    if (offset + size > variable.initial.size()) {
        if (offset + size > max_initialized_bytes)
            fail(line, "the initialiser of '" + variable.name + "' is too large");
        variable.initial.resize(offset + size);
    }
    auto relocate = [&](Relocation relocation) {
        relocation.offset = offset;
        relocation.bytes = static_cast<int>(size);
        variable.relocations.push_back(std::move(relocation));
    };
    if (current().kind == TokenKind::name && current().text != "WARP_SZ") return relocate(parse_symbol_value());
    if (current().kind == TokenKind::number && lexer_.peek().is("(")) {  // 0xFF00(name): one byte of an address
        const uint64_t mask = static_cast<uint64_t>(parse_count(lexer_, "a mask", UINT64_MAX));
        const int shift = mask ? std::countr_zero(mask) : 0;
        if (mask >> shift != 0xff || shift % 8 != 0)
            fail(line, "a mask selects one byte of an address; expected 0xFF, 0xFF00, ...");
        expect("(", "after a mask");
        Relocation relocation = parse_symbol_value();
        expect(")", "after a masked symbol");
        relocation.shift = static_cast<uint8_t>(shift);
        return relocate(std::move(relocation));
    }
    if (!starts_constant(current())) unexpected("a value in the initialiser of '" + variable.name + "'");
    Constant value = parse_constant(lexer_);
    uint64_t bits = value.bits;
    double number = value.kind == Constant::Kind::float32   ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                    : value.kind == Constant::Kind::float64 ? std::bit_cast<double>(bits)
                    : value.is_unsigned                     ? static_cast<double>(bits)
                                                            : static_cast<double>(static_cast<int64_t>(bits));
    if (variable.type == Type::f32 && value.kind != Constant::Kind::float32) {
        bits = std::bit_cast<uint32_t>(static_cast<float>(number));
    } else if (variable.type == Type::f64 && value.kind != Constant::Kind::float64) {
        bits = std::bit_cast<uint64_t>(number);
    } else if (value.kind != Constant::Kind::integer && variable.type != Type::f32 && variable.type != Type::f64) {
        fail(line, "a float in the initialiser of '" + variable.name + "'; expected an integer");
    }
    const bool negative = value.kind == Constant::Kind::integer && !value.is_unsigned && static_cast<int64_t>(bits) < 0;
    for (uint64_t i = 0; i < size; ++i) {
        variable.initial[offset + i] = i < 8 ? static_cast<uint8_t>(bits >> (8 * i)) : (negative ? 0xff : 0);
    }
}

void Parser::add_module_variable(Variable variable) {
    auto [place, is_new] = variable_index_.try_emplace(variable.name, module_.variables.size());
    if (is_new) {
        module_.variables.push_back(std::move(variable));
        return;
    }
    Variable& known = module_.variables[place->second];
    if (!known.is_extern && !variable.is_extern && !known.is_weak && !known.is_common) {
        fail(variable.ptx_line,
             "'" + variable.name + "' is already declared on line " + std::to_string(known.ptx_line));
    }
    if (known.is_extern) known = std::move(variable);
}

// ---- Functions -------------------------------------------------------------------------------------------------

void Parser::parse_function(bool is_entry, const Linkage& linkage) {
    Function function;
    function.is_entry = is_entry;
    function.is_extern = linkage.is_extern;
    function.is_visible = linkage.is_visible;
    function.is_weak = linkage.is_weak;
    const uint32_t line = current().line;
    scopes_.begin_function();
    scopes_.open(line);
    location_ = 0;
    locations_.begin_function();
    Variable unused;
    if (accept_dotted("attribute")) parse_attribute(unused);
    if (!is_entry && current().is("(")) function.returns = parse_parameters(&function);
    function.name = expect_name("a function's name");
    if (current().is("(")) function.params = parse_parameters(&function);
    parse_performance(function);
    if (!accept(";")) {
        if (!current().is("{")) unexpected("'{' or ';' after the head of '" + function.name + "'");
        function.has_body = true;
        function_ = &function;
        parse_body(function);
        drop_unread_results(function);
        function_ = nullptr;
    }
    auto known = function_index_.find(function.name);
    if (known != function_index_.end() && function.has_body && module_.functions[known->second].has_body) {
        fail(line, "'" + function.name + "' already has a body");
    }
    add_function(std::move(function));
}

void Parser::add_function(Function function) {
    auto [place, is_new] = function_index_.try_emplace(function.name, module_.functions.size());
    if (is_new) {
        module_.functions.push_back(std::move(function));
        return;
    }
    Function& known = module_.functions[place->second];  // a declaration and a definition become one entry
    if (function.has_body) {
        function.no_return |= known.no_return;
        function.is_visible |= known.is_visible;
        function.is_weak |= known.is_weak;
        known = std::move(function);
    }
}

// `(.param .b32 a, .reg .u32 b)`; function is null for prototypes, whose names mean nothing.
std::vector<Variable> Parser::parse_parameters(Function* function) {
    std::vector<Variable> parameters;
    expect("(", "of a parameter list");
    if (accept(")")) return parameters;
    do {
        if (!current().is_dotted("param") && !current().is_dotted("reg")) unexpected(".param or .reg");
        const std::string_view space = current().text;
        advance();
        Declared declared = parse_declared_name(parse_type(space));
        if (declared.count) fail(declared.variable.ptx_line, "a parameter cannot be a range of names");
        if (function) {
            if (space == "reg") {
                if (declared.raw != "_") {
                    declare_register(*function, declared.raw, declared.variable.type, 1, declared.variable.ptx_line);
                }
            } else if (declared.raw != "_") {
                Name entry{NameKind::variable, 0, no_register, 1, declared.raw};
                if (!scopes_.declare(declared.raw, entry)) {
                    fail(declared.variable.ptx_line, "parameter '" + declared.variable.name + "' is declared twice");
                }
                scopes_.reserve(declared.raw);
            }
        }
        parameters.push_back(std::move(declared.variable));
    } while (accept(","));
    expect(")", "after the parameters");
    return parameters;
}

void Parser::parse_triple(uint32_t (&values)[3]) {
    values[0] = values[1] = values[2] = 1;
    for (int i = 0; i < 3; ++i) {
        values[i] = static_cast<uint32_t>(parse_count(lexer_, "a size", UINT32_MAX));
        if (i == 2 || !accept(",")) break;
    }
}

void Parser::parse_performance(Function& function) {
    auto number = [&] { return static_cast<uint32_t>(parse_count(lexer_, "a number", UINT32_MAX)); };
    while (current().kind == TokenKind::dotted) {
        if (accept_dotted("maxntid")) {
            parse_triple(function.max_threads);
        } else if (accept_dotted("reqntid")) {
            parse_triple(function.required_threads);
        } else if (accept_dotted("minnctapersm")) {
            function.min_blocks = number();
        } else if (accept_dotted("maxnreg")) {
            function.max_registers = number();
        } else if (accept_dotted("reqnctapercluster")) {
            parse_triple(function.required_cluster);
        } else if (accept_dotted("maxclusterrank")) {
            function.max_cluster_rank = number();
        } else if (accept_dotted("explicitcluster") || accept_dotted("blocksareclusters")) {
            function.explicit_cluster = true;
        } else if (accept_dotted("noreturn")) {
            function.no_return = true;
        } else if (accept_dotted("pragma")) {
            parse_pragma();
        } else if (accept_dotted("abi_preserve") || accept_dotted("abi_preserve_control") ||
                   accept_dotted("maxnctapersm")) {
            number();
        } else if (!accept_dotted("unique")) {
            unexpected("'{', ';' or a directive such as .maxntid after the head of '" + function.name + "'");
        }
    }
}

}  // namespace softcuda::ptx
