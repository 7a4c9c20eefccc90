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
  expect_error(ErrorKind::kUsage, "core: expected cortex-m0, cortex-m3",
               [] { export_network(dense(), {.core = "z80"}); });
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
  graph = {};
  graph.add_output(graph.add_input("x", ir::dense_type(ElementType::kInt16, {1, 3})));
  expect_refused("value 'x': C programs have no values of int16", graph);

  graph = {};
  graph.add_input("x", float_type({1, 3}));
  graph.add_output(graph.add_constant("c", ir::test::counting({1, 3})));
  expect_refused("output 'c': C programs have no outputs that are constant", graph);
}

TEST(ExportC, RefusesSumsThatDoNotBecomeCodes) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::dense_type(ElementType::kInt8, {1, 3}));
  const ValueId w = graph.add_constant("w", ir::test::counting({2, 3}).cast(ElementType::kInt8));
  const ValueId sums = graph.add_node("dense", ir::FullyConnected{}, {x, w});
  graph.add_output(sums);
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

TEST(ExportC, HeadersSayWhatCodesMean) {
  // q = round(x / 0.5) + 3, transposed to and fro, which keeps scales.
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::dense_type(ElementType::kInt8, {1, 2, 3}));
  const ValueId turned = graph.add_node("turned", ir::Transpose{{0, 2, 1}}, {x});
  const ir::AffineParameters scales{{0.5F}, {-3}};
  graph.add_output(turned);
  graph.add_output(graph.add_node("floats", ir::DequantizeLinear{scales}, {turned}));
  const BorderCodes codes = border_codes(graph);
  EXPECT_EQ(codes.inputs, std::vector{std::optional(scales)});
  EXPECT_EQ(codes.outputs, (std::vector{std::optional(scales), {}}));

  const CSources sources = export_network(graph, {}, codes);
  EXPECT_THAT(
      file(sources, "net.h"),
      HasSubstr("/* Input 'x': int8[1, 2, 3],\n   value = scale * (code - zero point), scale "
                "0.5. */\n#define NET_INPUT_0_SIZE 6\n"
                "#define NET_INPUT_0_SCALE 0x1p-1f\n#define NET_INPUT_0_ZERO_POINT (-3)\n"));
  EXPECT_THAT(file(sources, "net.h"), HasSubstr("#define NET_OUTPUT_0_ZERO_POINT (-3)\n"));
  EXPECT_EQ(file(sources, "net.h").find("OUTPUT_1_SCALE"), std::string::npos);
  const v0::CPort& port = sources.report.inputs.at(0);
  EXPECT_EQ(port.type, "int8");
  EXPECT_EQ(port.shape, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(port.scale, 0.5);
  EXPECT_EQ(port.zero_point, -3);
  EXPECT_EQ(sources.report.outputs.at(1).scale, 0);
}

TEST(ExportC, TextsNeedNothingThatIsNotThere) {
  for (const EmbeddedText& text : kernel_texts()) {
    const auto all = with_needs({std::string(text.name)});
    EXPECT_EQ(all.back()->name, text.name);
    EXPECT_EQ(body_of(text).find("needs:"), std::string_view::npos);
  }
  expect_error(ErrorKind::kInternal, "no C text 'nothing'", [] { with_needs({"nothing"}); });
}

/// States that become each other's old values.
ir::Graph exchange() {
  ir::Graph graph;
  const ValueId a = graph.add_input("a", float_type({2}));
  const ValueId b = graph.add_input("b", float_type({2}));
  graph.tie(a, graph.add_node("to_a", ir::Reshape{{2}}, {b}));
  graph.tie(b, graph.add_node("to_b", ir::Reshape{{2}}, {a}));
  return graph;
}

TEST(ExportC, RefusesStatesThatExchangeTheirValues) {
  expect_refused("state 'a': C programs have no states that exchange their values", exchange());
}

class ExportCPrograms : public testing::WithPrograms {};

/// y = x before that before x. States move on one by one, the first to an input.
ir::Graph delay_line() {
  ir::Graph line;
  const ValueId x = line.add_input("x", float_type({3}));
  const ValueId last = line.add_input("last", float_type({3}));
  const ValueId one_before = line.add_input("one_before", float_type({3}));
  line.add_output(line.add_node("y", ir::Binary{ir::BinaryKind::kSub, {}}, {x, one_before}));
  line.tie(last, line.add_node("keep", ir::Reshape{{3}}, {x}));
  line.tie(one_before, line.add_node("move", ir::Reshape{{3}}, {last}));
  return line;
}

TEST_F(ExportCPrograms, RememberStates) {
  for (const bool pointers : {false, true}) {
    const v0::ExportCOptions options{.vectors = 5, .pointers = pointers};
    const CSources sources = export_network(ir::test::running_sum(), options);
    EXPECT_EQ(sources.report.inputs.size(), 1U);
    EXPECT_EQ(sources.report.outputs.size(), 1U);
    EXPECT_THAT(file(sources, "net.h"), HasSubstr("void net_reset(net_state *net);"));
    expect_runs(sources);
    expect_runs(export_network(delay_line(), options));
  }
}

/// Outputs that are an input, a state or another output.
TEST_F(ExportCPrograms, CopyOutputsThatShareMemory) {
  ir::Graph graph = delay_line();
  const ir::State first = graph.states()[0];
  graph.add_output(graph.add_node("old", ir::Reshape{{1, 3}}, {graph.states()[1].before}));
  graph.add_output(graph.add_node("new", ir::Reshape{{3, 1}}, {first.after}));
  graph.add_output(graph.inputs()[0]);
  graph.add_output(graph.add_node("again", ir::Reshape{{1, 1, 3}}, {graph.outputs()[0]}));
  for (const bool pointers : {false, true}) {
    expect_runs(export_network(graph, {.vectors = 5, .pointers = pointers}));
  }
}

/// A state that no layer reads, of a type that no other value has, and one that stays zero.
TEST_F(ExportCPrograms, RememberWhatNoLayerReads) {
  ir::Graph graph;
  const ValueId wide = graph.add_input("wide", ir::dense_type(ir::ElementType::kInt64, {2}));
  graph.tie(wide, graph.add_node("keep", ir::Reshape{{2}}, {wide}));
  const auto bytes = ir::dense_type(ir::ElementType::kUint8, {1, 3});
  const ValueId x = graph.add_input("x", bytes);
  const ValueId zeros = graph.add_input("zeros", bytes);
  const ValueId flat = graph.add_node("flat", ir::Reshape{{1, 3}}, {x});
  graph.add_output(graph.add_node("y", ir::Concat{1}, {flat, zeros}));
  graph.tie(zeros, flat);
  graph.set_outputs({graph.outputs()[0], graph.outputs()[1]});
  ASSERT_EQ(graph.states()[1].after, ir::kAbsent);
  expect_runs(export_network(graph, {.vectors = 3}));
}

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
