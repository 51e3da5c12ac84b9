// The files that a page is made of, built into the library (cmake/embed.cmake).
#pragma once

#include <string_view>

namespace quasar::report::assets {

std::string_view page();     // page/page.html with @placeholders@
std::string_view style();    // page/style.css
std::string_view script();   // page/*.js, one behind the other
std::string_view echarts();  // Apache ECharts, minified, with its licence
std::string_view notice();   // ECharts' NOTICE

}  // namespace quasar::report::assets
