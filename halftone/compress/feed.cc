// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/feed.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/element_type.h"
#include "halftone/base/error.h"

namespace halftone::compress {
namespace {

/// Whether samples of a data set fit the extents of an input without one axis.
bool fits(const data::SampleShape& have, const data::SampleShape& want) {
  try {
    data::adapt(have, want);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// How the samples of one input of a data set fill an input of a network.
struct InputFeed {
  std::optional<std::size_t> source;  ///< of the data set; nothing: zeros
  data::SampleShape sample;
  std::size_t axis = 0;
  std::size_t batch = 1;    ///< extent of the axis if it is fixed
  bool is_integer = false;  ///< of the network, so that samples are taken as they are
};

data::SampleShape without_axis(const ir::Shape& shape, std::size_t axis) {
  std::vector<std::size_t> extents;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i == axis) continue;
    if (ir::is_open(shape[i])) {
      fail(ErrorKind::kUnsupported, "expected one batch axis, found " + shape.to_string());
    }
    extents.push_back(static_cast<std::size_t>(shape[i]));
  }
  return data::image_shape(std::move(extents));
}

/// The axis along which samples lie; the rank if the whole input is one sample.
std::size_t batch_axis(const ir::Shape& shape, const data::SampleShape& have) {
  const auto symbolic = std::ranges::find(shape.dims(), ir::kBatch);
  if (symbolic != shape.dims().end()) {
    return static_cast<std::size_t>(symbolic - shape.dims().begin());
  }
  if (shape.rank() == 0 || fits(have, without_axis(shape, 0))) return 0;
  for (std::size_t axis = 1; axis < shape.rank(); ++axis) {
    if (without_axis(shape, axis).extents == have.extents) return axis;
  }
  return fits(have, without_axis(shape, shape.rank())) ? shape.rank() : 0;
}

InputFeed feed_of(const data::DatasetInput& from, const ir::Shape& shape) {
  InputFeed feed;
  feed.axis = batch_axis(shape, from.shape);
  feed.sample = without_axis(shape, feed.axis);
  data::adapt(from.shape, feed.sample);
  if (feed.axis < shape.rank() && !ir::is_open(shape[feed.axis])) {
    feed.batch = static_cast<std::size_t>(std::max<ir::Dim>(shape[feed.axis], 1));
  }
  if (feed.axis == shape.rank()) feed.axis = 0;
  return feed;
}

/// Whether a value is a state, or does nothing but start those of recurrent layers.
bool only_starts_states(const ir::Graph& graph, ir::ValueId id) {
  if (graph.is_tied(id)) return true;
  if (std::ranges::count(graph.outputs(), id) > 0) return false;
  return std::ranges::all_of(graph.consumers(id), [&](ir::NodeId reader) {
    const ir::Node& node = graph.node(reader);
    if (std::holds_alternative<ir::Recurrent>(node.op)) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const bool is_state = i == ir::kInitialHidden || i == ir::kInitialCell;
        if (node.inputs[i] == id && !is_state) return false;
      }
      return true;
    }
    const bool selects = std::holds_alternative<ir::Slice>(node.op) ||
                         std::holds_alternative<ir::Reshape>(node.op) ||
                         std::holds_alternative<ir::Transpose>(node.op);
    return selects && only_starts_states(graph, node.output);
  });
}

using Pairs = std::vector<std::optional<std::size_t>>;

/// "'x', 'h0'"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

[[noreturn]] void fail_names(const data::Dataset& data, const ir::Graph& graph) {
  std::vector<std::string> wanted;
  std::vector<std::string> found;
  for (const ir::ValueId id : graph.inputs()) wanted.push_back(graph.value(id).name);
  for (const data::DatasetInput& input : data.inputs()) found.push_back(input.name);
  fail(ErrorKind::kShape, data.name() + ": expected samples of the network inputs " +
                              listed(wanted) + ", found " + listed(found));
}

Pairs pairs_by_name(const data::Dataset& data, const ir::Graph& graph) {
  Pairs pairs;
  for (const ir::ValueId id : graph.inputs()) {
    const auto found =
        std::ranges::find(data.inputs(), graph.value(id).name, &data::DatasetInput::name);
    const bool is_there = found != data.inputs().end();
    if (!is_there && !only_starts_states(graph, id)) fail_names(data, graph);
    const auto at = static_cast<std::size_t>(found - data.inputs().begin());
    pairs.push_back(is_there ? std::optional(at) : std::nullopt);
  }
  return pairs;
}

Pairs pairs_in_order(const data::Dataset& data, const ir::Graph& graph) {
  const std::size_t found = data.inputs().size();
  const std::size_t expected = graph.inputs().size();
  std::size_t missing = expected - std::min(expected, found);
  Pairs pairs;
  std::size_t next = 0;
  for (const ir::ValueId id : graph.inputs()) {
    if (missing > 0 && only_starts_states(graph, id)) {
      --missing;
      pairs.emplace_back();
    } else {
      pairs.emplace_back(next++);
    }
  }
  if (next != found) {
    fail(ErrorKind::kShape, data.name() + ": expected samples of " + std::to_string(expected) +
                                " inputs, like the network, found " + std::to_string(found));
  }
  return pairs;
}

/// The common number of samples per run of the inputs of fixed extents.
std::optional<std::size_t> common_batch(const ir::Graph& graph,
                                        const std::vector<InputFeed>& feeds) {
  std::optional<std::size_t> batch;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const ir::Value& input = graph.value(graph.inputs()[i]);
    if (!input.type.shape.is_static()) return std::nullopt;
    if (!feeds[i].source) continue;
    if (batch && *batch != feeds[i].batch) {
      fail(ErrorKind::kShape, "network input '" + input.name + "': expected " +
                                  std::to_string(*batch) +
                                  " samples per run, as the input before takes, found " +
                                  std::to_string(feeds[i].batch) + " in " + input.type.to_string());
    }
    batch = feeds[i].batch;
  }
  return batch;
}

}  // namespace

std::vector<std::optional<std::size_t>> paired_inputs(const data::Dataset& data,
                                                      const ir::Graph& graph) {
  if (graph.inputs().size() == 1 && data.inputs().size() == 1) return {0};
  return data.inputs().front().is_named ? pairs_by_name(data, graph) : pairs_in_order(data, graph);
}

void require_one_size(const data::Dataset& data) {
  if (data.parts().size() == 1) return;
  const data::Dataset& first = data.parts()[0];
  const data::Dataset& other = data.parts()[1];
  for (std::size_t i = 0; i < first.inputs().size(); ++i) {
    const data::SampleShape& a = first.inputs()[i].shape;
    const data::SampleShape& b = other.inputs()[i].shape;
    if (a.extents == b.extents) continue;
    fail(ErrorKind::kShape, data.name() + ": expected samples of one size, found " + a.text() +
                                " in sample " + std::to_string(first.origin(0)) + " and " +
                                b.text() + " in sample " + std::to_string(other.origin(0)));
  }
}

Feed make_feed(const data::Dataset& data, const ir::Graph& graph) {
  require_one_size(data);
  const std::vector<std::optional<std::size_t>> from = paired_inputs(data, graph);
  std::vector<InputFeed> feeds;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const ir::Value& input = graph.value(graph.inputs()[i]);
    feeds.push_back(
        from[i] ? with_context(data.name() + ": network input '" + input.name + "'",
                               [&] { return feed_of(data.inputs()[*from[i]], input.type.shape); })
                : InputFeed{});
    feeds.back().source = from[i];
    feeds.back().is_integer = is_integer(input.type.encoding.element);
  }
  Feed feed;
  feed.fixed_batch = with_context(data.name(), [&] { return common_batch(graph, feeds); });
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (!feeds[i].source && feed.fixed_batch) {
      const auto dims = graph.value(graph.inputs()[i]).type.shape.dims();
      const auto at = std::ranges::find(dims, static_cast<ir::Dim>(*feed.fixed_batch));
      if (at != dims.end()) feeds[i].axis = static_cast<std::size_t>(at - dims.begin());
    }
    feed.batch_axes.push_back(feeds[i].axis);
  }
  feed.fill = [&data, feeds = std::move(feeds)](std::size_t first, std::size_t count,
                                                std::size_t input, std::span<float> values) {
    const InputFeed& how = feeds[input];
    if (how.source && how.is_integer) {
      data.read_as_stored(*how.source, first, count, how.sample, values);
    } else if (how.source) {
      data.read(*how.source, first, count, how.sample, values);
    } else {
      std::ranges::fill(values, 0.0F);
    }
  };
  return feed;
}

std::vector<runtime::StreamPart> stream_parts(const data::Dataset& data, const ir::Graph& graph,
                                              const Resize& resize, std::size_t samples) {
  const auto part_of = [&](const data::Dataset& part, std::size_t count) {
    runtime::StreamPart made;
    made.graph = resize ? resize(graph, part) : graph;
    Feed feed = make_feed(part, made.graph);
    made.num_samples = count;
    made.fill = std::move(feed.fill);
    made.fixed_batch = feed.fixed_batch;
    made.batch_axes = std::move(feed.batch_axes);
    return made;
  };
  std::vector<runtime::StreamPart> parts;
  if (data.parts().size() == 1) {
    parts.push_back(part_of(data, std::min(samples, data.size())));
    return parts;
  }
  for (const data::Dataset& part : data.parts()) {
    const std::size_t count = std::min(samples, part.size());
    if (count == 0) break;
    samples -= count;
    parts.push_back(with_context("sample " + std::to_string(part.origin(0)),
                                 [&] { return part_of(part, count); }));
  }
  return parts;
}

}  // namespace halftone::compress
