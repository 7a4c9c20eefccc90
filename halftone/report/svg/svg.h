// SPDX-License-Identifier: Apache-2.0
// Elements of SVG pictures.
#pragma once

#include <string>
#include <vector>

namespace halftone::report::svg {

/// Maps a range of values to a range of pixels.
struct Axis {
  std::vector<double> ticks;
  double from;
  double to;

  [[nodiscard]] double place(double value) const {
    return from + (to - from) * (value - ticks.front()) / (ticks.back() - ticks.front());
  }
};

/// Ticks at multiples of 1, 2 or 5 times a power of ten that cover [low, high].
/// @param most  maximum number of steps, >= 1
/// @return      at least two, ascending; the first is <= low, the last >= high
std::vector<double> ticks(double low, double high, int most);

/// A text in which markup characters are escaped, and bytes that are not UTF-8 and control
/// characters are as printable() shows them.
std::string escaped(const std::string& content);
/// @param anchor  "start", "middle" or "end"
std::string text(double x, double y, const std::string& anchor, const std::string& content);
std::string rule(double x1, double y1, double x2, double y2, const char* color);
/// A picture on white.
std::string document(double width, double height, const std::string& content);

}  // namespace halftone::report::svg
