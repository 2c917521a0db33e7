// The recursive-descent parser behind ptx::parse.  parser.cpp reads modules, variables and functions;
// parser_body.cpp reads what stands between a function's braces.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ast.h"
#include "constants.h"
#include "lexer.h"
#include "locations.h"
#include "scopes.h"

namespace softcuda::ptx {

class Parser {
  public:
    explicit Parser(std::string_view text) : lexer_(text) {}
    Module parse_module();

  private:
    // A declaration may carry several names: `.shared .f32 a[4], b;`.  `raw` is each one's name as written.
    struct Declared {
        Variable variable;
        std::string_view raw;
        uint32_t width = 1;  // .v2, .v4
        uint64_t count = 0;  // x<count>; 0: a plain name
    };
    struct Linkage {
        bool is_extern = false, is_visible = false, is_weak = false, is_common = false;
    };

    // Tokens
    const Token& current() const { return lexer_.current(); }
    void advance() { lexer_.advance(); }
    bool accept(std::string_view punctuation);
    bool accept_dotted(std::string_view name);
    void expect(std::string_view punctuation, const char* where);
    std::string_view expect_name(const char* what);
    [[noreturn]] void unexpected(const std::string& expected);
    [[noreturn]] static void fail(uint32_t line, const std::string& what);

    // Modules
    void parse_top_level();
    void parse_version();
    void parse_target();
    void parse_file();
    void parse_loc();
    void parse_alias();
    void parse_pragma();
    void skip_section();
    LocationTable::Place parse_place();
    void check_names();
    void resolve_locations();

    // Variables
    static bool is_space(const Token& token);
    void parse_attribute(Variable& variable);
    Declared parse_type(std::string_view space);
    Declared parse_declared_name(Declared shared);
    std::vector<Declared> parse_variables();  // from the space's name to behind the `;`
    void parse_initializer(Variable& variable, const std::vector<uint64_t>& dimensions, uint32_t width);
    void parse_initializer_level(Variable& variable, const std::vector<uint64_t>& strides, size_t level,
                                 uint64_t first);
    void parse_initial_value(Variable& variable, uint64_t element);
    Relocation parse_symbol_value();
    void add_module_variable(Variable variable);

    // Functions
    void parse_function(bool is_entry, const Linkage& linkage);
    std::vector<Variable> parse_parameters(Function* function);
    void parse_performance(Function& function);
    void parse_triple(uint32_t (&values)[3]);
    void add_function(Function function);

    // Bodies
    void parse_body(Function& function);
    static void drop_unread_results(Function& function);
    void parse_statement(Function& function);
    void parse_registers(Function& function);
    void parse_local_variables(Function& function);
    void parse_label_or_table(Function& function);
    void parse_prototype(Function& function, const std::string& name);
    void parse_targets(std::vector<std::string>& targets);
    void parse_instruction(Function& function);
    void parse_guard(Instruction& instruction);
    void declare_register(Function& function, std::string_view name, Type type, uint32_t width, uint32_t line);
    void declare_local(Function& function, Variable variable, std::string_view raw, uint32_t line);
    void close_scope(Function& function);

    Operand parse_operand(bool in_call, int depth);
    Operand parse_named_operand(bool negated);
    Operand parse_address(int depth);
    Operand parse_elements(OperandKind kind, std::string_view closing, bool in_call, int depth);
    void parse_offset(Operand& operand);
    const Name* use_name(std::string_view name, uint32_t line, Operand& operand);

    Lexer lexer_;
    Module module_;
    LocationTable locations_;
    Scopes scopes_;
    uint32_t location_ = 0;         // the `.loc` in force
    Function* function_ = nullptr;  // whose body is being read
    std::unordered_map<std::string, size_t> variable_index_, function_index_;
    bool signs_registers_ = false;                              // of the instruction being read: `-%r1` is an operand
    std::vector<std::pair<std::string, uint32_t>> unresolved_;  // name, line: to be declared by the end of the module
};

}  // namespace softcuda::ptx
