// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/sample_shapes.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/compress/feed.h"
#include "halftone/ir/open_extents.h"

namespace halftone {
namespace {

using Extents = std::vector<std::size_t>;

/// Puts the extents of a sample in the place of open ones, in order. Extents of 1 are added and
/// removed.
bool fill_in_order(std::span<ir::Dim> want, std::span<const std::size_t> have) {
  if (want.empty()) return std::ranges::all_of(have, [](std::size_t n) { return n == 1; });
  const bool is_open = ir::is_expression(want[0]);
  if (!have.empty() && (is_open || want[0] == static_cast<ir::Dim>(have[0]))) {
    const ir::Dim before = std::exchange(want[0], static_cast<ir::Dim>(have[0]));
    if (fill_in_order(want.subspan(1), have.subspan(1))) return true;
    want[0] = before;
  }
  if (want[0] == 1 && fill_in_order(want.subspan(1), have)) return true;
  return !have.empty() && have[0] == 1 && fill_in_order(want, have.subspan(1));
}

/// The orders in which samples become inputs: as they are, and channels first or last.
std::vector<Extents> orders_of(const data::SampleShape& sample) {
  const Extents& e = sample.extents;
  std::vector<Extents> orders{e};
  if (sample.layout == data::SampleLayout::kHwc) orders.push_back({e[2], e[0], e[1]});
  if (sample.layout == data::SampleLayout::kChw) orders.push_back({e[1], e[2], e[0]});
  return orders;
}

/// The same for an input whose samples lie along an axis; nullopt if they do not fit.
/// @param axis  the rank: the input is one sample
std::optional<ir::Shape> filled_along(const ir::Shape& input, std::size_t axis,
                                      const data::SampleShape& sample) {
  for (const Extents& order : orders_of(sample)) {
    std::vector<ir::Dim> dims(input.dims().begin(), input.dims().end());
    if (axis < dims.size()) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    if (!fill_in_order(dims, order)) continue;
    if (axis < input.rank()) {
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), input[axis]);
    }
    return ir::Shape(std::move(dims));
  }
  return std::nullopt;
}

/// The open axes, those first whose names say that they are the batch.
std::vector<std::size_t> open_axes(const ir::Shape& input) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < input.rank(); ++axis) {
    if (ir::is_expression(input[axis])) axes.push_back(axis);
  }
  std::stable_partition(axes.begin(), axes.end(), [&](std::size_t axis) {
    const std::string name = ir::to_string(input[axis]);
    return name == "'N'" || name == "B" || name.find("batch") != std::string::npos;
  });
  return axes;
}

/// The same for the first of the axes with a number that fits.
std::optional<ir::Shape> filled_along_any(const ir::Shape& input, std::size_t first,
                                          std::size_t end, const data::SampleShape& sample) {
  for (std::size_t axis = first; axis < end; ++axis) {
    if (axis < input.rank() && ir::is_expression(input[axis])) continue;
    if (auto found = filled_along(input, axis, sample)) return found;
  }
  return std::nullopt;
}

/// The shape of an input with the extents of its samples; nullopt if they do not fit. The axis of a
/// batch that has a number is found as by compress::make_feed(). The last axis is one only where
/// nothing else fits, since features rarely are samples.
std::optional<ir::Shape> filled(const ir::Shape& input, const data::SampleShape& sample) {
  const auto batch = std::ranges::find_if(input.dims(), ir::depends_on_batch);
  if (batch != input.dims().end()) {
    return filled_along(input, static_cast<std::size_t>(batch - input.dims().begin()), sample);
  }
  const std::size_t last = input.rank() - 1;
  if (auto found = filled_along_any(input, 0, last, sample)) return found;
  if (auto found = filled_along(input, input.rank(), sample)) return found;
  // An open axis may be that of samples, of which each is one.
  for (const std::size_t axis : open_axes(input)) {
    auto found = filled_along(input, axis, sample);
    if (!found) continue;
    (*found)[axis] = 1;
    return found;
  }
  return filled_along_any(input, last, input.rank(), sample);
}

/// A shape for each input that a caller gives, where samples show it.
std::vector<std::optional<ir::Shape>> shapes_of(const Network& network, const data::Dataset& data) {
  const auto pairs = compress::paired_inputs(data, network.graph);
  std::vector<std::optional<ir::Shape>> shapes;
  for (std::size_t i = 0; i < network.graph.inputs().size(); ++i) {
    const ir::ValueId id = network.graph.inputs()[i];
    if (network.graph.is_tied(id)) continue;
    shapes.emplace_back();
    const ir::Value& input = network.graph.value(id);
    if (!pairs[i] || !ir::has_expressions(input.type.shape)) continue;
    const data::SampleShape& sample = data.inputs()[*pairs[i]].shape;
    shapes.back() = filled(input.type.shape, sample);
    if (shapes.back()) continue;
    fail(ErrorKind::kShape, network.name + ": samples " + sample.text() + " of " + data.name() +
                                " do not fit input '" + input.name + "' " + input.type.to_string());
  }
  return shapes;
}

}  // namespace

ir::Sizes sizes_of(const Network& network, const data::Dataset& data) {
  compress::require_one_size(data);
  const auto shapes = shapes_of(network, data);
  return ir::sizes_of(network.graph, network.graph.untied(network.graph.inputs()), shapes);
}

Network with_samples(Network network, const data::Dataset& data) {
  if (!is_open(network)) return network;
  compress::require_one_size(data);
  const auto shapes = shapes_of(network, data);
  return with_shapes(std::move(network), shapes);
}

}  // namespace halftone
