// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/open_form.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "halftone/api/sample_shapes.h"
#include "halftone/base/error.h"
#include "halftone/ir/extents_of.h"
#include "halftone/ir/open_extents.h"
#include "halftone/ir/text.h"

namespace halftone {
namespace {

/// Whether operators are equal; loops also where their bodies are copies.
bool are_equal(const ir::Operator& a, const ir::Operator& b) {
  const auto* loop = std::get_if<ir::Loop>(&a);
  const auto* other = std::get_if<ir::Loop>(&b);
  if (loop == nullptr || other == nullptr) return a == b;
  ir::Loop same = *loop;
  same.body = other->body;
  return same == *other && ir::to_text(*loop->body) == ir::to_text(*other->body);
}

/// @throws Error kShape unless two graphs with open extents have outputs of the same shapes at
///         twice these sizes, if the first takes them
void check_other_sizes(ir::Graph open, ir::Graph graph, const ir::Sizes& sizes) {
  ir::Sizes doubled;
  for (const auto& [name, size] : sizes) doubled.emplace(name, 2 * size);
  try {
    ir::fill_in_extents(open, doubled);
  } catch (const Error&) {
    return;  // such as a sentence beyond the table of positions
  }
  ir::fill_in_extents(graph, doubled);
  for (std::size_t i = 0; i < open.outputs().size(); ++i) {
    const ir::Shape& wanted = open.value(open.outputs()[i]).type.shape;
    const ir::Value& found = graph.value(graph.outputs()[i]);
    if (found.type.shape == wanted) continue;
    fail(ErrorKind::kShape, "output '" + found.name + "': expected " + wanted.to_string() +
                                " at twice the size, found " + found.type.to_string());
  }
}

/// @throws Error kShape unless a graph with open extents becomes another one with these sizes
void check_same(ir::Graph graph, const ir::Sizes& sizes, const ir::Graph& expected) {
  ir::fill_in_extents(graph, sizes);
  for (const ir::NodeId id : expected.topological_order()) {
    const ir::Node& wanted = expected.node(id);
    const ir::Node& found = graph.node(id);
    if (are_equal(found.op, wanted.op) &&
        graph.value(found.output).type == expected.value(wanted.output).type) {
      continue;
    }
    fail(ErrorKind::kShape, describe(wanted) + ": expected " +
                                expected.value(wanted.output).type.to_string() + ", found " +
                                graph.value(found.output).type.to_string());
  }
}

/// @throws Error kUnsupported for samples of several sizes, if a network is read with numbers
void check_sizes(const Network& network, const data::Dataset& data) {
  if (data.parts().size() == 1 || network.refusal.empty()) return;
  fail(ErrorKind::kUnsupported,
       network.name + ": expected samples of one size, found " +
           std::to_string(data.parts().size()) +
           " sizes: the network is read with numbers for its extents: " + network.refusal);
}

}  // namespace

OpenForm::OpenForm(const Network& network, const data::Dataset& data, Purpose purpose)
    : network_(network),
      open_(prepared_open(network, purpose)),
      filled_(open_),
      sizes_(sizes_of(network, data.parts()[0])) {
  with_context(network.name, [&] { ir::fill_in_extents(filled_, sizes_); });
  for (const data::Dataset& part : data.parts().subspan(1)) {
    with_context("sample " + std::to_string(part.origin(0)), [&] {
      ir::Graph other = open_;
      const ir::Sizes sizes = sizes_of(network, part);
      with_context(network.name, [&] { ir::fill_in_extents(other, sizes); });
    });
  }
}

ir::Graph OpenForm::resized(ir::Graph graph, const data::Dataset& samples) const {
  graph = ir::with_extents_of(std::move(graph), open_, filled_);
  const ir::Sizes sizes = sizes_of(network_, samples);
  with_context(network_.name, [&] { ir::fill_in_extents(graph, sizes); });
  return graph;
}

ir::Graph OpenForm::reopened(ir::Graph graph) const {
  const ir::Graph expected = graph;
  graph = ir::with_extents_of(std::move(graph), open_, filled_);
  check_same(graph, sizes_, expected);
  check_other_sizes(open_, graph, sizes_);
  return graph;
}

SizedGraph prepared_for(const Network& network, const data::Dataset& data, Purpose purpose) {
  if (data.parts().size() == 1) return {prepared(with_samples(network, data), purpose)};
  check_sizes(network, data);
  if (!is_open(network)) return {prepared(network, purpose)};
  const auto form = std::make_shared<const OpenForm>(network, data, purpose);
  return {form->filled(), [form](const ir::Graph& graph, const data::Dataset& samples) {
            return form->resized(graph, samples);
          }};
}

std::optional<OpenForm> open_form(const Network& network, const data::Dataset& data) {
  check_sizes(network, data);
  if (!is_open(network) || !network.refusal.empty()) return std::nullopt;
  return OpenForm(network, data, Purpose::kQuantize);
}

compress::Resize resize_of(const std::optional<OpenForm>& form, const data::Dataset& data) {
  if (!form || data.parts().size() == 1) return {};
  return [&form](const ir::Graph& graph, const data::Dataset& samples) {
    return form->resized(graph, samples);
  };
}

std::optional<std::string> reopen(const std::optional<OpenForm>& form, ir::Graph& graph) {
  try {
    if (form) graph = form->reopened(graph);
    return std::nullopt;
  } catch (const Error& error) {
    return std::string("the file keeps the extents of the samples: ") + error.what();
  }
}

}  // namespace halftone
