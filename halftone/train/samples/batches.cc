// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/samples/batches.h"

#include <ATen/ATen.h>

#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/random.h"
#include "halftone/compress/feed.h"

namespace halftone::train {
namespace {

/// Shape of the images to augment: of the graph's input, or of the data if the graph takes them
/// flat.
ir::Shape image_shape(const ir::Shape& input, const data::SampleShape& sample) {
  if (input.rank() != 2) return input;
  std::vector<ir::Dim> dims{ir::kBatch};
  if (sample.extents.size() == 2) dims.push_back(1);
  for (const std::size_t extent : sample.extents) dims.push_back(static_cast<ir::Dim>(extent));
  return ir::Shape(std::move(dims));
}

/// @throws Error kUnsupported unless samples lie along the first axis of each input
runtime::FillInput leading_feed(const data::Dataset& data, const ir::Graph& graph) {
  compress::Feed feed = compress::make_feed(data, graph);
  for (std::size_t i = 0; i < feed.batch_axes.size(); ++i) {
    if (feed.batch_axes[i] == 0) continue;
    const ir::Value& input = graph.value(graph.inputs()[i]);
    fail(ErrorKind::kUnsupported, "input '" + input.name +
                                      "': expected the batch as first extent, found " +
                                      input.type.to_string());
  }
  return std::move(feed.fill);
}

/// Shape of the samples of the graph's first input.
const data::SampleShape& first_shape(const data::Dataset& data, const ir::Graph& graph) {
  return data.inputs()[compress::paired_inputs(data, graph).front().value_or(0)].shape;
}

std::vector<ir::Shape> input_shapes(const ir::Graph& graph) {
  std::vector<ir::Shape> shapes;
  for (const ir::ValueId id : graph.inputs()) shapes.push_back(graph.value(id).type.shape);
  return shapes;
}

}  // namespace

Batches::Batches(const data::Dataset& data, const ir::Graph& graph, const AugmentOptions& augment,
                 std::uint64_t seed)
    : data_(data),
      shapes_(input_shapes(graph)),
      feed_(leading_feed(data, graph)),
      augment_options_(augment),
      augment_(augment, image_shape(shapes_.front(), first_shape(data, graph))),
      seed_(seed) {}

Batches Batches::seen_by(const ir::Graph& graph) const {
  Batches result = *this;
  result.shapes_ = input_shapes(graph);
  result.feed_ = leading_feed(data_, graph);
  // If neither the network nor the data have image shapes, elements keep the order of this object.
  const ir::Shape image = image_shape(result.shapes_.front(), first_shape(data_, graph));
  if (image.rank() == 4) result.augment_ = Augment(augment_options_, image);
  return result;
}

/// Fisher-Yates, with random numbers of the epoch.
std::vector<std::size_t> Batches::shuffled(std::vector<std::size_t> samples,
                                           std::size_t epoch) const {
  Random random(seed_ ^ (0x9e3779b97f4a7c15U * (epoch + 1)));
  for (std::size_t i = samples.size(); i > 1; --i) {
    std::swap(samples[i - 1], samples[random.below(i)]);
  }
  return samples;
}

std::vector<at::Tensor> Batches::plain_inputs(std::span<const std::size_t> samples) const {
  std::vector<at::Tensor> inputs;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const std::span<const ir::Dim> dims = shapes_[i].dims();
    std::vector<std::int64_t> sizes(dims.begin(), dims.end());
    sizes[0] = static_cast<std::int64_t>(samples.size());
    at::Tensor x = at::empty(sizes, at::TensorOptions(at::kFloat));
    const std::size_t each = static_cast<std::size_t>(x.numel()) / samples.size();
    for (std::size_t s = 0; s < samples.size(); ++s) {
      feed_(samples[s], 1, i, {x.data_ptr<float>() + s * each, each});
    }
    inputs.push_back(std::move(x));
  }
  return inputs;
}

std::vector<at::Tensor> Batches::inputs(std::span<const std::size_t> samples,
                                        std::size_t epoch) const {
  std::vector<at::Tensor> inputs = plain_inputs(samples);
  at::Tensor& images = inputs.front();
  const std::size_t each = static_cast<std::size_t>(images.numel()) / samples.size();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    Random random(seed_ + 0x2545f4914f6cdd1dU * (epoch * data_.size() + samples[s] + 1));
    augment_.apply({images.data_ptr<float>() + s * each, each}, random);
  }
  return inputs;
}

at::Tensor Batches::labels(std::span<const std::size_t> samples) const {
  if (!data_.has_labels()) return {};
  at::Tensor labels =
      at::empty({static_cast<std::int64_t>(samples.size())}, at::TensorOptions(at::kLong));
  for (std::size_t s = 0; s < samples.size(); ++s) {
    labels.data_ptr<std::int64_t>()[s] = data_.label(samples[s]);
  }
  return labels;
}

}  // namespace halftone::train
