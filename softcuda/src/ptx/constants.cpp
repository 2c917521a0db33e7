#include "constants.h"

#include <bit>
#include <charconv>
#include <string>

#include "ast.h"

namespace softcuda::ptx {
namespace {

using Kind = Constant::Kind;

uint64_t digits(const Token& token, std::string_view text, int base) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error == std::errc::result_out_of_range) throw Error(token.line, describe(token) + " needs more than 64 bits");
    if (error != std::errc() || end != text.data() + text.size()) {
        throw Error(token.line, describe(token) + " is no number");
    }
    return value;
}

Constant literal(const Token& token) {
    std::string_view text = token.text;
    const char second = text.size() > 1 && text[0] == '0' ? text[1] : '\0';
    Constant value;
    if (second == 'f' || second == 'F' || second == 'd' || second == 'D') {
        const bool single = second == 'f' || second == 'F';
        if (text.size() != (single ? 10u : 18u)) {
            throw Error(token.line,
                        describe(token) + " is no float; expected " + (single ? "8" : "16") + " hex digits");
        }
        value.kind = single ? Kind::float32 : Kind::float64;
        value.bits = digits(token, text.substr(2), 16);
        return value;
    }
    const bool hexadecimal = second == 'x' || second == 'X';
    if (!hexadecimal && text.find_first_of(".eE") != std::string_view::npos) {
        double decimal = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), decimal);
        if (error != std::errc() || end != text.data() + text.size()) {
            throw Error(token.line, describe(token) + " is no number that fits .f64");
        }
        value.kind = Kind::float64;
        value.bits = std::bit_cast<uint64_t>(decimal);
        return value;
    }
    const bool marked = text.back() == 'U';
    if (marked) text.remove_suffix(1);
    if (hexadecimal) {
        value.bits = digits(token, text.substr(2), 16);
    } else if (second == 'b' || second == 'B') {
        value.bits = digits(token, text.substr(2), 2);
    } else if (text.size() > 1 && text[0] == '0') {
        value.bits = digits(token, text.substr(1), 8);
    } else {
        value.bits = digits(token, text, 10);
    }
    value.is_unsigned = marked || value.bits > INT64_MAX;
    return value;
}

struct Operator {
    std::string_view text;
    int precedence;
};
constexpr Operator operators[] = {{"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
                                  {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
                                  {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};

int precedence_of(const Token& token) {
    if (token.kind != TokenKind::punctuation) return 0;
    for (const Operator& candidate : operators) {
        if (candidate.text == token.text) return candidate.precedence;
    }
    return 0;
}

class Evaluator {
  public:
    explicit Evaluator(Lexer& lexer) : lexer_(lexer) {}

    Constant ternary() {
        Depth guard(*this);
        Constant condition = binary(1);
        if (!lexer_.current().is("?")) return condition;
        need_integer(condition);
        lexer_.advance();
        Constant yes = ternary();
        if (!lexer_.current().is(":")) fail("expected ':' of a '?'");
        lexer_.advance();
        Constant no = ternary();
        return condition.bits ? yes : no;
    }

  private:
    static constexpr int max_depth = 64;

    struct Depth {  // bounds recursion, so that no text can exhaust the stack
        explicit Depth(Evaluator& evaluator) : evaluator_(evaluator) {
            if (++evaluator_.depth_ > max_depth) evaluator_.fail("expression nested too deeply");
        }
        ~Depth() { --evaluator_.depth_; }
        Evaluator& evaluator_;
    };

    [[noreturn]] void fail(const std::string& what) {
        throw Error(lexer_.current().line, describe(lexer_.current()) + " in a constant; " + what);
    }
    void need_integer(const Constant& value) {
        if (value.kind != Kind::integer) fail("operators need integers, not floats");
    }

    Constant unary() {
        Depth guard(*this);
        const Token token = lexer_.current();
        if (token.kind == TokenKind::number) {
            lexer_.advance();
            return literal(token);
        }
        if (token.kind == TokenKind::name && token.text == "WARP_SZ") {
            lexer_.advance();
            return {Kind::integer, 32, false};
        }
        if (token.is("(")) {
            lexer_.advance();
            if (lexer_.current().is_dotted("s64") || lexer_.current().is_dotted("u64")) {
                const bool is_unsigned = lexer_.current().text == "u64";
                lexer_.advance();
                close();
                Constant value = unary();
                need_integer(value);
                value.is_unsigned = is_unsigned;
                return value;
            }
            Constant value = ternary();
            close();
            return value;
        }
        if (token.is("-") || token.is("+") || token.is("!") || token.is("~")) {
            lexer_.advance();
            Constant value = unary();
            if (value.kind != Kind::integer && token.is("-")) {
                value.bits ^= value.kind == Kind::float32 ? 1ull << 31 : 1ull << 63;
                return value;
            }
            if (token.is("+")) return value;
            need_integer(value);
            if (token.is("-")) value.bits = 0 - value.bits;
            if (token.is("~")) value.bits = ~value.bits;
            if (token.is("!")) value = {Kind::integer, value.bits == 0, false};
            return value;
        }
        fail("expected a number");
    }

    void close() {
        if (!lexer_.current().is(")")) fail("expected ')'");
        lexer_.advance();
    }

    Constant binary(int lowest) {
        Constant left = unary();
        for (;;) {
            const Token op = lexer_.current();
            const int precedence = precedence_of(op);
            if (precedence == 0 || precedence < lowest) return left;
            need_integer(left);
            lexer_.advance();
            Depth guard(*this);
            Constant right = binary(precedence + 1);
            need_integer(right);
            left = apply(op, left, right);
        }
    }

    Constant apply(const Token& op, const Constant& left, const Constant& right) {
        const uint64_t a = left.bits, b = right.bits;
        const int64_t sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
        const bool is_unsigned = left.is_unsigned || right.is_unsigned;
        auto truth = [](bool value) { return Constant{Kind::integer, value, false}; };
        auto number = [&](uint64_t bits) { return Constant{Kind::integer, bits, is_unsigned}; };
        const std::string_view text = op.text;
        if (text == "+") return number(a + b);
        if (text == "-") return number(a - b);
        if (text == "*") return number(a * b);
        if (text == "&") return number(a & b);
        if (text == "|") return number(a | b);
        if (text == "^") return number(a ^ b);
        if (text == "==") return truth(a == b);
        if (text == "!=") return truth(a != b);
        if (text == "&&") return truth(a && b);
        if (text == "||") return truth(a || b);
        if (text == "<") return truth(is_unsigned ? a < b : sa < sb);
        if (text == ">") return truth(is_unsigned ? a > b : sa > sb);
        if (text == "<=") return truth(is_unsigned ? a <= b : sa <= sb);
        if (text == ">=") return truth(is_unsigned ? a >= b : sa >= sb);
        if (text == "<<") return {Kind::integer, b > 63 ? 0 : a << b, left.is_unsigned};
        if (text == ">>") {
            if (left.is_unsigned) return {Kind::integer, b > 63 ? 0 : a >> b, true};
            return {Kind::integer, static_cast<uint64_t>(sa >> (b > 63 ? 63 : b)), false};
        }
        if (b == 0) throw Error(op.line, "division by zero in a constant");
        if (is_unsigned) return number(text == "/" ? a / b : a % b);
        if (sb == -1) return number(text == "/" ? 0 - a : 0);  // the one signed quotient that overflows
        return number(static_cast<uint64_t>(text == "/" ? sa / sb : sa % sb));
    }

    Lexer& lexer_;
    int depth_ = 0;
};

}  // namespace

bool starts_constant(const Token& token) {
    return token.kind == TokenKind::number || token.is("-") || token.is("+") || token.is("~") || token.is("(");
}

Constant parse_constant(Lexer& lexer) { return Evaluator(lexer).ternary(); }

int64_t parse_integer(Lexer& lexer, const char* what) {
    const Token first = lexer.current();
    if (!starts_constant(first)) throw Error(first.line, describe(first) + " found; expected " + what);
    Constant value = parse_constant(lexer);
    if (value.kind != Kind::integer) throw Error(first.line, describe(first) + " is a float; expected " + what);
    return static_cast<int64_t>(value.bits);
}

uint64_t parse_count(Lexer& lexer, const char* what, uint64_t limit) {
    const Token first = lexer.current();
    uint64_t value = static_cast<uint64_t>(parse_integer(lexer, what));
    if (value > limit) {
        throw Error(first.line,
                    describe(first) + " is out of range; expected " + what + " from 0 to " + std::to_string(limit));
    }
    return value;
}

uint64_t parse_range_count(Lexer& lexer, uint64_t limit) {
    const Token token = lexer.current();
    Constant value;
    if (token.kind == TokenKind::number) value = literal(token);
    if (token.kind != TokenKind::number || value.kind != Kind::integer || value.bits == 0 || value.bits > limit) {
        throw Error(token.line, describe(token) + " names; expected a number from 1 to " + std::to_string(limit));
    }
    lexer.advance();
    if (!lexer.current().is(">")) throw Error(lexer.current().line, describe(lexer.current()) + " found; expected '>'");
    lexer.advance();
    return value.bits;
}

}  // namespace softcuda::ptx
