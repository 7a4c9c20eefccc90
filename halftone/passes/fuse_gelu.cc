// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "halftone/passes/rewrite.h"
#include "halftone/passes/simplify.h"

namespace halftone::passes {
namespace {

using ir::ActivationKind;
using ir::BinaryKind;

constexpr double kTolerance = 1e-4;
/// The approximate Gelu has 9 or 10 nodes before its last. This also bounds the recursion.
constexpr int kMaxNodes = 16;

/// The sum of terms[n] x^(n mod 4) f^(n / 4), where f is a function of x.
struct Polynomial {
  static constexpr std::size_t kPowersOfX = 4;
  static constexpr std::size_t kPowersOfF = 2;
  std::array<double, kPowersOfX * kPowersOfF> terms{};
};

/// factor x^i f^j
Polynomial term(std::size_t i, std::size_t j, double factor) {
  Polynomial result;
  result.terms[i + j * Polynomial::kPowersOfX] = factor;
  return result;
}

Polynomial sum(Polynomial a, const Polynomial& b) {
  for (std::size_t n = 0; n < a.terms.size(); ++n) a.terms[n] += b.terms[n];
  return a;
}

/// The product; none if a power is too high for a Gelu.
std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  constexpr std::size_t kPowersOfX = Polynomial::kPowersOfX;
  Polynomial result;
  for (std::size_t n = 0; n < a.terms.size(); ++n) {
    for (std::size_t m = 0; m < b.terms.size(); ++m) {
      if (a.terms[n] == 0 || b.terms[m] == 0) continue;
      const std::size_t i = n % kPowersOfX + m % kPowersOfX;
      const std::size_t j = n / kPowersOfX + m / kPowersOfX;
      if (i >= kPowersOfX || j >= Polynomial::kPowersOfF) return std::nullopt;
      result.terms[i + j * kPowersOfX] += a.terms[n] * b.terms[m];
    }
  }
  return result;
}

/// Whether both have the same terms, up to the tolerance.
bool matches(const Polynomial& found, const Polynomial& expected) {
  for (std::size_t n = 0; n < expected.terms.size(); ++n) {
    const double wanted = expected.terms[n];
    if (!(std::abs(found.terms[n] - wanted) <= kTolerance * std::abs(wanted))) return false;
  }
  return true;
}

/// Expands a value into a polynomial in its source x and in f, an Erf or Tanh on the path.
class Expansion {
 public:
  explicit Expansion(const ir::Graph& graph) : graph_(graph) {}

  /// The polynomial of a node; none if it has no such form.
  std::optional<Polynomial> of(ir::NodeId id) {
    if (++num_nodes_ > kMaxNodes) return std::nullopt;
    oldest_ = std::min(oldest_, id);
    const ir::Node& node = graph_.node(id);
    if (const auto* binary = std::get_if<ir::Binary>(&node.op)) return of_binary(*binary, node);
    const auto* unary = std::get_if<ir::Unary>(&node.op);
    return unary == nullptr ? std::nullopt : of_unary(unary->activation.kind, node);
  }

  [[nodiscard]] ir::ValueId x() const { return x_; }
  [[nodiscard]] ir::NodeId oldest() const { return oldest_; }
  /// The kind of f: kErf or kTanh; kIdentity if there is none.
  [[nodiscard]] ActivationKind function() const { return function_; }
  /// The argument of f.
  [[nodiscard]] ir::ValueId argument() const { return argument_; }

  std::optional<Polynomial> of(ir::ValueId id) {
    if (const auto number = scalar(id)) return term(0, 0, *number);
    const auto producer = graph_.producer(id);
    // A Gelu reads x at least twice and intermediate values once, so the first value with more uses
    // is x.
    if (producer && graph_.num_uses(id) == 1) return of(*producer);
    if (x_ == ir::kAbsent) x_ = id;
    return x_ == id ? std::optional(term(1, 0, 1)) : std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<double> scalar(ir::ValueId id) const {
    const ir::Tensor* tensor = float_constant(graph_, id);
    if (tensor == nullptr || tensor->size() != 1) return std::nullopt;
    return static_cast<double>(tensor->as<float>()[0]);
  }

  std::optional<Polynomial> of_unary(ActivationKind kind, const ir::Node& node) {
    if (kind == ActivationKind::kSquare) return power(node.inputs[0], 2);
    const bool is_function = kind == ActivationKind::kErf || kind == ActivationKind::kTanh;
    if (!is_function || function_ != ActivationKind::kIdentity) return std::nullopt;
    function_ = kind;
    argument_ = node.inputs[0];
    return term(0, 1, 1);
  }

  std::optional<Polynomial> of_binary(const ir::Binary& op, const ir::Node& node) {
    if (op.activation != ir::Activation{}) return std::nullopt;
    const auto second = scalar(node.inputs[1]);
    if (op.kind == BinaryKind::kPow) return second ? power(node.inputs[0], *second) : std::nullopt;
    const bool divides = op.kind == BinaryKind::kDiv && second && *second != 0;
    if (op.kind != BinaryKind::kAdd && op.kind != BinaryKind::kMul && !divides) return std::nullopt;
    const auto a = of(node.inputs[0]);
    if (!a) return std::nullopt;
    if (divides) return product(*a, term(0, 0, 1 / *second));
    const auto b = of(node.inputs[1]);
    if (!b) return std::nullopt;
    return op.kind == BinaryKind::kAdd ? sum(*a, *b) : product(*a, *b);
  }

  std::optional<Polynomial> power(ir::ValueId id, double exponent) {
    if (exponent != 2 && exponent != 3) return std::nullopt;
    const auto base = of(id);
    auto result = base ? product(*base, *base) : std::nullopt;
    return result && exponent == 3 ? product(*result, *base) : result;
  }

  const ir::Graph& graph_;
  int num_nodes_ = 0;
  ir::NodeId oldest_{0xffffffff};
  ir::ValueId x_ = ir::kAbsent;
  ActivationKind function_ = ActivationKind::kIdentity;
  ir::ValueId argument_ = ir::kAbsent;
};

/// The Gelu that applies `function` to a polynomial; kIdentity if there is none.
ActivationKind gelu_of(ActivationKind function, const Polynomial& argument) {
  const double scale = std::sqrt(2 / std::numbers::pi);
  if (function == ActivationKind::kErf && matches(argument, term(1, 0, 1 / std::numbers::sqrt2))) {
    return ActivationKind::kGelu;
  }
  if (function == ActivationKind::kTanh &&
      matches(argument, sum(term(1, 0, scale), term(3, 0, scale * 0.044715)))) {
    return ActivationKind::kGeluTanh;
  }
  return ActivationKind::kIdentity;
}

bool fuse_at(ir::Graph& graph, ir::NodeId id) {
  if (!std::holds_alternative<ir::Binary>(graph.node(id).op)) return false;
  Expansion expansion(graph);
  const auto result = expansion.of(id);
  if (!result || !matches(*result, sum(term(1, 0, 0.5), term(1, 1, 0.5)))) return false;
  const auto argument = expansion.of(expansion.argument());
  if (!argument) return false;
  const ActivationKind kind = gelu_of(expansion.function(), *argument);
  const ir::ValueId x = expansion.x();
  // A constant of shape [1, 1, 1] may add axes to the result.
  const bool same_type = graph.value(graph.node(id).output).type == graph.value(x).type;
  if (kind == ActivationKind::kIdentity || !same_type) return false;
  graph.absorb(expansion.oldest(), id, ir::Unary{{kind}}, {x});
  return true;
}

}  // namespace

bool fuse_gelu(ir::Graph& graph) {
  bool changed = false;
  for (const ir::NodeId id : graph.topological_order()) changed = fuse_at(graph, id) || changed;
  if (changed) graph.remove_unused_nodes();
  return changed;
}

}  // namespace halftone::passes
