// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/svg/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halftone/base/printable.h"
#include "halftone/report/svg/svg.h"

namespace halftone::report::svg {
namespace {

constexpr const char* kRules = R"(svg.plot{max-width:100%;height:auto}
svg.plot,svg.net{font:11px system-ui,sans-serif}
svg.net{max-width:none;text-anchor:middle}
svg.plot text,svg.net text{fill:var(--text,#1f2328)}
svg .end{text-anchor:end}
svg .mid{text-anchor:middle}
svg.plot .soft,svg.plot .soft text,svg.net .soft{fill:var(--muted,#59636e)}
svg .strong{font-weight:600}
svg .grid{stroke:var(--grid,#d1d9e0);fill:none}
svg .bar{fill:var(--h,var(--hue-1,#0969da))}
svg .line{fill:none;stroke:var(--h,var(--hue-1,#0969da));stroke-width:1.5}
svg .dots{fill:none;stroke:var(--h,var(--hue-1,#0969da));stroke-width:4;stroke-linecap:round}
svg .dot{fill:var(--h,var(--hue-1,#0969da))}
svg .dim .dot,svg .dim .dots,svg .dim .line{opacity:.4}
svg.plot .dim text{fill:var(--muted,#59636e)}
svg .ring{fill:none;stroke:var(--text,#1f2328);stroke-width:2}
svg .level{fill:none;stroke:var(--hue-2,#bc4c00);stroke-width:1.5}
svg .knobs{fill:none;stroke:var(--hue-2,#bc4c00);stroke-width:4;stroke-linecap:round}
svg .limit{fill:none;stroke:var(--text,#1f2328);stroke-dasharray:3 2}
svg .h1{--h:var(--hue-1,#0969da)}
svg .h2{--h:var(--hue-2,#bc4c00)}
svg .h3{--h:var(--hue-3,#1a7f37)}
svg .h4{--h:var(--hue-4,#8250df)}
svg .h5{--h:var(--hue-5,#9a6700)}
svg .h6{--h:var(--hue-6,#bf3989)}
svg .box,svg .layer,svg .fold,svg .port{fill:var(--box,#f6f8fa);stroke:var(--muted,#59636e)}
svg .layer{stroke:var(--hue-1,#0969da);stroke-width:1.5}
svg .fold{stroke:var(--hue-4,#8250df);stroke-width:2.5}
svg .port{stroke-dasharray:3 2}
svg .edge{fill:none;stroke:var(--muted,#59636e)}
.scroll{overflow-x:auto}
p.alike{margin:.15rem 0;color:var(--muted,#59636e)}
svg .tip{fill:var(--muted,#59636e)}
)";

/// Whether a byte continues a character of UTF-8.
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// The byte at which character `index` begins, or the size.
std::size_t byte_of(const std::string& content, std::size_t index) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < index && at < content.size(); ++i) {
    ++at;
    while (at < content.size() && continues(content[at])) ++at;
  }
  return at;
}

}  // namespace

std::string picture_style() { return kRules; }

std::string markup(const std::string& content) { return svg::escaped(content); }

std::string pixels(double value) {
  std::string digits = fmt::format("{:.1f}", value);
  if (digits.ends_with(".0")) digits.resize(digits.size() - 2);
  return digits == "-0" ? "0" : digits;
}

std::string value_text(double value) {
  if (std::isnan(value)) return "–";
  if (std::isinf(value)) return value > 0 ? "∞" : "-∞";
  return fmt::format("{:.4g}", value);
}

bool is_drawable(double value) { return std::abs(value) <= 1e300; }

std::size_t num_characters(const std::string& content) {
  return static_cast<std::size_t>(
      std::ranges::count_if(content, [](char byte) { return !continues(byte); }));
}

std::string shortened(const std::string& content, std::size_t max) {
  const std::size_t characters = num_characters(content);
  if (characters <= max) return content;
  const std::size_t head = (max - 1) / 2;
  const std::size_t tail = max - 1 - head;
  return content.substr(0, byte_of(content, head)) + "…" +
         content.substr(byte_of(content, characters - tail));
}

std::string short_name(const std::string& name, std::size_t max) {
  const std::size_t end = name.find(';');
  if (end == std::string::npos || num_characters(name) <= max) return shortened(name, max);
  return shortened(name.substr(0, end), max - 2) + ";…";
}

std::string label(double x, double y, const std::string& classes, const std::string& content) {
  std::string attribute = classes.empty() ? "" : " class=" + classes;
  if (classes.find(' ') != std::string::npos) attribute = " class=\"" + classes + "\"";
  return "<text x=" + pixels(x) + " y=" + pixels(y) + attribute + ">" + markup(content) + "</text>";
}

std::string picture(const Frame& frame, const std::string& content) {
  const std::string width = pixels(frame.width);
  const std::string height = pixels(frame.height);
  return "<svg class=plot role=img aria-label=\"" + markup(frame.label) + "\" width=" + width +
         " height=" + height + " viewBox=\"0 0 " + width + " " + height + "\">" + content +
         "</svg>\n";
}

std::string file_of(const std::string& picture) {
  std::string xml;
  bool is_tag = false;
  bool is_quoted = false;
  bool is_bare = false;  // a value without quotes
  for (std::size_t i = 0; i < picture.size(); ++i) {
    const char c = picture[i];
    if (is_bare && (c == ' ' || c == '>' || picture.compare(i, 2, "/>") == 0)) {
      xml += '"';
      is_bare = false;
    }
    xml += c;
    if (c == '<') is_tag = true;
    if (is_tag && !is_bare && c == '"') is_quoted = !is_quoted;
    if (is_quoted || !is_tag) continue;
    if (c == '>') is_tag = false;
    if (c == '=' && i + 1 < picture.size() && picture[i + 1] != '"') {
      xml += '"';
      is_bare = true;
    }
  }
  const std::string begin = "<svg xmlns=\"http://www.w3.org/2000/svg\"";
  const std::string ground = "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>";
  const std::size_t inside = xml.find('>') + 1;
  return begin + xml.substr(4, inside - 4) + "<style>" + picture_style() + "</style>" + ground +
         xml.substr(inside) + "\n";
}

}  // namespace halftone::report::svg
