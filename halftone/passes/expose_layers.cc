// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/ir/extent.h"
#include "halftone/passes/prepare_fit.h"
#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Shape;
using ir::ValueId;

/// A product with a constant in the form y[.., h, f, o] = sum_k x[.., h, f, k] w[h, o, k].
struct Product {
  ValueId x = ir::kAbsent;
  ValueId constant = ir::kAbsent;
  bool constant_left = false;
  bool x_turned = false;   ///< its last axis is not k
  bool w_turned = false;   ///< the constant's last axis is not k
  bool is_vector = false;  ///< the constant: y has no axis of outputs
  Dim heads = 1;
};

/// The extent of the one axis before the matrices of a constant, 1 if there is none; nothing if
/// there are several such axes.
std::optional<Dim> heads_of(const Shape& constant) {
  Dim heads = 1;
  for (std::size_t i = 0; i + 2 < constant.rank(); ++i) {
    if (i + 3 != constant.rank() && constant[i] != 1) return std::nullopt;
    heads = constant[i];
  }
  return heads;
}

std::optional<Product> product_of(const Graph& graph, const ir::Node& node) {
  const auto* op = std::get_if<ir::MatMul>(&node.op);
  if (op == nullptr) return std::nullopt;
  Product product;
  product.constant_left = float_constant(graph, node.inputs[0]) != nullptr;
  product.constant = node.inputs[product.constant_left ? 0 : 1];
  product.x = node.inputs[product.constant_left ? 1 : 0];
  const ir::Tensor* constant = float_constant(graph, product.constant);
  if (constant == nullptr || constant->size() == 0) return std::nullopt;
  const Shape& x = graph.value(product.x).type.shape;
  const auto heads = heads_of(constant->shape());
  // In x, the heads precede the matrix too, or are absent.
  if (!heads || x.rank() > 4 || constant->shape().rank() > std::max<std::size_t>(x.rank(), 3)) {
    return std::nullopt;
  }
  product.heads = *heads;
  product.is_vector = constant->shape().rank() == 1;
  const bool a_turned = op->transpose_a;
  const bool b_turned = op->transpose_b;
  product.x_turned = x.rank() > 1 && (product.constant_left ? !b_turned : a_turned);
  product.w_turned = !product.is_vector && (product.constant_left ? a_turned : !b_turned);
  return product;
}

class Exposure {
 public:
  Exposure(Graph& graph, ir::Node node, const Product& product)
      : graph_(graph), node_(std::move(node)), product_(product) {}

  ValueId run() {
    ValueId y = product_.heads == 1 ? one_head() : all_heads();
    if (y == ir::kAbsent) return y;
    if (product_.is_vector) {
      const auto dims = shape(y).dims();
      return reshape(y, {dims.begin(), dims.end() - 1});
    }
    if (product_.constant_left && shape(product_.x).rank() > 1) y = turned(y);
    return y;
  }

 private:
  [[nodiscard]] const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }

  ValueId reshape(ValueId x, std::vector<Dim> dims) {
    Shape wanted(std::move(dims));
    if (shape(x) == wanted) return x;
    return graph_.add_node(node_.name + "/reshape", ir::Reshape{std::move(wanted)}, {x});
  }
  ValueId transpose(ValueId x, std::vector<std::size_t> permutation) {
    return graph_.add_node(node_.name + "/transpose", ir::Transpose{std::move(permutation)}, {x});
  }
  /// Exchanges the last two axes.
  ValueId turned(ValueId x) {
    std::vector<std::size_t> permutation(shape(x).rank());
    std::iota(permutation.begin(), permutation.end(), std::size_t{0});
    std::swap(permutation[permutation.size() - 2], permutation.back());
    return transpose(x, std::move(permutation));
  }

  /// The constant as [heads outputs, kernel.., k], with a kernel of one tap per 1.
  ValueId weights(const std::vector<Dim>& kernel) {
    const ir::Tensor& constant = *float_constant(graph_, product_.constant);
    const std::string name = replacement_name(graph_, product_.constant);
    const std::size_t rank = constant.shape().rank();
    const Dim k = constant.shape()[product_.w_turned ? rank - 2 : rank - 1];
    std::vector<Dim> dims = {static_cast<Dim>(constant.size()) / k};
    dims.insert(dims.end(), kernel.begin(), kernel.end());
    dims.push_back(k);
    if (!product_.w_turned) return graph_.add_constant(name, constant.reshaped(Shape(dims)));
    std::vector<std::size_t> permutation(rank);
    std::iota(permutation.begin(), permutation.end(), std::size_t{0});
    std::swap(permutation[rank - 2], permutation[rank - 1]);
    const ir::Tensor* input = &constant;
    const ir::Tensor rows = ir::evaluate_operator(ir::Transpose{permutation}, {&input, 1});
    return graph_.add_constant(name, rows.reshaped(Shape(dims)));
  }

  ValueId x_rows() { return product_.x_turned ? turned(product_.x) : product_.x; }

  ValueId one_head() {
    const ValueId x = x_rows();
    ValueId y = graph_.add_node(node_.name, ir::FullyConnected{}, {x, weights({})});
    // If the constant has more axes than x, y has them too.
    const std::size_t more = shape(product_.constant).rank();
    if (more > shape(product_.x).rank() && shape(product_.x).rank() > 1) {
      const auto dims = shape(y).dims();
      std::vector<Dim> padded(more - dims.size(), 1);
      padded.insert(padded.end(), dims.begin(), dims.end());
      y = reshape(y, std::move(padded));
    }
    return y;
  }

  ValueId all_heads() {
    const Shape given = shape(product_.x);
    if (given.rank() < 2) return ir::kAbsent;
    const bool has_heads = given.rank() > 2 && given[given.rank() - 3] == product_.heads;
    if (!has_heads && given.rank() > 2 && given[given.rank() - 3] != 1) return ir::kAbsent;
    const ValueId x = x_rows();
    const Dim rows = shape(x)[given.rank() - 2];
    const Dim k = shape(x).back();
    std::vector<Dim> lead;
    if (given.rank() == 4) lead.push_back(given[0]);
    const Dim first = lead.empty() ? 1 : lead[0];
    // The input of one layer: [N, t, H k] if x has heads, otherwise [N, t, k].
    ValueId y = ir::kAbsent;
    if (has_heads) {
      const ValueId images = reshape(x, {first, product_.heads, rows, k});
      const ValueId pixels = transpose(images, {0, 2, 1, 3});
      const Dim channels = product_.heads * k;
      // A convolution has the batch first: rows of k N become k rows of N images.
      const ValueId joined = ir::is_batch(rows)
                                 ? reshape(pixels, {ir::kBatch, rows / ir::kBatch, channels})
                                 : reshape(pixels, {first, rows, channels});
      const ir::Conv conv{{{1}, {1}, {0}, {0}}, product_.heads, {}};
      y = graph_.add_node(node_.name, conv, {joined, weights({1})});
    } else {
      y = graph_.add_node(node_.name, ir::FullyConnected{},
                          {reshape(x, {first, rows, k}), weights({})});
    }
    const Dim outputs = shape(y).back() / product_.heads;
    y = transpose(reshape(y, {first, rows, product_.heads, outputs}), {0, 2, 1, 3});
    std::vector<Dim> dims = lead;
    dims.insert(dims.end(), {product_.heads, rows, outputs});
    return reshape(y, std::move(dims));
  }

  Graph& graph_;
  const ir::Node node_;
  const Product product_;
};

}  // namespace

bool expose_layers(Graph& graph, const std::function<bool(const ir::Node&)>& wanted) {
  bool changed = false;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node node = graph.node(id);
    const std::optional<Product> product = product_of(graph, node);
    if (!product || !wanted(node)) continue;
    const ValueId y = Exposure(graph, node, *product).run();
    if (y == ir::kAbsent) continue;
    changed = replace_value(graph, node.output, y) || changed;
  }
  if (changed) graph.remove_unused_nodes();
  return changed;
}

}  // namespace halftone::passes
