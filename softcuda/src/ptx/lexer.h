// PTX text to tokens.  A token is a view into the text; nothing is copied.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softcuda::ptx {

enum class TokenKind : uint8_t {
    end,
    name,         // %r1, _Z3foov, $L__BB0_1, WARP_SZ, _
    dotted,       // .global, .L2::cache_hint, .1d: view without the leading dot
    number,       // 42, 0x2aU, 017, 0b101, 0f3F800000, 0d3FF0000000000000, 1.5e3
    string,       // "nounroll": view without the quotes
    punctuation,  // one or two characters: { } ( ) [ ] , ; : = + - * / % ! ~ & | ^ < > ? @ << >> <= >= == != && ||
};

struct Token {
    TokenKind kind = TokenKind::end;
    std::string_view text;
    uint32_t line = 1;

    bool is(std::string_view punctuation) const { return kind == TokenKind::punctuation && text == punctuation; }
    bool is_dotted(std::string_view name) const { return kind == TokenKind::dotted && text == name; }
};

class Lexer {
  public:
    explicit Lexer(std::string_view text);

    const Token& current() const { return current_; }
    const Token& peek() const { return next_; }
    void advance();

    // With the current token being `{`: skip to behind the matching `}`.  For blocks of another language (DWARF).
    void skip_braces();

    // Comments of the form `// softcuda: TEXT`, in order.
    std::vector<std::string> take_notes() { return std::move(notes_); }

  private:
    Token scan();
    void skip_blanks();
    void read_comment_line();

    std::string_view text_;
    size_t position_ = 0;
    uint32_t line_ = 1;
    Token current_, next_;
    std::vector<std::string> notes_;
};

std::string describe(const Token& token);  // for messages: "';'", "end of text"

}  // namespace softcuda::ptx
