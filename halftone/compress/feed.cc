// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/feed.h"

#include <string>
#include <vector>

#include "halftone/base/error.h"

namespace halftone::compress {
namespace {

/// The extents of one sample of a graph input: all but the first, which is the batch.
data::SampleShape sample_shape(const ir::Shape& shape) {
  std::vector<std::size_t> extents;
  for (std::size_t i = 1; i < shape.rank(); ++i) {
    extents.push_back(static_cast<std::size_t>(shape[i]));
  }
  return data::image_shape(std::move(extents));
}

}  // namespace

runtime::FillInput make_feed(const data::Dataset& data, const ir::Graph& graph) {
  if (data.inputs().size() != graph.inputs().size()) {
    fail(ErrorKind::kShape,
         data.name() + ": expected samples of " + std::to_string(graph.inputs().size()) +
             " inputs, like the network, found " + std::to_string(data.inputs().size()));
  }
  std::vector<data::SampleShape> shapes;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const ir::Value& input = graph.value(graph.inputs()[i]);
    shapes.push_back(sample_shape(input.type.shape));
    with_context(data.name() + ": network input '" + input.name + "'",
                 [&] { data::adapt(data.inputs()[i].shape, shapes.back()); });
  }
  return [&data, shapes](std::size_t first, std::size_t count, std::size_t input,
                         std::span<float> values) {
    data.read(input, first, count, shapes[input], values);
  };
}

}  // namespace halftone::compress
