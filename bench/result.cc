// SPDX-License-Identifier: Apache-2.0
#include "bench/result.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "halftone/report/table.h"

namespace halftone::bench {
namespace {

using nlohmann::ordered_json;
using report::format_number;
using report::Table;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// The figures of a row; NaN if unknown.
struct Figures {
  double seconds = 0;
  std::vector<double> ratios;  ///< speed-up over each baseline
  double bytes_per_second = kNone;
  double operations_per_second = kNone;
  std::optional<Bound> bound;
};

double positive(double value) { return value > 0 ? value : kNone; }

Figures figures_of(const Row& row, const Outcome& outcome) {
  Figures figures;
  figures.seconds = median(row.seconds);
  for (const std::string& baseline : row.baselines) {
    const auto other = std::ranges::find(outcome.rows, baseline, &Row::name);
    figures.ratios.push_back(
        other == outcome.rows.end() ? kNone : median(other->seconds) / figures.seconds);
  }
  figures.ratios.resize(outcome.comparisons.size(), kNone);
  if (row.work) {
    figures.bytes_per_second = positive(row.work->bytes / figures.seconds);
    figures.operations_per_second = positive(row.work->operations / figures.seconds);
    if (row.threads == 1) figures.bound = bound_of(*row.work, outcome.rates);
  }
  return figures;
}

/// Three significant digits.
std::string three_digits(double value) {
  return format_number(value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

/// The name of a row without that of its suite.
std::string short_name(const Row& row) { return row.name.substr(row.name.find('/') + 1); }

bool is_memory(Limit limit) { return limit <= Limit::kDram; }

std::string describe_limits(const Rates& rates) {
  std::string text;
  for (const auto& [limit, rate] : rates) {
    text += (text.empty() ? "One core, measured between these rows: " : "; ") +
            std::string(to_string(limit)) + " " + three_digits(rate.per_second * 1e-9) +
            (is_memory(limit) ? " GB/s" : " G/s");
    if (!rate.row.empty()) text += " (" + rate.row + ")";
  }
  return text.empty() ? "" : text + "\n";
}

std::string describe_disturbed(const Outcome& outcome) {
  if (std::ranges::none_of(outcome.rows, is_disturbed)) return "";
  return "! The machine was busy: the row waited, or its repetitions differ, by more than 10 %.\n";
}

void add_work(const Figures& figures, std::vector<std::string>& cells) {
  cells.push_back(three_digits(figures.bytes_per_second * 1e-9));
  cells.push_back(three_digits(figures.operations_per_second * 1e-9));
  cells.emplace_back(figures.bound ? to_string(figures.bound->limit) : "-");
  cells.push_back(
      figures.bound ? format_number(100 * figures.bound->seconds / figures.seconds, 0) + "%" : "-");
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double spread(const std::vector<double>& values) {
  const double center = median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - center));
  return median(std::move(distances)) / center;
}

bool is_disturbed(const Row& row) {
  constexpr double kBusy = 0.1;
  return row.wall_per_cpu > 1 + kBusy || spread(row.seconds) > kBusy;
}

void raise_limits(Outcome& outcome) {
  for (const Row& row : outcome.rows) {
    if (!row.work || row.threads > 1) continue;
    const auto raise = [&](std::optional<Limit> limit, double amount) {
      if (!limit || !outcome.rates.contains(*limit)) return;
      Rate& rate = outcome.rates.at(*limit);
      const double per_second = amount / median(row.seconds);
      if (per_second > rate.per_second) rate = {per_second, short_name(row)};
    };
    raise(row.work->memory, row.work->bytes);
    raise(row.work->unit, row.work->operations);
  }
}

double speedup_over_earlier(const Row& row, const Earlier& earlier) {
  const auto found = earlier.find(row.name);
  return found == earlier.end() ? kNone : found->second / median(row.seconds);
}

std::optional<Bound> bound_of(const Work& work, const Rates& rates) {
  std::optional<Bound> bound;
  const auto consider = [&](std::optional<Limit> limit, double amount) {
    if (!limit || amount == 0 || !rates.contains(*limit)) return;
    const double seconds = amount / rates.at(*limit).per_second;
    if (!bound || seconds > bound->seconds) bound = Bound{seconds, *limit};
  };
  consider(work.memory, work.bytes);
  consider(work.unit, work.operations);
  return bound;
}

std::string to_text(const Outcome& outcome) {
  const bool has_work =
      std::ranges::any_of(outcome.rows, [](const Row& row) { return row.work.has_value(); });
  std::vector<Table::Column> columns = {
      {outcome.name, Table::Align::kLeft}, {"kernel", Table::Align::kLeft}, {"us"}, {"+-"}};
  for (const std::string& heading : outcome.comparisons) columns.push_back({heading});
  const bool has_earlier = !outcome.earlier.empty();
  if (has_earlier) columns.push_back({"x before"});
  if (has_work) columns.insert(columns.end(), {{"GB/s"}, {"Gop/s"}, {"limit"}, {"of it"}});
  Table table(std::move(columns));
  for (const Row& row : outcome.rows) {
    const Figures figures = figures_of(row, outcome);
    std::vector<std::string> cells = {
        short_name(row), row.kernel, three_digits(figures.seconds * 1e6),
        (is_disturbed(row) ? "! " : "") + format_number(spread(row.seconds) * 100, 0) + "%"};
    for (const double ratio : figures.ratios) cells.push_back(format_number(ratio, 2));
    if (has_earlier) {
      cells.push_back(format_number(speedup_over_earlier(row, outcome.earlier), 2));
    }
    if (has_work) add_work(figures, cells);
    table.add_row(std::move(cells));
  }
  return outcome.title + "\n" + table.to_text() + describe_limits(outcome.rates) +
         describe_disturbed(outcome);
}

ordered_json to_json(const Outcome& outcome) {
  ordered_json rows = ordered_json::array();
  for (const Row& row : outcome.rows) {
    const Figures figures = figures_of(row, outcome);
    ordered_json ratios = ordered_json::object();
    for (std::size_t i = 0; i < figures.ratios.size(); ++i) {
      ratios[outcome.comparisons[i]] = figures.ratios[i];
    }
    ordered_json json = {{"name", row.name},
                         {"kernel", row.kernel},
                         {"threads", row.threads},
                         {"median_us", figures.seconds * 1e6},
                         {"spread", spread(row.seconds)},
                         {"wall_per_cpu", row.wall_per_cpu},
                         {"disturbed", is_disturbed(row)},
                         {"ratios", ratios},
                         {"gb_per_s", figures.bytes_per_second * 1e-9},
                         {"gop_per_s", figures.operations_per_second * 1e-9}};
    if (figures.bound) {
      json["limit"] = to_string(figures.bound->limit);
      json["fraction_of_limit"] = figures.bound->seconds / figures.seconds;
    }
    if (!outcome.earlier.empty()) {
      json["x_before"] = speedup_over_earlier(row, outcome.earlier);
    }
    for (const double seconds : row.seconds) json["repetitions_us"].push_back(seconds * 1e6);
    rows.push_back(std::move(json));
  }
  ordered_json limits = ordered_json::object();
  for (const auto& [limit, rate] : outcome.rates) {
    limits[to_string(limit)] = {{"g_per_s", rate.per_second * 1e-9}, {"row", rate.row}};
  }
  return {{"name", outcome.name}, {"title", outcome.title}, {"limits", limits}, {"rows", rows}};
}

}  // namespace halftone::bench
