// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/teacher/features.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::train {
namespace {

/// Levenshtein distance: insertions, deletions and replacements.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// The up to three names most similar to `name`: those that contain it, then by edit distance.
std::string like(const std::string& name, const std::vector<std::string>& names) {
  constexpr std::size_t kMax = 3;
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& each : names) {
    const bool holds = each.find(name) != std::string::npos;
    ranked.emplace_back(holds ? 0 : edit_distance(name, each), each);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  std::string text;
  std::size_t listed = 0;
  for (const auto& [distance, each] : ranked) {
    if (listed == kMax) break;
    if (text.find("'" + each + "'") != std::string::npos) continue;
    text.append(text.empty() ? "" : ", ").append("'" + each + "'");
    ++listed;
  }
  return text;
}

/// Finds the value that a node computes by its name or the node's name.
ir::ValueId find_value(const ir::Graph& graph, const std::string& name, const std::string& whose) {
  std::optional<ir::ValueId> by_value;
  std::optional<ir::ValueId> by_node;
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const std::string& value = graph.value(node.output).name;
    if (value == name) by_value = node.output;
    if (node.name == name) by_node = node.output;
    names.push_back(value);
    names.push_back(node.name);
  }
  if (by_value) return *by_value;
  if (by_node) return *by_node;
  fail(ErrorKind::kUsage, "feature: " + whose + " has no value or node '" + name +
                              "'; similar names: " + like(name, names));
}

bool is_feature(const ir::ValueType& type) {
  const bool is_real = type.encoding.element == ir::ElementType::kFloat32;
  return is_real && type.shape.rank() >= 2 && type.shape[0] == ir::kBatch;
}

std::optional<double> to_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

FeatureMatch parse_feature_match(std::string_view text) {
  const std::size_t equals = text.find('=');
  FeatureMatch match;
  if (equals != std::string_view::npos) {
    match.teacher = text.substr(0, equals);
    std::string_view rest = text.substr(equals + 1);
    const std::size_t colon = rest.rfind(':');
    if (colon != std::string_view::npos) {
      if (const auto weight = to_number(rest.substr(colon + 1))) {
        match.weight = *weight;
        rest = rest.substr(0, colon);
      }
    }
    match.student = rest;
  }
  if (match.teacher.empty() || match.student.empty()) {
    fail(ErrorKind::kUsage, "feature '" + std::string(text) +
                                "': expected TEACHER_VALUE=STUDENT_VALUE or with :WEIGHT");
  }
  return match;
}

FeatureValues find_features(const ir::Graph& teacher, const ir::Graph& student,
                            std::span<const FeatureMatch> matches) {
  FeatureValues values;
  for (const FeatureMatch& match : matches) {
    const std::string what = "feature '" + match.teacher + "=" + match.student + "'";
    if (!(match.weight > 0) || !std::isfinite(match.weight)) {
      fail(ErrorKind::kUsage,
           what + ": expected a weight above 0, found " + std::to_string(match.weight));
    }
    values.teacher.push_back(find_value(teacher, match.teacher, "the teacher"));
    values.student.push_back(find_value(student, match.student, "the student"));
    const ir::ValueType& wanted = teacher.value(values.teacher.back()).type;
    const ir::ValueType& found = student.value(values.student.back()).type;
    if (!is_feature(wanted) || !is_feature(found) || wanted.shape != found.shape) {
      fail(ErrorKind::kShape, what + ": expected values of one shape [N, ...], found " +
                                  wanted.to_string() + " and " + found.to_string());
    }
  }
  return values;
}

at::Tensor feature_loss(std::span<const at::Tensor> student, std::span<const at::Tensor> teacher,
                        std::span<const FeatureMatch> matches) {
  at::Tensor loss = at::zeros({}, at::TensorOptions(at::kFloat));  // 0-dim: works on any device
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const auto numbers =
        static_cast<double>(teacher[i].numel()) / static_cast<double>(teacher[i].size(0));
    loss = loss + (student[i] - teacher[i].to(student[i].device())).square().sum() *
                      (matches[i].weight / numbers);
  }
  return loss;
}

}  // namespace halftone::train
