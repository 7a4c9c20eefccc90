// SPDX-License-Identifier: Apache-2.0
// Operators that are built from several of a graph; tests/tflite_builtins_test.py compares them
// with LiteRT.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/formats/circle/operator_code.h"
#include "halftone/formats/circle/testing.h"
#include "halftone/ir/open_extents.h"

namespace halftone::formats::circle {
namespace {

using ir::test::elements;
using schema::TensorType;
using testing::ElementsAre;

template <typename T>
FileTensor scalar(TensorType type, T number) {
  return constant_tensor<T>({}, type, {number});
}
FileTensor whole(std::int32_t number) { return scalar(TensorType::INT32, number); }

/// A file of one operator with one input and constants.
std::vector<std::byte> file_of(OperatorCode code, const FileTensor& input,
                               const std::vector<FileTensor>& constants, const FileTensor& output,
                               schema::BuiltinOptionsUnion options = {}) {
  FileBuilder file;
  const auto x = file.tensor(input);
  std::vector<std::int32_t> inputs = {x};
  for (const FileTensor& constant : constants) inputs.push_back(file.tensor(constant));
  const auto y = file.computed(code, inputs, output, std::move(options));
  file.ends({x}, {y});
  return file.bytes();
}

void expect_refused(ErrorKind kind, const char* text, const std::vector<std::byte>& file) {
  expect_error(kind, text, [&] { import_circle(file); });
}

TEST(Range, OfTheBatchCountsSamples) {
  FileBuilder file;
  const auto x = file.tensor({{3, 2}});
  auto& input = *file.model().subgraphs[0]->tensors[0];
  input.shape_signature = {-1, 2};
  const auto shape = file.computed(OperatorCode::kShape, {x}, {{2}, TensorType::INT32});
  const auto count = file.computed(
      OperatorCode::kStridedSlice,
      {shape, file.tensor(integers({0})), file.tensor(integers({1})), file.tensor(integers({1}))},
      {{1}, TensorType::INT32});
  const auto limit = file.computed(OperatorCode::kSqueeze, {count}, {{}, TensorType::INT32});
  const auto y =
      file.computed(OperatorCode::kRange, {file.tensor(whole(0)), limit, file.tensor(whole(1))},
                    {{3}, TensorType::INT32});
  file.ends({x}, {y});
  ir::Graph graph = import_circle(file.bytes());
  ir::fill_in_extents(graph, {{input.name + "_0", 4}});
  const auto outputs =
      run_reference(graph, ir::test::list(floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})));
  EXPECT_THAT(elements<std::int32_t>(outputs[0]), ElementsAre(0, 1, 2, 3));
}

TEST(Range, RefusesEndsOutOfRange) {
  const auto range = [](const FileTensor& start, const FileTensor& limit, const FileTensor& step) {
    FileBuilder file;
    const auto x = file.tensor({{1}});
    const auto y = file.computed(OperatorCode::kRange,
                                 {file.tensor(start), file.tensor(limit), file.tensor(step)},
                                 {{2}, start.type});
    file.ends({x}, {y});
    return file.bytes();
  };
  expect_refused(ErrorKind::kFormat, "a step other than 0", range(whole(0), whole(2), whole(0)));
  expect_refused(ErrorKind::kFormat, "at most 2^24 elements",
                 range(whole(0), whole(1 << 30), whole(1)));
  expect_refused(ErrorKind::kFormat, "three numbers of one type",
                 range(whole(0), scalar(TensorType::FLOAT32, 2.0F), whole(1)));
  const FileTensor byte = scalar(TensorType::INT8, std::int8_t{1});
  expect_refused(ErrorKind::kUnsupported, "expected float32 or integers of 32 or 64 bits",
                 range(byte, byte, byte));
}

TEST(Range, RefusesComputedStepsAndFloats) {
  const FileTensor number{{}, TensorType::INT32};
  const FileTensor real{{}, TensorType::FLOAT32};
  expect_refused(
      ErrorKind::kUnsupported, "ends that the network computes: expected integers of 32 or 64 bits",
      file_of(OperatorCode::kRange, real,
              {scalar(TensorType::FLOAT32, 2.0F), scalar(TensorType::FLOAT32, 1.0F)}, real));
  FileBuilder steps;
  const auto step = steps.tensor(number);
  const auto list =
      steps.computed(OperatorCode::kRange, {steps.tensor(whole(0)), steps.tensor(whole(4)), step},
                     {{2}, TensorType::INT32});
  steps.ends({step}, {list});
  expect_refused(ErrorKind::kUnsupported, "which is an input of the network", steps.bytes());
  FileBuilder file;
  const auto x = file.tensor(number);
  const auto y =
      file.computed(OperatorCode::kRange, {file.tensor(whole(0)), x, file.tensor(whole(-1))},
                    {{2}, TensorType::INT32});
  file.ends({x}, {y});
  expect_refused(ErrorKind::kUnsupported, "a step of at least 1", file.bytes());
}

TEST(BroadcastArgs, RefusesShapesThatDoNotFitOrAreComputed) {
  const FileTensor extents{{2}, TensorType::INT32};
  FileBuilder file;
  const auto x = file.tensor({{1}});
  const auto y =
      file.computed(OperatorCode::kBroadcastArgs,
                    {file.tensor(integers({2, 3})), file.tensor(integers({2, 4}))}, extents);
  file.ends({x}, {y});
  expect_refused(ErrorKind::kFormat, "the shapes do not broadcast", file.bytes());
  expect_refused(ErrorKind::kUnsupported, "shapes that do not depend on data",
                 file_of(OperatorCode::kBroadcastArgs, extents, {integers({2, 4})}, extents));
}

TEST(Dilate, RefusesDistancesOutOfRange) {
  const FileTensor zero = scalar(TensorType::FLOAT32, 0.0F);
  expect_refused(ErrorKind::kFormat, "a distance for each axis",
                 file_of(OperatorCode::kDilate, {{2, 2}}, {integers({2}), zero}, {{3, 2}}));
  expect_refused(ErrorKind::kFormat, "a distance is out of range",
                 file_of(OperatorCode::kDilate, {{2, 2}}, {integers({0, 1}), zero}, {{1, 2}}));
}

TEST(ReverseSequence, NeedsOptions) {
  expect_refused(ErrorKind::kFormat, "has no options",
                 file_of(OperatorCode::kReverseSequence, {{2, 2}}, {integers({1, 2})}, {{2, 2}}));
}

TEST(FakeQuant, RoundsToANarrowRange) {
  schema::FakeQuantOptionsT options;
  options.min = -1;
  options.max = 1;
  options.num_bits = 2;
  options.narrow_range = true;
  const auto file = file_of(OperatorCode::kFakeQuant, {{5}}, {}, {{5}}, united(options));
  // Codes 1 to 3: steps of 1 from -1.
  const auto outputs =
      run_reference(import_circle(file), ir::test::list(floats({5}, {-3, -0.6F, 0.4F, 0.5F, 9})));
  EXPECT_THAT(elements<float>(outputs[0]), ElementsAre(-1, -1, 0, 1, 1));
  options.min = 0.5F;
  expect_refused(ErrorKind::kFormat, "a range that holds 0, and 2 to 16 bits",
                 file_of(OperatorCode::kFakeQuant, {{5}}, {}, {{5}}, united(options)));
  expect_refused(ErrorKind::kFormat, "has no options",
                 file_of(OperatorCode::kFakeQuant, {{5}}, {}, {{5}}));
}

TEST(Bucketize, RefusesBoundariesThatDoNotAscend) {
  schema::BucketizeOptionsT options;
  options.boundaries = {2, 1};
  expect_refused(
      ErrorKind::kFormat, "ascending boundaries",
      file_of(OperatorCode::kBucketize, {{2}}, {}, {{2}, TensorType::INT32}, united(options)));
}

TEST(LocalNormalization, NeedsARadius) {
  schema::LocalResponseNormalizationOptionsT options;
  options.radius = -1;
  expect_refused(ErrorKind::kFormat, "a radius of at least 0",
                 file_of(OperatorCode::kLocalResponseNormalization, {{1, 1, 1, 2}}, {},
                         {{1, 1, 1, 2}}, united(options)));
}

TEST(Fourier, AlongTheBatchHasThatOfTheFile) {
  FileBuilder file;
  const auto x = file.tensor({{2, 4}});
  file.model().subgraphs[0]->tensors[0]->shape_signature = {-1, 4};
  const auto wave = file.computed(OperatorCode::kRfft2d, {x, file.tensor(integers({2, 4}))},
                                  {{2, 3}, TensorType::COMPLEX64});
  const auto y = file.computed(OperatorCode::kReal, {wave}, {{2, 3}});
  file.ends({x}, {y});
  const ir::Graph graph = import_circle(file.bytes());
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (ir::Shape{2, 3}));
}

TEST(Dilate, AlongTheBatchHasThatOfTheFile) {
  FileBuilder file;
  const auto x = file.tensor({{2}});
  file.model().subgraphs[0]->tensors[0]->shape_signature = {-1};
  const auto y = file.computed(
      OperatorCode::kDilate,
      {x, file.tensor(integers({2})), file.tensor(scalar(TensorType::FLOAT32, 7.0F))}, {{3}});
  file.ends({x}, {y});
  const auto outputs =
      run_reference(import_circle(file.bytes()), ir::test::list(floats({2}, {1, 2})));
  EXPECT_THAT(elements<float>(outputs[0]), ElementsAre(1, 7, 2));
}

TEST(Segments, SumRowsOfTheBatchOfTheFile) {
  FileBuilder file;
  const auto x = file.tensor({{2}});
  const auto ids = file.tensor({{2}, TensorType::INT32});
  for (const std::size_t i : {0U, 1U}) {
    file.model().subgraphs[0]->tensors[i]->shape_signature = {-1};
  }
  const auto y = file.computed(OperatorCode::kSegmentSum, {x, ids}, {{1}});
  file.ends({x, ids}, {y});
  EXPECT_EQ(import_circle(file.bytes()).definitions().size(), 1U);
}

TEST(Segments, RefuseIndicesThatDoNotFit) {
  using enum OperatorCode;
  expect_refused(ErrorKind::kFormat, "a segment for each row of [2, 3]",
                 file_of(kSegmentSum, {{2, 3}}, {integers({0, 1, 1})}, {{2, 3}}));
  expect_refused(ErrorKind::kFormat, "a segment is negative",
                 file_of(kSegmentSum, {{2, 3}}, {integers({-1, -1})}, {{2, 3}}));
  expect_refused(ErrorKind::kFormat, "a count of segments",
                 file_of(kUnsortedSegmentMax, {{2}}, {integers({0, 1}), whole(-1)}, {{2}}));
  expect_refused(
      ErrorKind::kFormat, "segments of the leading axes",
      file_of(kUnsortedSegmentMax, {{1}},
              {constant_tensor<std::int32_t>({1, 1}, TensorType::INT32, {0}), whole(1)}, {{1}}));
  expect_refused(ErrorKind::kFormat, "expected numbers",
                 file_of(kUnsortedSegmentMax, {{1}, TensorType::BOOL}, {integers({0}), whole(1)},
                         {{1}, TensorType::BOOL}));
}

TEST(SparseToDense, RefusesIndicesOfManyAxes) {
  const FileTensor one = scalar(TensorType::FLOAT32, 1.0F);
  expect_refused(ErrorKind::kFormat, "indices of at most two axes",
                 file_of(OperatorCode::kSparseToDense, {{1, 1, 1}, TensorType::INT32},
                         {integers({2}), one, one}, {{2}}));
}

TEST(Diagonals, RefuseExtentsThatDoNotFit) {
  using enum OperatorCode;
  expect_refused(ErrorKind::kFormat, "at least one axis", file_of(kMatrixDiag, {{}}, {}, {{1, 1}}));
  expect_refused(ErrorKind::kFormat, "a matrix of at most 2^24 elements",
                 file_of(kMatrixDiag, {{5000}}, {}, {{5000, 5000}}));
  const auto diagonal = [](Ints shape, std::vector<float> numbers) {
    return constant_tensor<float>(std::move(shape), TensorType::FLOAT32, numbers);
  };
  expect_refused(ErrorKind::kFormat, "matrices and a diagonal of each",
                 file_of(kMatrixSetDiag, {{2, 2}}, {diagonal({1, 2}, {1, 2})}, {{2, 2}}));
  expect_refused(ErrorKind::kFormat, "the diagonals do not fit [2, 2]",
                 file_of(kMatrixSetDiag, {{2, 2}}, {diagonal({1}, {1})}, {{2, 2}}));
}

TEST(MirrorPad, RefusesMoreThanTheElements) {
  schema::MirrorPadOptionsT options;
  options.mode = schema::MirrorPadMode::SYMMETRIC;
  const FileTensor pads = constant_tensor<std::int32_t>({1, 2}, TensorType::INT32, {0, 3});
  expect_refused(ErrorKind::kFormat, "more padding than the elements of [2]",
                 file_of(OperatorCode::kMirrorPad, {{2}}, {pads}, {{5}}, united(options)));
}

TEST(Gather, RefusesMoreSharedAxesThanThereAre) {
  schema::GatherOptionsT options;
  options.axis = 1;
  options.batch_dims = 2;
  expect_refused(
      ErrorKind::kFormat, "batch_dims: expected at most the axis",
      file_of(OperatorCode::kGather, {{1, 1}}, {integers({0})}, {{1, 1}}, united(options)));
}

/// A transform of [2, 4] and what reads it.
std::vector<std::byte> transform(const Ints& lengths, OperatorCode reader,
                                 schema::BuiltinOptionsUnion options = {}) {
  FileBuilder file;
  const auto x = file.tensor({{2, 4}});
  const auto wave = file.computed(OperatorCode::kRfft2d, {x, file.tensor(integers(lengths))},
                                  {{2, 3}, TensorType::COMPLEX64});
  const auto y = file.computed(reader, {wave}, {{2, 3}}, std::move(options));
  file.ends({x}, {y});
  return file.bytes();
}

TEST(Fourier, TransformsAnImpulseToAWave) {
  const ir::Tensor impulse = floats({2, 4}, {0, 1, 0, 0, 0, 0, 0, 0});
  // e^(-2 pi i k / 4): 1, -i, -1 in each row.
  const auto part = [&](OperatorCode code) {
    return elements<float>(
        run_reference(import_circle(transform({2, 4}, code)), ir::test::list(impulse.clone()))[0]);
  };
  EXPECT_THAT(part(OperatorCode::kReal), ElementsAre(1, 0, -1, 1, 0, -1));
  EXPECT_THAT(part(OperatorCode::kImag), ElementsAre(0, -1, 0, 0, -1, 0));
  EXPECT_THAT(part(OperatorCode::kComplexAbs), ElementsAre(1, 1, 1, 1, 1, 1));
}

TEST(Fourier, MayHaveManyPointsInASmallFile) {
  FileBuilder file;
  const auto x = file.tensor({{512, 512}});
  const auto wave = file.computed(OperatorCode::kRfft2d, {x, file.tensor(integers({512, 512}))},
                                  {{512, 257}, TensorType::COMPLEX64});
  file.ends({x}, {file.computed(OperatorCode::kComplexAbs, {wave}, {{512, 257}})});
  const std::vector<std::byte> bytes = file.bytes();
  EXPECT_LT(bytes.size(), 4096U);
  const ir::Graph graph = import_circle(bytes);
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (ir::Shape{512, 257}));
}

TEST(Fourier, RefusesOtherUsesOfComplexNumbers) {
  expect_refused(ErrorKind::kUnsupported, "complex numbers of this operator",
                 transform({2, 4}, OperatorCode::kAbs));
  expect_refused(ErrorKind::kFormat, "two lengths of 1 to 2^16",
                 transform({2}, OperatorCode::kReal));
  expect_refused(ErrorKind::kFormat, "expected complex numbers that are computed",
                 file_of(OperatorCode::kReal, {{2, 3}}, {}, {{2, 3}}));
}

TEST(Importer, NamesTablesOfStringsAndRandomNumbers) {
  expect_refused(ErrorKind::kUnsupported, "unsupported operators: HASHTABLE_FIND",
                 file_of(OperatorCode{137}, {{1}}, {}, {{1}}));
  expect_refused(ErrorKind::kUnsupported, "unsupported operators: RANDOM_UNIFORM",
                 file_of(OperatorCode{148}, {{1}}, {}, {{1}}));
}

}  // namespace
}  // namespace halftone::formats::circle
