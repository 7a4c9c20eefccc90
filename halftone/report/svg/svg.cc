// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/svg/svg.h"

#include <fmt/format.h>

#include <cmath>

#include "halftone/base/printable.h"

namespace halftone::report::svg {

std::vector<double> ticks(double low, double high, int most) {
  const double rough = (high - low) / most;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double digit : {5.0, 2.0, 1.0}) {
    const double steps = std::ceil(high / (digit * power)) - std::floor(low / (digit * power));
    if (steps <= most) step = digit * power;
  }
  const double first = std::floor(low / step);
  std::vector<double> result;
  for (double i = first; i == first || result.back() < high; ++i) result.push_back(i * step);
  return result;
}

std::string escaped(const std::string& content) {
  std::string result;
  for (const char c : printable_line(content)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string text(double x, double y, const std::string& anchor, const std::string& content) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(content));
}

std::string rule(double x1, double y1, double x2, double y2, const char* color) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2,
      y2, color);
}

std::string document(double width, double height, const std::string& content) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{2}</svg>\n",
      width, height, content);
}

}  // namespace halftone::report::svg
