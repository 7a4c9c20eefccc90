// SPDX-License-Identifier: Apache-2.0
// The frame of a page.
#include <fmt/format.h>

#include "halftone/report/page/drawing.h"
#include "halftone/report/page/page_parts.h"

namespace halftone::report::page {
namespace {

/// Nothing on the page comes from anywhere else, and scripts are those of the page.
constexpr const char* kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'unsafe-inline'";

/// JSON inside a script element: its texts have no markup.
std::string embedded(const Json& json) {
  std::string result;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string document(const std::string& name, const std::string& subtitle,
                     const std::vector<Section>& sections, const Json& json, bool runs_module) {
  std::string links;
  std::string body;
  for (const Section& each : sections) {
    if (each.content.empty()) continue;
    links += fmt::format("<li><a href=\"#{}-h\">{}</a></li>\n", each.id, each.name);
    body += page_section(each.id, each.heading.empty() ? each.name : each.heading, each.content);
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
      "<meta http-equiv=Content-Security-Policy content=\"{}{}\">\n"
      "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
      "<title>{} - Halftone report</title>\n<style>{}{}</style>\n</head>\n<body>\n"
      "<a class=skip href=\"#main\">Skip to the content</a>\n"
      "<header><button id=theme type=button hidden>Theme</button><h1>{}</h1>\n<p "
      "class=detail>{}</p>\n"
      "<nav aria-label=Sections><ul>\n{}</ul></nav></header>\n"
      "<main id=main tabindex=-1>\n{}</main>\n"
      "<script type=\"application/json\" id=halftone-report>{}</script>\n"
      "<script>{}</script>\n</body>\n</html>\n",
      kPolicy, runs_module ? " 'wasm-unsafe-eval'" : "", markup(name), page_style(),
      picture_style(), markup(name), markup(subtitle), links, body, embedded(json), page_script());
}

std::string data_section() {
  return note(
      "All numbers of this page are in it as JSON, in the element with the id halftone-report.");
}

}  // namespace halftone::report::page
