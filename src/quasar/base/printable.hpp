// Texts of others, such as names in models, that end in a terminal or a log: what would steer the terminal is shown instead.
#pragma once

#include <string>
#include <string_view>

namespace quasar {

// Control characters (C0 but line feed and tab, DEL, C1) and those that turn the direction of writing (U+202A … U+202E,
// U+2066 … U+2069) as "\x1b" or "\u202e"; all else, also what is no UTF-8, stays.
std::string printable(std::string_view text);

// The same; lines after the first begin with a space, so that none of them looks like a message of its own.
std::string printable_message(std::string_view text);

// The same of a name in a table or a list: line feeds and tabs are shown, too.
std::string printable_name(std::string_view text);

}  // namespace quasar
