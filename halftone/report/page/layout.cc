// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/layout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "halftone/report/page/drawing.h"

namespace halftone::report::page {
namespace {

// In pixels.
constexpr double kMargin = 8;
constexpr double kBoxDistance = 18;
constexpr double kRowDistance = 26;
constexpr double kLaneWidth = 4;
constexpr double kColumnDistance = 36;
constexpr double kTurn = 12;  ///< of edges between columns
constexpr int kSweeps = 8;

/// A box, or the lane of an edge in a row that it passes.
struct Item {
  std::size_t row = 0;
  double width = kLaneWidth;
  double middle = 0;               ///< found last
  std::vector<std::size_t> above;  ///< neighbours in the row above, ascending
  std::vector<std::size_t> below;
};

/// Boxes come first among the items.
struct Rows {
  std::vector<Item> items;
  std::vector<std::vector<std::size_t>> order;  ///< of each row: indices of items, left to right
};

/// The length of the longest path to each box; sources are just above their nearest reader.
std::vector<std::size_t> rows_of(std::size_t num_boxes, const std::vector<LayoutEdge>& edges) {
  std::vector<std::vector<std::size_t>> readers(num_boxes);
  std::vector<bool> is_source(num_boxes, true);
  for (const auto& [from, to] : edges) {
    readers[from].push_back(to);
    is_source[to] = false;
  }
  std::vector<std::size_t> row(num_boxes, 0);
  for (std::size_t i = 0; i < num_boxes; ++i) {
    for (const std::size_t reader : readers[i]) row[reader] = std::max(row[reader], row[i] + 1);
  }
  for (std::size_t i = 0; i < num_boxes; ++i) {
    if (!is_source[i] || readers[i].empty()) continue;
    std::size_t nearest = row[readers[i].front()];
    for (const std::size_t reader : readers[i]) nearest = std::min(nearest, row[reader]);
    row[i] = nearest - 1;
  }
  return row;
}

void connect(Rows& rows, std::size_t from, std::size_t to) {
  std::vector<std::size_t>& below = rows.items[from].below;
  if (std::ranges::find(below, to) != below.end()) return;
  below.push_back(to);
  rows.items[to].above.push_back(from);
}

Rows rows_with_lanes(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges) {
  const std::vector<std::size_t> row = rows_of(boxes.size(), edges);
  Rows rows;
  for (std::size_t i = 0; i < boxes.size(); ++i)
    rows.items.push_back({row[i], boxes[i].width, 0, {}, {}});
  std::map<LayoutEdge, std::size_t> lanes;  // by box and row
  for (const auto& [from, to] : edges) {
    std::size_t last = from;
    for (std::size_t at = row[from] + 1; at < row[to]; ++at) {
      const auto [lane, is_new] = lanes.try_emplace({from, at}, rows.items.size());
      if (is_new) rows.items.push_back({at, kLaneWidth, 0, {}, {}});
      connect(rows, last, lane->second);
      last = lane->second;
    }
    connect(rows, last, to);
  }
  for (std::size_t i = 0; i < rows.items.size(); ++i) {
    const std::size_t at = rows.items[i].row;
    if (rows.order.size() <= at) rows.order.resize(at + 1);
    rows.order[at].push_back(i);
  }
  return rows;
}

std::vector<double> positions(const Rows& rows) {
  std::vector<double> position(rows.items.size());
  for (const std::vector<std::size_t>& row : rows.order) {
    for (std::size_t i = 0; i < row.size(); ++i) position[row[i]] = static_cast<double>(i);
  }
  return position;
}

/// The median of some values; the mean of the middle two of an even number.
/// @pre not empty
double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double median_of(const std::vector<std::size_t>& items, const std::vector<double>& position) {
  std::vector<double> values;
  values.reserve(items.size());
  for (const std::size_t each : items) values.push_back(position[each]);
  return median(std::move(values));
}

/// Pairs of edges that cross between rows.
std::size_t crossings(const Rows& rows) {
  const std::vector<double> position = positions(rows);
  std::size_t sum = 0;
  for (const std::vector<std::size_t>& row : rows.order) {
    std::vector<double> ends;  // of all edges below this row, by their starts
    for (const std::size_t each : row) {
      std::vector<double> list;
      for (const std::size_t below : rows.items[each].below) list.push_back(position[below]);
      std::ranges::sort(list);
      for (const double end : list) {
        sum += static_cast<std::size_t>(
            std::ranges::count_if(ends, [&](double before) { return before > end; }));
      }
      ends.insert(ends.end(), list.begin(), list.end());
    }
  }
  return sum;
}

/// Sorts each row by the medians of the row above (or below, from the last row to the first).
void sweep_order(Rows& rows, bool is_down) {
  std::vector<double> position = positions(rows);
  for (std::size_t i = 0; i < rows.order.size(); ++i) {
    std::vector<std::size_t>& row = rows.order[is_down ? i : rows.order.size() - 1 - i];
    std::map<std::size_t, double> key;
    for (const std::size_t each : row) {
      const std::vector<std::size_t>& next =
          is_down ? rows.items[each].above : rows.items[each].below;
      key[each] = next.empty() ? position[each] : median_of(next, position);
    }
    std::ranges::stable_sort(row, [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
    for (std::size_t p = 0; p < row.size(); ++p) position[row[p]] = static_cast<double>(p);
  }
}

void order_rows(Rows& rows) {
  std::vector<std::vector<std::size_t>> best = rows.order;
  std::size_t fewest = crossings(rows);
  for (int sweep = 0; sweep < kSweeps && fewest > 0; ++sweep) {
    sweep_order(rows, sweep % 2 == 0);
    const std::size_t now = crossings(rows);
    if (now >= fewest) continue;
    fewest = now;
    best = rows.order;
  }
  rows.order = best;
}

/// A run of values that have become one in an isotonic regression.
struct Pool {
  double sum;
  double weight;
  std::size_t count;

  [[nodiscard]] double mean() const { return sum / weight; }
};

/// The ascending values that are closest to some: the sum of weight * (result - value)^2 is least.
/// Source: Ayer et al. 1955 (pool adjacent violators).
std::vector<double> ascending(const std::vector<double>& values,
                              const std::vector<double>& weights) {
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < values.size(); ++i) {
    pools.push_back({weights[i] * values[i], weights[i], 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back() = {pools.back().sum + last.sum, pools.back().weight + last.weight,
                      pools.back().count + last.count};
    }
  }
  std::vector<double> result;
  for (const Pool& pool : pools) result.insert(result.end(), pool.count, pool.mean());
  return result;
}

/// Moves the items of a row towards their neighbours, in their order and with their distances.
void place_row(Rows& rows, const std::vector<std::size_t>& row, const std::vector<double>& wanted) {
  std::vector<double> offset(row.size(), 0);
  std::vector<double> value(row.size());
  std::vector<double> weight(row.size(), 1);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Item& item = rows.items[row[i]];
    if (i > 0) {
      const Item& last = rows.items[row[i - 1]];
      offset[i] = offset[i - 1] + (last.width + item.width) / 2 + kBoxDistance;
    }
    value[i] = wanted[i] - offset[i];
    // Straight lanes matter more than boxes in the middle.
    if (item.width == kLaneWidth) weight[i] = 2;
  }
  const std::vector<double> placed = ascending(value, weight);
  for (std::size_t i = 0; i < row.size(); ++i) rows.items[row[i]].middle = placed[i] + offset[i];
}

void place_items(Rows& rows) {
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const bool is_down = sweep % 2 == 0;
    for (std::size_t i = 0; i < rows.order.size(); ++i) {
      const std::vector<std::size_t>& row = rows.order[is_down ? i : rows.order.size() - 1 - i];
      std::vector<double> wanted;
      for (const std::size_t each : row) {
        const Item& item = rows.items[each];
        const std::vector<std::size_t>& next = is_down ? item.above : item.below;
        std::vector<double> middles;
        for (const std::size_t other : next) middles.push_back(rows.items[other].middle);
        wanted.push_back(middles.empty() ? item.middle : median(std::move(middles)));
      }
      place_row(rows, row, wanted);
    }
  }
}

/// Where the rows are. A tall drawing continues in further columns, to the right.
struct RowPlace {
  double top = 0;
  double height = 0;
  std::size_t column = 0;

  [[nodiscard]] double bottom() const { return top + height; }
};

/// Whether a single edge leads to each row.
std::vector<bool> breaks_of(const Rows& rows) {
  std::vector<std::size_t> num_edges(rows.order.size(), 0);
  for (const Item& item : rows.items) num_edges[item.row] += item.above.size();
  std::vector<bool> breaks;
  for (const std::size_t num : num_edges) breaks.push_back(num == 1);
  return breaks;
}

std::vector<RowPlace> places_of(const Rows& rows, const std::vector<LayoutBox>& boxes,
                                double column_height) {
  std::vector<RowPlace> places(rows.order.size());
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    double& height = places[rows.items[i].row].height;
    height = std::max(height, boxes[i].height);
  }
  double whole = 0;
  for (const RowPlace& place : places) whole += place.height + kRowDistance;
  const double num_columns = std::max(1.0, std::ceil(whole / column_height - 0.25));
  const std::vector<bool> breaks = breaks_of(rows);
  const double start = num_columns > 1 ? kMargin + kTurn : kMargin;
  double top = start;
  std::size_t column = 0;
  for (std::size_t row = 0; row < places.size(); ++row) {
    if (breaks[row] && top - start > whole / num_columns - kRowDistance) {
      top = start;
      ++column;
    }
    places[row].top = top;
    places[row].column = column;
    top = places[row].bottom() + kRowDistance;
  }
  return places;
}

/// Moves the items of each column to the right of those before, in whole pixels, which make sharp
/// lines and short files.
/// @return the left sides of the columns, and the width of all
std::vector<double> place_columns(Rows& rows, const std::vector<RowPlace>& places) {
  const std::size_t num_columns = places.empty() ? 0 : places.back().column + 1;
  std::vector<double> left(num_columns, INFINITY);
  std::vector<double> right(num_columns, -INFINITY);
  for (const Item& item : rows.items) {
    const std::size_t column = places[item.row].column;
    left[column] = std::min(left[column], item.middle - item.width / 2);
    right[column] = std::max(right[column], item.middle + item.width / 2);
  }
  std::vector<double> starts{kMargin};
  for (std::size_t c = 0; c < num_columns; ++c) {
    starts.push_back(starts.back() + std::ceil(right[c] - left[c]) + kColumnDistance);
  }
  for (Item& item : rows.items) {
    const std::size_t column = places[item.row].column;
    item.middle = std::round(item.middle - left[column] + starts[column]);
  }
  starts.back() += kMargin - (num_columns > 0 ? kColumnDistance : 0) + 1;
  return starts;
}

/// Draws lines without lifting the pen where it need not.
class Pen {
 public:
  void move(double x, double y) {
    if (!path_.empty() && x == x_ && y == y_) return;
    end_line();
    path_ += "M" + pixels(x) + " " + pixels(y);
    set(x, y);
  }
  void down(double y) {
    is_down_ = true;
    set(x_, y);
  }
  /// A curve to the next row, vertical at its ends.
  void curve(double x, double y) {
    if (x == x_) {
      down(y);
      return;
    }
    end_line();
    const std::string middle = pixels((y_ + y) / 2);
    path_ += "C" + pixels(x_) + " " + middle + " " + pixels(x) + " " + middle + " " + pixels(x) +
             " " + pixels(y);
    set(x, y);
  }
  /// To the top of a column, around the column before.
  void turn(double gap, double x, double y) {
    down(y_ + kTurn);
    end_line();
    path_ += "H" + pixels(gap) + "V" + pixels(y - kTurn) + "H" + pixels(x);
    set(x, y - kTurn);
    down(y);
  }
  [[nodiscard]] std::string path() {
    end_line();
    return path_;
  }

 private:
  void set(double x, double y) {
    x_ = x;
    y_ = y;
  }
  void end_line() {
    if (is_down_) path_ += "V" + pixels(y_);
    is_down_ = false;
  }

  std::string path_;
  double x_ = 0;
  double y_ = 0;
  bool is_down_ = false;
};

/// What drawing edges needs.
struct Drawing {
  const Rows& rows;
  const std::vector<RowPlace>& places;
  const std::vector<double>& columns;
  Layout& layout;
  Pen pen{};
};

/// Draws the edges below an item, along the lanes that they pass.
void draw_below(Drawing& drawing, std::size_t index) {
  const std::size_t num_boxes = drawing.layout.boxes.size();
  const Item& item = drawing.rows.items[index];
  const RowPlace& place = drawing.places[item.row];
  double start = place.bottom();
  if (index < num_boxes) {
    start = drawing.layout.boxes[index].y + drawing.layout.boxes[index].height;
  } else {
    drawing.pen.down(start);
  }
  for (const std::size_t below : item.below) {
    const double x = drawing.rows.items[below].middle;
    const RowPlace& next = drawing.places[drawing.rows.items[below].row];
    const double y = below < num_boxes ? drawing.layout.boxes[below].y : next.top;
    drawing.pen.move(item.middle, start);
    if (next.column == place.column) {
      drawing.pen.curve(x, y);
    } else {
      drawing.pen.turn(drawing.columns[next.column] - kColumnDistance / 2, x, y);
    }
    if (below >= num_boxes) draw_below(drawing, below);
  }
}

}  // namespace

Layout layered(std::vector<LayoutBox> boxes, const std::vector<LayoutEdge>& edges,
               double column_height) {
  Layout layout{std::move(boxes), 0, 0, "", ""};
  Rows rows = rows_with_lanes(layout.boxes, edges);
  order_rows(rows);
  place_items(rows);
  const std::vector<RowPlace> places = places_of(rows, layout.boxes, column_height);
  const std::vector<double> columns = place_columns(rows, places);
  for (std::size_t i = 0; i < layout.boxes.size(); ++i) {
    LayoutBox& box = layout.boxes[i];
    const RowPlace& place = places[rows.items[i].row];
    box.x = rows.items[i].middle - box.width / 2;
    box.y = place.top + (place.height - box.height) / 2;
  }
  layout.width = columns.back();
  for (const RowPlace& place : places) {
    // Below the last row, an edge may turn to the next column.
    const double turn_below = place.column < places.back().column ? kTurn : 0;
    layout.height = std::max(layout.height, place.bottom() + turn_below + kMargin);
  }
  Drawing drawing{rows, places, columns, layout};
  for (std::size_t i = 0; i < layout.boxes.size(); ++i) {
    draw_below(drawing, i);
    if (rows.items[i].above.empty()) continue;
    layout.tips +=
        "M" + pixels(rows.items[i].middle) + " " + pixels(layout.boxes[i].y) + "l-3-6h6z";
  }
  layout.edges = drawing.pen.path();
  return layout;
}

}  // namespace halftone::report::page
