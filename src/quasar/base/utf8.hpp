// Whether bytes are text in UTF-8, which JSON, reports and studies hold.
#pragma once

#include <string_view>

namespace quasar {

// By RFC 3629: no surrogates, nothing beyond U+10FFFF, nothing longer than it must be.
bool is_utf8(std::string_view text);

}  // namespace quasar
