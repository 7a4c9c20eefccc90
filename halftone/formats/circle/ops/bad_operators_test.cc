// SPDX-License-Identifier: Apache-2.0
// Single operators with parameters that are invalid or not supported.
#include <flatbuffers/flexbuffers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/exporter.h"
#include "halftone/formats/circle/operator_code.h"
#include "halftone/formats/circle/testing.h"

namespace halftone::formats::circle {
namespace {

using ir::kBatch;
using schema::TensorType;

/// The error for an operator with inputs tensor 0, float32 [2, 4], and `parameters`, and with
/// `outputs` outputs [2, 4].
Error error_for(OperatorCode code, const std::vector<FileTensor>& parameters,
                schema::BuiltinOptionsUnion options = {}, std::int32_t outputs = 1,
                const Ints& shape = {2, 4}) {
  std::vector<FileTensor> tensors = {{shape}};
  Ints reads = {0};
  for (const FileTensor& each : parameters) {
    reads.push_back(static_cast<std::int32_t>(tensors.size()));
    tensors.push_back(each);
  }
  Ints writes;
  for (std::int32_t i = 0; i < outputs; ++i) {
    writes.push_back(static_cast<std::int32_t>(tensors.size()));
    tensors.push_back({shape});
  }
  if (code == OperatorCode::kSplit) std::swap(reads[0], reads[1]);
  const auto model =
      one_operator(static_cast<std::int32_t>(code), tensors, reads, writes, std::move(options));
  return error_of([&] { import_circle(packed(model)); });
}

void expect_error(const Error& error, ErrorKind kind, const char* text) {
  halftone::expect_error(kind, text, [&] { throw Error(error); });
}

TEST(BadReshape, IsRefused) {
  using enum OperatorCode;
  expect_error(error_for(kReshape, {}), ErrorKind::kFormat, "has no new shape");
  expect_error(error_for(kReshape, {integers(Ints(33, 1))}), ErrorKind::kFormat,
               "the new shape has too many axes");
  expect_error(error_for(kReshape, {integers({3, 4})}), ErrorKind::kShape, "cannot reshape [2, 4]");
  expect_error(error_for(kReshape, {integers(Ints(5000, 1))}), ErrorKind::kFormat,
               "input 1: expected at most 4096 integers, found 5000");
  expect_error(error_for(kReshape, {constant_tensor<float>({2}, TensorType::FLOAT32, {2, 4})}),
               ErrorKind::kUnsupported, "input 1: expected constant integers");
  schema::SqueezeOptionsT axes;
  axes.squeeze_dims = {1};
  expect_error(error_for(kSqueeze, {}, united(axes)), ErrorKind::kFormat,
               "axis 1 of [2, 4] cannot be squeezed");
  axes.squeeze_dims = {7};
  expect_error(error_for(kSqueeze, {}, united(axes)), ErrorKind::kShape, "axis: expected");
  expect_error(error_for(kExpandDims, {integers({1, 2})}), ErrorKind::kFormat,
               "expected one integer, found 2");
}

TEST(BadSplit, IsRefused) {
  using enum OperatorCode;
  expect_error(error_for(kSplit, {integers({1})}, {}, 3), ErrorKind::kFormat,
               "an extent of 4 is not divisible into 3 equal parts");
  expect_error(error_for(kSplitV, {integers({1, 1}), integers({1})}, {}, 2), ErrorKind::kFormat,
               "parts do not fill an extent of 4");
  expect_error(error_for(kSplitV, {integers({1, 9}), integers({1})}, {}, 2), ErrorKind::kFormat,
               "parts do not fit an extent of 4");
  expect_error(error_for(kSplitV, {integers({9, -1}), integers({1})}, {}, 2), ErrorKind::kFormat,
               "parts do not fit the extent");
  expect_error(error_for(kSplitV, {integers({4}), integers({1})}, {}, 2), ErrorKind::kFormat,
               "expected a size for each of 2 outputs, found 1");
  expect_error(error_for(kUnpack, {}, {}, 3), ErrorKind::kFormat,
               "axis 0 of [2, 4]: expected an extent of 3, one for each output");
}

TEST(BadPack, IsRefused) {
  schema::PackOptionsT last;
  last.axis = 2;
  expect_error(error_for(OperatorCode::kPack,
                         {constant_tensor<float>({1}, TensorType::FLOAT32, {1})}, united(last)),
               ErrorKind::kFormat, "inputs of different ranks");
  expect_error(error_for(OperatorCode::kConcatenation,
                         {constant_tensor<float>({1, 1}, TensorType::FLOAT32, {1})}),
               ErrorKind::kShape, "differ outside the concatenated axis");
}

TEST(BadSlice, IsRefused) {
  using enum OperatorCode;
  expect_error(error_for(kSlice, {integers({0}), integers({1})}), ErrorKind::kFormat,
               "expected a begin and a size for each axis of [2, 4]");
  expect_error(error_for(kSlice, {integers({0, -1}), integers({1, 1})}), ErrorKind::kFormat,
               "begin is out of range");
  expect_error(error_for(kSlice, {integers({0, 2}), integers({1, 3})}), ErrorKind::kFormat,
               "size is out of range");
  expect_error(
      error_for(kStridedSlice, {integers({0, 0, 0}), integers({1, 1, 1}), integers({1, 1, 1})}),
      ErrorKind::kFormat, "expected a begin, an end and a step for the axes of [2, 4]");
  expect_error(error_for(kStridedSlice, {integers({0, 0}), integers({1, 1}), integers({1, 0})}),
               ErrorKind::kFormat, "a begin, end or step is out of range");
  schema::StridedSliceOptionsT masks;
  masks.shrink_axis_mask = 2;
  expect_error(error_for(kStridedSlice, {integers({0, -9}), integers({1, 1}), integers({1, 1})},
                         united(masks)),
               ErrorKind::kFormat, "begin is out of range");
  expect_error(error_for(kStridedSlice, {integers({0, 1}), integers({1, 0}), integers({1, -1})},
                         united(masks)),
               ErrorKind::kUnsupported, "an index with a step that is not positive");
  masks.shrink_axis_mask = 0;
  masks.ellipsis_mask = 3;
  expect_error(error_for(kStridedSlice, {integers({0, 0}), integers({1, 1}), integers({1, 1})},
                         united(masks)),
               ErrorKind::kFormat, "two ellipses");
  masks.ellipsis_mask = 0;
  masks.offset = true;
  expect_error(error_for(kStridedSlice, {integers({0, 0}), integers({1, 1}), integers({1, 1})},
                         united(masks)),
               ErrorKind::kUnsupported, "ends that are distances from the begins");
  masks.offset = false;
  masks.ellipsis_mask = 1;
  expect_error(error_for(kStridedSlice,
                         {integers({0, 0, 0, 0}), integers({1, 1, 1, 1}), integers({1, 1, 1, 1})},
                         united(masks)),
               ErrorKind::kFormat, "expected a begin, an end and a step for the axes of [2, 4]");
}

TEST(BadElementwise, IsRefused) {
  using enum OperatorCode;
  auto model = one_operator(53, {{{2}}, {{2}, TensorType::STRING, {}}}, {0}, {1});
  expect_error(error_of([&] { import_circle(packed(model)); }), ErrorKind::kUnsupported,
               "a cast to STRING");
  schema::LeakyReluOptionsT slope;
  slope.alpha = std::numeric_limits<float>::infinity();
  expect_error(error_for(kLeakyRelu, {}, united(slope)), ErrorKind::kFormat,
               "alpha: expected a finite number");
  expect_error(error_for(kAdd, {constant_tensor<float>({3}, TensorType::FLOAT32, {1, 2, 3})}),
               ErrorKind::kShape, "do not broadcast");
  expect_error(error_for(kTranspose, {integers({0, 0})}), ErrorKind::kShape,
               "expected a permutation");
}

TEST(BadInputs, OfDifferentBatchesHaveExtentsOfTheirOwn) {
  auto model = one_operator(0, {{{1, 4}}, {{2, 4}}, {{2, 4}}}, {0, 1}, {2});
  model.subgraphs[0]->inputs = {0, 1};
  model.subgraphs[0]->tensors[0]->shape_signature = {-1, 4};
  model.subgraphs[0]->tensors[1]->shape_signature = {-1, 4};
  const ir::Graph graph = import_circle(packed(model));
  EXPECT_EQ(graph.value(graph.inputs()[0]).type.to_string(), "float32[t0_0, 4]");
  EXPECT_EQ(graph.value(graph.inputs()[1]).type.to_string(), "float32[t1_0, 4]");
}

TEST(BadInputs, ABatchThatIsUnpackedKeepsTheFilesExtent) {
  auto model = one_operator(static_cast<std::int32_t>(OperatorCode::kUnpack),
                            {{{2, 4}}, {{4}}, {{4}}}, {0}, {1, 2});
  model.subgraphs[0]->tensors[0]->shape_signature = {-1, 4};
  const ir::Graph graph = import_circle(packed(model));
  EXPECT_EQ(graph.value(graph.inputs()[0]).type.shape, (ir::Shape{2, 4}));
}

std::vector<std::byte> flexbuffer(const std::function<void(flexbuffers::Builder&)>& fill) {
  flexbuffers::Builder builder;
  fill(builder);
  builder.Finish();
  const auto bytes = std::as_bytes(std::span(builder.GetBuffer()));
  return {bytes.begin(), bytes.end()};
}

TEST(BadCustomOptions, AreRefused) {
  const auto map = [](const std::function<void(flexbuffers::Builder&)>& fill) {
    return flexbuffer([&](flexbuffers::Builder& b) { b.Map([&] { fill(b); }); });
  };
  const auto expect = [](const std::vector<std::byte>& bytes, ErrorKind kind, const char* text) {
    expect_error(error_of([&] { read_custom_options(bytes); }), kind, text);
  };
  expect(flexbuffer([](auto& b) { b.Int(3); }), ErrorKind::kFormat, "options: expected a map");
  expect(map([](auto& b) { b.Int("version", 3); }), ErrorKind::kUnsupported,
         "options: version: expected 1 to 2, found 3");
  expect(map([](auto& b) { b.String("version", "1"); }), ErrorKind::kFormat,
         "options: version: expected an integer");
  const auto numbers = [](flexbuffers::Builder& b) {
    for (const char* key : {"inputs", "weight_bits", "activation_bits"}) b.Int(key, 1);
    b.Int("version", 1);
  };
  expect(map(numbers), ErrorKind::kFormat, "options: weight_offset: expected true or false");
  expect(map([&](auto& b) {
           numbers(b);
           b.Bool("weight_offset", false);
           b.Bool("activation_offset", false);
           b.String("granularity", "row");
         }),
         ErrorKind::kFormat, "options: granularity: expected tensor, channel or group");
}

TEST(BadExport, IsRefused) {
  const auto error = [](const ir::Shape& input, const ir::Operator& op) {
    ir::Graph graph;
    const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, input));
    graph.add_output(graph.add_node("y", op, {x}));
    return error_of([&] { export_circle(graph, CircleFlavor::kTflite); });
  };
  expect_error(error({kBatch, kBatch, 4}, ir::Reshape{{kBatch, kBatch, 2, 2}}),
               ErrorKind::kUnsupported, "input 'x' of float32[N, N, 4]: expected one batch axis");
  expect_error(error(ir::Shape(std::vector<ir::Dim>(32, 2)), ir::Slice{0, 1, -1, 2}),
               ErrorKind::kUnsupported, "a slice of more than 31 axes");
  const ir::Graph empty;
  Exporter exporter(empty, CircleFlavor::kTflite);
  const std::array<std::int64_t, 1> wide = {std::int64_t{1} << 32};
  expect_error(error_of([&] { exporter.integers(wide); }), ErrorKind::kUnsupported,
               "expected an integer of 32 bits, found 4294967296");
  const Error fused = error_of([] { activation_type({ir::ActivationKind::kSilu, 0, 0}); });
  expect_error(fused, ErrorKind::kUnsupported, "Silu cannot be fused in the file");
}

}  // namespace
}  // namespace halftone::formats::circle
