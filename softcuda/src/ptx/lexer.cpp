#include "lexer.h"

#include <array>

#include "ast.h"

namespace softcuda::ptx {
namespace {

enum CharacterClass : uint8_t { name_start = 1, name_part = 2, digit = 4, blank = 8, hex_digit = 16 };

constexpr std::array<uint8_t, 256> make_classes() {
    std::array<uint8_t, 256> classes{};
    for (int c = 'a'; c <= 'z'; ++c) classes[c] = name_start | name_part;
    for (int c = 'A'; c <= 'Z'; ++c) classes[c] = name_start | name_part;
    for (int c = '0'; c <= '9'; ++c) classes[c] = name_part | digit | hex_digit;
    for (int c = 'a'; c <= 'f'; ++c) classes[c] |= hex_digit;
    for (int c = 'A'; c <= 'F'; ++c) classes[c] |= hex_digit;
    classes['_'] = classes['$'] = name_start | name_part;
    for (char c : {' ', '\t', '\r', '\n', '\f', '\v'}) classes[static_cast<uint8_t>(c)] = blank;
    return classes;
}
constexpr std::array<uint8_t, 256> classes = make_classes();

bool has(char c, uint8_t wanted) { return classes[static_cast<uint8_t>(c)] & wanted; }

}  // namespace

Lexer::Lexer(std::string_view text) : text_(text) {
    current_ = scan();
    next_ = scan();
}

void Lexer::advance() {
    current_ = next_;
    next_ = scan();
}

void Lexer::read_comment_line() {
    size_t end = text_.find('\n', position_);
    if (end == std::string_view::npos) end = text_.size();
    constexpr std::string_view mark = "// softcuda:";
    std::string_view comment = text_.substr(position_, end - position_);
    if (comment.starts_with(mark)) {
        comment.remove_prefix(mark.size());
        while (!comment.empty() && has(comment.front(), blank)) comment.remove_prefix(1);
        while (!comment.empty() && has(comment.back(), blank)) comment.remove_suffix(1);
        notes_.emplace_back(comment);
    }
    position_ = end;
}

void Lexer::skip_blanks() {
    while (position_ < text_.size()) {
        char c = text_[position_];
        if (has(c, blank)) {
            line_ += c == '\n';
            ++position_;
        } else if (c == '/' && text_.substr(position_, 2) == "//") {
            read_comment_line();
        } else if (c == '/' && text_.substr(position_, 2) == "/*") {
            size_t end = text_.find("*/", position_ + 2);
            if (end == std::string_view::npos) throw Error(line_, "comment '/*' without end; expected '*/'");
            for (size_t i = position_; i < end; ++i) line_ += text_[i] == '\n';
            position_ = end + 2;
        } else {
            return;
        }
    }
}

Token Lexer::scan() {
    skip_blanks();
    const size_t size = text_.size(), start = position_;
    size_t i = start;
    auto at = [&](size_t k) { return k < size ? text_[k] : '\0'; };
    auto token = [&](TokenKind kind, size_t from, size_t to) {
        position_ = to;
        return Token{kind, text_.substr(from, to - from), line_};
    };
    auto run = [&](uint8_t wanted) {
        while (i < size && has(text_[i], wanted)) ++i;
    };
    if (start >= size) return Token{TokenKind::end, {}, line_};

    const char c = text_[start];
    if (has(c, name_start) || (c == '%' && has(at(start + 1), name_start))) {
        ++i;
        run(name_part);
        return token(TokenKind::name, start, i);
    }
    if (c == '.' && has(at(start + 1), name_part)) {
        ++i;
        run(name_part);
        while (at(i) == ':' && at(i + 1) == ':' && has(at(i + 2), name_part)) {
            i += 2;
            run(name_part);
        }
        return token(TokenKind::dotted, start + 1, i);
    }
    if (has(c, digit)) {
        const char second = at(start + 1);
        const bool is_zero = c == '0';
        if (is_zero && (second == 'x' || second == 'X')) {
            i += 2;
            run(hex_digit);
        } else if (is_zero && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
            i += 2;
            run(hex_digit);
            return token(TokenKind::number, start, i);
        } else if (is_zero && (second == 'b' || second == 'B')) {
            i += 2;
            run(digit);
        } else {
            run(digit);
            bool decimal = false;
            if (at(i) == '.' && has(at(i + 1), digit)) {
                decimal = true;
                ++i;
                run(digit);
            }
            if (at(i) == 'e' || at(i) == 'E') {
                size_t exponent = i + 1;
                if (at(exponent) == '+' || at(exponent) == '-') ++exponent;
                if (has(at(exponent), digit)) {
                    decimal = true;
                    i = exponent;
                    run(digit);
                }
            }
            if (decimal) return token(TokenKind::number, start, i);
        }
        if (at(i) == 'U') ++i;
        if (has(at(i), name_part)) {
            run(name_part);
            throw Error(line_, "'" + std::string(text_.substr(start, i - start)) + "' is no number");
        }
        return token(TokenKind::number, start, i);
    }
    if (c == '"') {
        for (++i; i < size && text_[i] != '"' && text_[i] != '\n'; ++i) {
            if (text_[i] == '\\' && i + 1 < size && text_[i + 1] != '\n') ++i;
        }
        if (at(i) != '"') throw Error(line_, "string without end; expected '\"'");
        Token found = token(TokenKind::string, start + 1, i);
        ++position_;
        return found;
    }
    static constexpr std::string_view pairs[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    for (std::string_view pair : pairs) {
        if (c == pair[0] && at(start + 1) == pair[1]) return token(TokenKind::punctuation, start, start + 2);
    }
    if (std::string_view("{}()[],;:=+-*/%!~&|^<>?@").find(c) != std::string_view::npos) {
        return token(TokenKind::punctuation, start, start + 1);
    }
    if (static_cast<uint8_t>(c) < 0x20 || static_cast<uint8_t>(c) >= 0x7f) {
        throw Error(line_, "byte " + std::to_string(static_cast<uint8_t>(c)) + " where PTX text was expected");
    }
    throw Error(line_, std::string("unexpected character '") + c + "'");
}

void Lexer::skip_braces() {
    const uint32_t first_line = current_.line;
    int depth = 0;
    do {
        if (current_.kind == TokenKind::end) throw Error(first_line, "'{' without end; expected '}'");
        if (current_.is("{")) ++depth;
        if (current_.is("}")) --depth;
        advance();
    } while (depth > 0);
}

std::string describe(const Token& token) {
    if (token.kind == TokenKind::end) return "end of text";
    std::string text(token.text.substr(0, 60));
    if (token.kind == TokenKind::dotted) text = "." + text;
    if (token.kind == TokenKind::string) return "\"" + text + "\"";
    return "'" + text + "'";
}

}  // namespace softcuda::ptx
