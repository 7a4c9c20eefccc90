// SPDX-License-Identifier: Apache-2.0
// The network itself: a reader draws a digit, chooses a picture or gives numbers.
#include <fmt/format.h>

#include "halftone/base/base64.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/svg/picture.h"

namespace halftone::report::page {

std::string live_section(const Content& content) {
  if (!content.live) return "";
  const Json classes = content.report.classes;
  return note(fmt::format("A module of WebAssembly of {} bytes, with the bits of the runtime. "
                          "Nothing leaves this page.",
                          content.live->bytes.size())) +
         fmt::format(
             "<style>{}</style>\n<div id=halftone-live data-classes=\"{}\"></div>\n"
             "<noscript>It needs scripts.</noscript>\n"
             "<script type=\"application/wasm;base64\" id=halftone-wasm>{}</script>\n"
             "<script>{}</script>\n",
             content.live->style,
             svg::markup(classes.dump(-1, ' ', false, Json::error_handler_t::replace)),
             to_base64(content.live->bytes), content.live->script);
}

}  // namespace halftone::report::page
