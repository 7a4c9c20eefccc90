// SPDX-License-Identifier: Apache-2.0
// Charts of a page: inline <svg> elements with the classes of picture_style(). Texts are escaped.
#pragma once

#include <string>
#include <vector>

namespace halftone::report::svg {

struct Bar {
  std::string label;
  double value;
  std::string title;  ///< text under the pointer
};

/// Horizontal bars from zero, one row each, with their values as text. A value that is not finite
/// has a row without a bar.
std::string bars(const std::string& title, const std::vector<Bar>& bars);

/// Counts of values in intervals of equal width over [low, high].
struct HistogramPlot {
  std::string title;
  double low;
  double high;
  std::vector<double> counts;      ///< >= 0
  std::vector<double> marks;       ///< learned levels: lines with a dot
  std::vector<double> thresholds;  ///< between levels: dashed lines
};

/// Marks and thresholds outside [low, high] widen the axis; those that are not finite are ignored,
/// as are counts that are not finite.
std::string histogram(const HistogramPlot& plot);

struct Point {
  double x;
  double y;
  std::string title;       ///< text under the pointer
  bool is_marked = false;  ///< has a ring
  std::string name{};      ///< beside it, unless that would cover another name
};

struct Series {
  std::string label;  ///< in the legend; empty: none
  std::vector<Point> points;
  bool is_line = true;   ///< else dots only
  bool is_dim = false;   ///< of less interest
  bool has_dots = true;  ///< at its points
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Series> series;
  bool log_x = false;
  bool log_y = false;
};

/// Series over common axes, as for Pareto fronts and curves of a training. Points with a coordinate
/// that is not finite, or not positive on a logarithmic axis, are omitted; a line breaks there.
std::string plot(const Plot& plot);

}  // namespace halftone::report::svg
