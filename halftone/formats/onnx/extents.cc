// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/extents.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/ir/real.h"

namespace halftone::formats::onnx {
namespace {

using ir::Extent;
using onnx_pb::NodeProto;
using onnx_pb::TensorProto;

std::string add_symbol(Exporter& exporter, const std::string& symbol) {
  for (const ir::Definition& each : exporter.graph().definitions()) {
    if (each.symbol != symbol) continue;
    std::string name = exporter.fresh("extent/" + symbol.substr(1));
    exporter.add_node("Reshape", {exporter.read(each.value), exporter.add_integers("extent", {1})},
                      name);
    return name;
  }
  const ir::Dim wanted = ir::dim_of(Extent::symbol(symbol));
  for (const ir::ValueId id : exporter.graph().inputs()) {
    const auto dims = exporter.type(id).shape.dims();
    const auto axis = std::ranges::find(dims, wanted) - dims.begin();
    if (axis == std::ssize(dims)) continue;
    exporter.require_opset(15);
    std::string name = exporter.fresh("extent/" + symbol);
    NodeProto& proto = exporter.add_node("Shape", {exporter.read(id)}, name);
    set_attribute(proto, "start", std::int64_t{axis});
    set_attribute(proto, "end", std::int64_t{axis + 1});
    return name;
  }
  unsupported("an extent '" + symbol + "' that no input has as an axis");
}

std::string add_operation(Exporter& exporter, std::string_view op, const std::string& a,
                          const std::string& b) {
  std::string name = exporter.fresh("extent");
  exporter.add_node(op, {a, b}, name);
  return name;
}

std::string add_cast(Exporter& exporter, const std::string& x, TensorProto::DataType type) {
  std::string name = exporter.fresh("extent");
  set_attribute(exporter.add_node("Cast", {x}, name), "to", std::int64_t{type});
  return name;
}

/// A float that is no constant.
std::string add_real_atom(Exporter& exporter, const Extent::Atom& atom) {
  using AtomKind = Extent::AtomKind;
  static constexpr std::pair<AtomKind, std::string_view> kOperators[] = {
      {AtomKind::kRealProduct, "Mul"}, {AtomKind::kRealQuotient, "Div"},
      {AtomKind::kRealSum, "Add"},     {AtomKind::kRealDifference, "Sub"},
      {AtomKind::kLeast, "Min"},       {AtomKind::kGreatest, "Max"}};
  if (atom.kind == AtomKind::kReal) {
    return add_cast(exporter, add_extent(exporter, atom.a), TensorProto::FLOAT);
  }
  const auto* op =
      std::ranges::find(kOperators, atom.kind, [](const auto& row) { return row.first; });
  const std::string a = add_real(exporter, atom.a);
  return add_operation(exporter, op->second, a, add_real(exporter, atom.b));
}

/// An integer that a float becomes.
std::string add_rounded(Exporter& exporter, const Extent::Atom& atom) {
  using AtomKind = Extent::AtomKind;
  std::string x = add_real(exporter, atom.a);
  if (atom.kind == AtomKind::kRound) {  // ONNX rounds ties to even
    x = add_operation(exporter, "Add", x, add_real(exporter, ir::Real(0.5F).bits()));
  }
  std::string whole = exporter.fresh("extent");
  exporter.add_node(atom.kind == AtomKind::kCeil ? "Ceil" : "Floor", {x}, whole);
  return add_cast(exporter, whole, TensorProto::INT64);
}

std::string add_atom(Exporter& exporter, const Extent::Atom& atom) {
  using AtomKind = Extent::Atom::Kind;
  if (atom.kind == AtomKind::kSymbol) return add_symbol(exporter, atom.text);
  if (atom.kind >= AtomKind::kFloor) return add_rounded(exporter, atom);
  const std::string a = add_extent(exporter, atom.a);
  const std::string b = add_extent(exporter, atom.b);
  // Div rounds towards zero, Mod has the sign of the divisor.
  if (atom.kind == AtomKind::kQuotient && !atom.a.is_at_least(0)) {
    const std::string rest = add_operation(exporter, "Mod", a, b);
    return add_operation(exporter, "Div", add_operation(exporter, "Sub", a, rest), b);
  }
  const std::string_view op = atom.kind == AtomKind::kQuotient ? "Div"
                              : atom.kind == AtomKind::kLeast  ? "Min"
                                                               : "Max";
  return add_operation(exporter, op, a, b);
}

std::string add_term(Exporter& exporter, const Extent::Term& term) {
  std::string product;
  for (const auto& atom : term.atoms) {
    const std::string factor =
        exporter.computed_extent(atom->text, [&] { return add_atom(exporter, *atom); });
    product = product.empty() ? factor : add_operation(exporter, "Mul", product, factor);
  }
  if (product.empty()) return exporter.add_integers("extent", {term.factor});
  if (term.factor == 1) return product;
  return add_operation(exporter, "Mul", product, exporter.add_integers("multiple", {term.factor}));
}

}  // namespace

std::string add_extent(Exporter& exporter, const Extent& extent) {
  if (const auto number = extent.number()) return exporter.add_integers("extent", {*number});
  return exporter.computed_extent(extent.text(), [&] {
    std::string sum;
    for (const auto& [text, term] : extent.terms()) {
      if (text.empty()) continue;  // the constant comes last
      const std::string next = add_term(exporter, term);
      sum = sum.empty() ? next : add_operation(exporter, "Add", sum, next);
    }
    const auto constant = extent.terms().find("");
    if (constant == extent.terms().end()) return sum;
    return add_operation(exporter, "Add", sum, add_term(exporter, constant->second));
  });
}

std::string add_real(Exporter& exporter, const Extent& bits) {
  if (const auto number = ir::Real::of_bits(bits).number()) {
    return exporter.add_initializer(
        "extent", encode_tensor(ir::Tensor::from<float>({1}, std::span(&*number, 1))));
  }
  return exporter.computed_extent("float " + bits.text(), [&] {
    return add_real_atom(exporter, *bits.terms().begin()->second.atoms[0]);
  });
}

std::string add_shape(Exporter& exporter, const std::string& prefix, const ir::Shape& shape) {
  std::vector<std::string> extents;
  for (const ir::Dim dim : shape.dims())
    extents.push_back(add_extent(exporter, ir::extent_of(dim)));
  std::string result = exporter.fresh(prefix + "/shape");
  set_attribute(exporter.add_node("Concat", extents, result), "axis", std::int64_t{0});
  return result;
}

}  // namespace halftone::formats::onnx
