// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "halftone/passes/simplify.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::ActivationKind;
using ir::BinaryKind;
using ir::Graph;
using ir::kBatch;
using ir::ValueId;
using testing::ElementsAre;

constexpr float kSqrtHalf = 0.70710678F;
constexpr float kSqrtTwoOverPi = 0.79788456F;

/// Formulas over x [N, 4], the output of a layer.
struct Formula {
  Graph graph;
  ValueId x = graph.add_node("layer", ir::FullyConnected{},
                             {graph.add_input("in", ir::test::float_type({kBatch, 3})),
                              graph.add_constant("w", test::random_tensor({4, 3}, 1))});
  int num_nodes = 0;

  ValueId number(float value, const ir::Shape& shape = {}) {
    return graph.add_constant("c", ir::test::floats(shape, {value}));
  }
  ValueId node(ir::Operator op, std::vector<ValueId> inputs) {
    return graph.add_node("n" + std::to_string(num_nodes++), std::move(op), std::move(inputs));
  }
  ValueId add(ValueId a, ValueId b) { return node(ir::Binary{BinaryKind::kAdd, {}}, {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return node(ir::Binary{BinaryKind::kMul, {}}, {a, b}); }
  ValueId div(ValueId a, ValueId b) { return node(ir::Binary{BinaryKind::kDiv, {}}, {a, b}); }
  ValueId pow(ValueId a, float b) { return node(ir::Binary{BinaryKind::kPow, {}}, {a, number(b)}); }
  ValueId apply(ActivationKind kind, ValueId a) { return node(ir::Unary{{kind}}, {a}); }
  ValueId erf(ValueId a) { return apply(ActivationKind::kErf, a); }
  ValueId tanh(ValueId a) { return apply(ActivationKind::kTanh, a); }

  /// 1 + erf(x / sqrt 2)
  ValueId erf_factor() { return add(erf(div(x, number(1.41421354F))), number(1)); }
  /// 1 + tanh(scale argument)
  ValueId tanh_factor(ValueId argument, float scale = kSqrtTwoOverPi) {
    return add(number(1), tanh(mul(argument, number(scale))));
  }
  /// x + 0.044715 cube
  ValueId with_cube(ValueId cube, float factor = 0.044715F) {
    return add(x, mul(number(factor), cube));
  }
  /// x f / 2
  ValueId halved(ValueId factor) { return mul(mul(x, factor), number(0.5F)); }
};

/// Adds a formula to the graph; the result is the output.
using Write = std::function<ValueId(Formula&)>;

bool fuses(const Write& write, Formula& formula) {
  formula.graph.add_output(write(formula));
  return test::run_checked(formula.graph, fuse_gelu);
}

TEST(FuseGelu, ReplacesThePartsByTheFunction) {
  Formula f;
  EXPECT_TRUE(fuses([](Formula& g) { return g.halved(g.erf_factor()); }, f));
  EXPECT_THAT(test::operators(f.graph), ElementsAre("FullyConnected", "Gelu"));
  EXPECT_EQ(test::output_node(f.graph).name, "n0");
  EXPECT_EQ(f.graph.value(f.graph.outputs()[0]).name, "n4");
  EXPECT_FALSE(test::run_checked(f.graph, fuse_gelu));
}

TEST(FuseGelu, FindsEveryForm) {
  const Write ways[] = {
      [](Formula& f) { return f.mul(f.number(0.5F), f.mul(f.erf_factor(), f.x)); },
      [](Formula& f) { return f.mul(f.mul(f.number(0.5F), f.x), f.erf_factor()); },
      [](Formula& f) { return f.mul(f.erf_factor(), f.mul(f.x, f.number(0.5F))); },
      [](Formula& f) { return f.mul(f.x, f.mul(f.erf_factor(), f.number(0.5F))); },
      [](Formula& f) { return f.div(f.mul(f.x, f.erf_factor()), f.number(2)); },
      [](Formula& f) { return f.mul(f.div(f.x, f.number(2)), f.erf_factor()); },
      [](Formula& f) {
        return f.halved(f.add(f.number(1), f.erf(f.mul(f.number(kSqrtHalf), f.x))));
      },
      // The constants multiplied out, rounded, and with an extra axis.
      [](Formula& f) {
        const ValueId half = f.mul(f.erf(f.mul(f.x, f.number(kSqrtHalf))), f.number(0.5F));
        return f.mul(f.x, f.add(half, f.number(0.5F)));
      },
      [](Formula& f) {
        const ValueId erf = f.erf(f.div(f.x, f.number(1.4142F, {1})));
        return f.halved(f.add(erf, f.number(1, {1, 1})));
      },
  };
  for (const Write& write : ways) {
    Formula f;
    EXPECT_TRUE(fuses(write, f));
    EXPECT_EQ(test::operators(f.graph).back(), "Gelu");
    EXPECT_EQ(test::operators(f.graph).size(), 2u);
  }
}

TEST(FuseGelu, FindsTheApproximation) {
  const Write ways[] = {
      [](Formula& f) { return f.halved(f.tanh_factor(f.with_cube(f.pow(f.x, 3)))); },
      [](Formula& f) { return f.halved(f.tanh_factor(f.with_cube(f.mul(f.mul(f.x, f.x), f.x)))); },
      [](Formula& f) {
        const ValueId square = f.apply(ActivationKind::kSquare, f.x);
        return f.halved(f.tanh_factor(f.with_cube(f.mul(square, f.x))));
      },
      // x (1 + 0.044715 x^2)
      [](Formula& f) {
        const ValueId square = f.mul(f.number(0.044715F), f.pow(f.x, 2));
        const ValueId cubic = f.mul(f.x, f.add(f.number(1), square));
        return f.mul(f.mul(f.x, f.number(0.5F)), f.tanh_factor(cubic));
      },
  };
  for (const Write& write : ways) {
    Formula f;
    EXPECT_TRUE(fuses(write, f));
    EXPECT_THAT(test::operators(f.graph), ElementsAre("FullyConnected", "GeluTanh"));
  }
}

TEST(FuseGelu, KeepsOtherFunctions) {
  const auto scaled_erf = [](Formula& f, float scale) {
    return f.erf(f.mul(f.x, f.number(scale)));
  };
  const Write ways[] = {
      // A different constant.
      [&](Formula& f) { return f.halved(f.add(scaled_erf(f, 0.7073F), f.number(1))); },
      [&](Formula& f) { return f.halved(f.add(scaled_erf(f, kSqrtHalf), f.number(1.001F))); },
      [](Formula& f) { return f.mul(f.mul(f.x, f.erf_factor()), f.number(0.501F)); },
      [](Formula& f) { return f.mul(f.x, f.erf_factor()); },
      [](Formula& f) { return f.halved(f.tanh_factor(f.with_cube(f.pow(f.x, 3)), 0.8F)); },
      [](Formula& f) { return f.halved(f.tanh_factor(f.with_cube(f.pow(f.x, 3), 0.0448F))); },
      // A different power, function or operator.
      [](Formula& f) { return f.halved(f.tanh_factor(f.with_cube(f.pow(f.x, 2)))); },
      [](Formula& f) { return f.mul(f.mul(f.mul(f.x, f.x), f.erf_factor()), f.number(0.5F)); },
      [](Formula& f) { return f.mul(f.mul(f.erf_factor(), f.erf_factor()), f.number(0.5F)); },
      [](Formula& f) {
        return f.halved(f.add(f.tanh(f.mul(f.x, f.number(kSqrtHalf))), f.number(1)));
      },
      [](Formula& f) { return f.halved(f.add(f.erf(f.x), f.number(1))); },
      [](Formula& f) { return f.div(f.number(0.5F), f.mul(f.x, f.erf_factor())); },
      // A factor other than x.
      [](Formula& f) {
        const ValueId other = f.tanh(f.x);
        return f.mul(f.mul(other, f.erf_factor()), f.number(0.5F));
      },
      [](Formula& f) {
        const ValueId each = f.graph.add_constant("each", test::random_tensor({4}, 3));
        return f.mul(f.mul(f.x, f.erf_factor()), each);
      },
      // An extra axis.
      [](Formula& f) {
        return f.mul(f.mul(f.x, f.erf_factor()), f.number(0.5F, {1, 1, 1}));
      },
      // A function on the path.
      [](Formula& f) {
        const ir::Binary relu{BinaryKind::kMul, {ActivationKind::kRelu}};
        return f.mul(f.node(relu, {f.x, f.erf_factor()}), f.number(0.5F));
      },
  };
  for (std::size_t i = 0; i < std::size(ways); ++i) {
    Formula f;
    EXPECT_FALSE(fuses(ways[i], f)) << "way " << i;
  }
}

TEST(FuseGelu, KeepsValuesWithOtherReaders) {
  // Each intermediate value in turn has another reader or is a graph output.
  for (std::size_t i = 0; i < 4; ++i) {
    for (const bool is_output : {false, true}) {
      Formula f;
      const ValueId scaled = f.mul(f.x, f.number(kSqrtHalf));
      const ValueId erf = f.erf(scaled);
      const ValueId sum = f.add(erf, f.number(1));
      const ValueId product = f.mul(f.x, sum);
      f.graph.add_output(f.mul(product, f.number(0.5F)));
      const ValueId between = std::vector{scaled, erf, sum, product}[i];
      f.graph.add_output(is_output ? between : f.apply(ActivationKind::kRelu, between));
      EXPECT_FALSE(test::run_checked(f.graph, fuse_gelu)) << i << " " << is_output;
    }
  }
}

TEST(FuseGelu, ItsInputMayHaveOtherReaders) {
  Formula f;
  f.graph.add_output(f.x);
  EXPECT_TRUE(fuses([](Formula& g) { return g.add(g.halved(g.erf_factor()), g.x); }, f));
  EXPECT_THAT(test::operators(f.graph), ElementsAre("FullyConnected", "Gelu", "Add"));
}

TEST(FuseGelu, OneMayFollowAnother) {
  Formula f;
  const auto two = [](Formula& g) {
    g.x = g.halved(g.erf_factor());
    g.x = g.halved(g.tanh_factor(g.with_cube(g.pow(g.x, 3))));
    return g.halved(g.erf_factor());
  };
  EXPECT_TRUE(fuses(two, f));
  EXPECT_THAT(test::operators(f.graph), ElementsAre("FullyConnected", "Gelu", "GeluTanh", "Gelu"));
}

TEST(FuseGelu, IsSafeOnRandomGraphs) { test::expect_safe_on_random_graphs(fuse_gelu); }

}  // namespace
}  // namespace halftone::passes
