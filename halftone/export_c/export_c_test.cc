// SPDX-License-Identifier: Apache-2.0
// What exports refuse, what they say, and what stays the same.
#include <gmock/gmock.h>

#include <algorithm>

#include "halftone/export_c/requantizing.h"
#include "halftone/export_c/testing.h"
#include "halftone/export_c/texts.h"
#include "halftone/ir/testing.h"
#include "halftone/kernels/encode/linear_codes.h"

namespace halftone::export_c {
namespace {

using ir::ElementType;
using ir::ValueId;
using ir::test::float_type;
using ::testing::HasSubstr;

ir::Graph dense(const std::string& name = "dense") {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", float_type({ir::kBatch, 3}));
  const ValueId w = graph.add_constant("w", ir::test::counting({2, 3}));
  graph.add_output(graph.add_node(name, ir::FullyConnected{}, {x, w}));
  return graph;
}

const std::string& file(const CSources& sources, const std::string& name) {
  return std::ranges::find(sources.files, name, &CFile::name)->text;
}

void expect_refused(const std::string& text, const ir::Graph& graph) {
  expect_error(ErrorKind::kUnsupported, text, [&] { export_network(graph, {}); });
}

TEST(ExportC, RefusesNamesAndNumbers) {
  for (const char* name : {"", "2net", "a-b", "while", "main", "ht_net", "n\xc3\xa4her"}) {
    expect_error(ErrorKind::kUsage, "expected a C identifier",
                 [&] { export_network(dense(), {.name = name}); });
  }
  for (const std::uint64_t vectors : {0U, 101U}) {
    expect_error(ErrorKind::kUsage, "vectors: expected 1 to 100",
                 [&] { export_network(dense(), {.vectors = vectors}); });
  }
}

TEST(ExportC, RefusesAnArenaAboveTheLimit) {
  // An input of 12 bytes, an output of 8 behind it at the next multiple of 64.
  EXPECT_EQ(export_network(dense(), {.ram_bytes = 72}).report.arena_bytes, 72U);
  expect_error(ErrorKind::kUnsupported,
               "the arena takes 72 bytes, allowed are 71: most live at 'dense' (20 bytes)",
               [] { export_network(dense(), {.ram_bytes = 71}); });
}

TEST(ExportC, NamesTheOperatorThatItLacks) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", float_type({1, 3}));
  graph.add_output(graph.add_node("ranks", ir::CumSum{}, {x}));
  expect_refused("node 'ranks' (CumSum): C has no kernel for it; quantize", graph);
  expect_refused("state", ir::test::running_sum());

  graph = {};
  const ValueId bytes = graph.add_input("x", ir::dense_type(ElementType::kUint8, {1, 3}));
  graph.add_output(graph.add_node("y", ir::DequantizeLinear{{{0.5F}, {3}}}, {bytes}));
  expect_refused("node 'y' (DequantizeLinear): C has no kernel for the input uint8[1, 3]", graph);

  graph = {};
  graph.add_output(graph.add_input("x", ir::dense_type(ElementType::kUint8, {1, 3})));
  expect_refused("value 'x': C programs have no values of uint8", graph);

  graph = {};
  graph.add_input("x", float_type({1, 3}));
  graph.add_output(graph.add_constant("c", ir::test::counting({1, 3})));
  expect_refused("output 'c': C programs have no outputs that are constant", graph);
}

TEST(ExportC, RefusesZeroPointsOfWeights) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::dense_type(ElementType::kInt8, {1, 3}));
  const ValueId w = graph.add_constant("w", ir::test::counting({2, 3}).cast(ElementType::kInt8));
  ir::FullyConnected op;
  op.zero_points.w = {1};
  const ValueId sums = graph.add_node("dense", op, {x, w});
  graph.add_output(graph.add_node("codes", ir::Requantize{{0.5}}, {sums}));
  expect_refused("node 'dense' (FullyConnected): C has no kernel for zero points of weights",
                 graph);
  graph.set_outputs({sums});
  expect_refused("sums that do not become codes", graph);
}

TEST(ExportC, GivesTheSameBytesAndReadableText) {
  const CSources once = export_network(dense("a */ \"b\""), {.name = "digits"});
  const CSources again = export_network(dense("a */ \"b\""), {.name = "digits"});
  for (std::size_t i = 0; i < once.files.size(); ++i) {
    EXPECT_EQ(once.files[i].text, again.files[i].text);
    EXPECT_THAT(once.files[i].text.substr(0, once.files[i].text.find('\n')), HasSubstr(kMark));
  }
  EXPECT_THAT(file(once, "digits.c"),
              HasSubstr("/* Layer 0, 'a *? \"b\"': FullyConnected,\n   float32[1, 3] -> "
                        "float32[1, 2]. */\nstatic void digits_layer_0(digits_state *net) {"));
  EXPECT_THAT(file(once, "digits.h"), HasSubstr("#define DIGITS_ARENA_BYTES 72"));
  EXPECT_THAT(file(once, "digits_weights.c"),
              HasSubstr("const float digits_weights_0[6] = {\n  0x0p+0f, 0x1p+0f, 0x1p+1f,"));
  const v0::CExport& report = once.report;
  ASSERT_EQ(report.layers.size(), 1U);
  EXPECT_EQ(report.weight_bytes, 6 * 4U + 2 * 4U);
  EXPECT_EQ(report.layers[0].kernel, "ht_dense_f32");
}

TEST(ExportC, TextsNeedNothingThatIsNotThere) {
  for (const EmbeddedText& text : kernel_texts()) {
    const auto all = with_needs({std::string(text.name)});
    EXPECT_EQ(all.back()->name, text.name);
    EXPECT_EQ(body_of(text).find("needs:"), std::string_view::npos);
  }
  expect_error(ErrorKind::kInternal, "no C text 'nothing'", [] { with_needs({"nothing"}); });
}

class ExportCPrograms : public testing::WithPrograms {};

TEST_F(ExportCPrograms, CallTheHook) {
  expect_runs(export_network(dense(), {.vectors = 1}),
              "'-DNET_HOOK(i,n)=((void)__builtin_printf(\"%d %s;\",(i),(n)))'");
  std::string line;
  std::getline(std::ifstream(path("c/out")), line);
  EXPECT_EQ(line, "0 dense;1 runs, 0 wrong outputs");
}

TEST(Requantizing, IntegersGiveTheCodesOfFloat64) {
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    ir::Requantize op{{std::exp2(-3 - 14 * random.uniform())}};
    op.zero_point = static_cast<std::int32_t>(random.below(256)) - 128;
    op.rounding = i % 2 == 0 ? ir::CodeRounding::kHalfAway : ir::CodeRounding::kHalfEven;
    const auto found = codes_of_sums(op);
    ASSERT_TRUE(found);
    const Multiplier m{found->mantissas[0], found->shifts[0]};
    const kernels::Requantization how(
        op.multipliers, {op.zero_point, op.low, op.high},
        i % 2 == 0 ? kernels::SumRounding::kHalfAway : kernels::SumRounding::kHalfEven);
    std::vector<std::int32_t> x;
    for (int k = 0; k < 1000; ++k) {
      x.push_back(static_cast<std::int32_t>(random.next()) >> random.below(31));
    }
    std::vector<std::int8_t> q(x.size());
    kernels::requantize_reference(x, how, std::span<std::int8_t>(q));
    for (std::size_t k = 0; k < x.size(); ++k) {
      const std::int64_t rounded = rounded_once(x[k], m);
      EXPECT_EQ(std::clamp<std::int64_t>(rounded + op.zero_point, op.low, op.high), q[k]);
    }
  }
}

TEST(Requantizing, RefusesWhatBoundsDoNotReach) {
  for (const double m : {0x1p-19, 16.0}) {
    ir::Requantize op{{m}};
    op.rounding = ir::CodeRounding::kHalfAway;
    EXPECT_FALSE(codes_of_sums(op));
  }
}

TEST(Requantizing, FindsWhatTablesWereMadeOf) {
  std::vector<std::int32_t> table;
  for (std::int32_t q = -128; q < 128; ++q) table.push_back(q * q);
  EXPECT_FALSE(sum_operand(table));
  std::ranges::fill(table, 1);
  EXPECT_FALSE(sum_operand(table));
}

}  // namespace
}  // namespace halftone::export_c
