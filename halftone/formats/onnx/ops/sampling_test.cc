// SPDX-License-Identifier: Apache-2.0
// Windows, signals, grids and selections. The values are those of ONNX 1.23's reference evaluator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::NodeProto;
using testing::FloatNear;
using testing::Pointwise;
using Floats = std::vector<float>;
using Fill = std::function<void(NodeProto&)>;
using Ints = std::vector<std::int64_t>;

/// Six digits were printed, of sums of a few products.
void expect_output(const OperatorCase& test, const Floats& expected) {
  EXPECT_THAT(test.run()[0], Pointwise(FloatNear(2e-6F), expected)) << test.op_type;
}

void refuse(const OperatorCase& test, ErrorKind kind, const std::string& text) {
  expect_failure(test.model(), kind, text);
}

const Operand kImage = pattern({1, 1, 3, 3}, 0);

Fill kernel(const Ints& extents, std::int64_t p) {
  return [=](NodeProto& n) {
    set(n, "kernel_shape", extents);
    set(n, "p", p);
  };
}

TEST(LpPool, IsTheNormOfAWindow) {
  expect_output({"LpPool", {kImage}, kernel({2, 2}, 3)},
                {0.637431F, 0.353035F, 0.57489F, 0.451436F});
  // Squares of the pattern's -5 2 -2 | 5 1 -3 | 4 0 -4, in tenths.
  expect_output({"GlobalLpPool", {kImage}}, {1.0F});
  expect_output({"GlobalLpPool", {kImage}, [](NodeProto& n) { set(n, "p", std::int64_t{1}); }},
                {2.6F});
  // The last window of a ceiling sees one column.
  expect_output({"LpPool",
                 {pattern({1, 1, 3}, 0)},
                 [](NodeProto& n) {
                   set(n, "kernel_shape", Ints{2});
                   set(n, "strides", Ints{2});
                   set(n, "ceil_mode", std::int64_t{1});
                   set(n, "p", std::int64_t{1});
                 }},
                {0.7F, 0.2F});
  refuse({"LpPool", {kImage}, kernel({2, 2}, 0)}, ErrorKind::kFormat,
         "p: expected a number from 1 to 1024, found 0");
  refuse({"LpPool", {kImage}, kernel({2}, 2)}, ErrorKind::kFormat,
         "kernel_shape: expected 2 numbers, found 1");
  refuse({"GlobalLpPool", {pattern({2, 2}, 0)}}, ErrorKind::kShape, "expected an image");
}

TEST(Col2Im, SumsTheColumnsOfAWindow) {
  const Operand columns = pattern({1, 4, 4}, 0);
  expect_output({"Col2Im", {columns, whole({2}, {3, 3}), whole({2}, {2, 2})}},
                {-0.5F, 0.3F, -0.3F, -0.6F, 1.4F, -0.2F, -0.1F, 0, 0.1F});
  refuse({"Col2Im", {columns, whole({2}, {3, 3}), whole({1}, {2})}}, ErrorKind::kShape,
         "extents of an image and of a block");
  refuse({"Col2Im", {columns, whole({2}, {4, 3}), whole({2}, {2, 2})}}, ErrorKind::kShape,
         "expected columns [batch, channels 4, 6], found [1, 4, 4]");
  refuse({"Col2Im",
          {columns, whole({2}, {3, 3}), whole({2}, {2, 2})},
          [](NodeProto& n) { set(n, "strides", Ints{1}); }},
         ErrorKind::kShape, "strides: expected 2 numbers, found 1");
}

Fill flags(const std::vector<std::string>& names) {
  return [=](NodeProto& n) {
    for (const std::string& name : names) set(n, name, std::int64_t{1});
  };
}

TEST(FourierTransform, IsAProduct) {
  const Operand complex = pattern({1, 3, 2}, 0);
  expect_output({"DFT", {complex, whole({}, {4})}},
                {-0.6F, 0.4F, -0.1F, 0.7F, -0.2F, -0.6F, -1.1F, 0.3F});
  expect_output({"DFT", {complex}, flags({"inverse", "onesided"})}, {-0.2F, -0.4F, 0, 0.1F});
  expect_output({"DFT", {pattern({1, 3, 1}, 0)}, flags({"onesided"})},
                {-0.5F, 0, -0.5F, -0.34641F});
  // Operator sets before 20 have the axis as an attribute.
  expect_output({"DFT",
                 {pattern({3, 1}, 0)},
                 [](NodeProto& n) {
                   set(n, "axis", std::int64_t{0});
                   set(n, "onesided", std::int64_t{1});
                 },
                 "",
                 17},
                {-0.5F, 0, -0.5F, -0.34641F});
  expect_output({"STFT", {pattern({1, 5, 1}, 0), whole({}, {2}), pattern({3}, 1)}},
                {0.18F, 0, 0.06F, -0.103923F, 0.3F, 0, -0.09F, -0.207846F});
  refuse({"DFT", {pattern({1, 3}, 0)}}, ErrorKind::kShape, "expected a last axis of 1 (real) or 2");
  refuse({"DFT", {complex, whole({}, {0})}}, ErrorKind::kShape, "a transform of 0 points");
  refuse({"DFT", {complex, absent(), whole({}, {2})}}, ErrorKind::kShape,
         "cannot transform the parts");
  refuse({"STFT", {pattern({1, 1, 5, 1}, 0), whole({}, {2})}}, ErrorKind::kShape,
         "expected [batch, length, parts]");
  refuse({"STFT", {pattern({1, 5, 1}, 0), whole({}, {2}), pattern({6}, 1)}}, ErrorKind::kShape,
         "frames of 6 at steps of 2 do not fit");
  refuse({"STFT", {pattern({1, 5, 1}, 0), whole({}, {2}), pattern({3}, 1), whole({}, {2})}},
         ErrorKind::kUnsupported, "a window that is longer than its frame");
}

TEST(Grids, AreMovedAndRead) {
  expect_output({"AffineGrid", {pattern({1, 2, 3}, 0), whole({4}, {1, 1, 2, 2})}},
                {-0.05F, -0.6F, -0.55F, -0.1F, 0.15F, -0.5F, -0.35F, 0});
  refuse({"AffineGrid", {pattern({1, 2, 2}, 0), whole({4}, {1, 1, 2, 2})}}, ErrorKind::kShape,
         "expected maps [N, 2, 3] or [N, 3, 4]");
  const std::vector<Operand> volume{pattern({1, 1, 2, 2, 2}, 0), pattern({1, 1, 1, 3, 3}, 1)};
  expect_output(
      {"GridSample", volume, [](NodeProto& n) { set(n, "padding_mode", std::string("border")); }},
      {0.172F, 0.1F, 0.006F});
  expect_output({"GridSample", volume,
                 [](NodeProto& n) {
                   set(n, "mode", std::string("nearest"));
                   set(n, "align_corners", std::int64_t{1});
                 }},
                {0.4F, -0.2F, -0.2F});
  refuse({"GridSample", volume, [](NodeProto& n) { set(n, "mode", std::string("cubic")); }},
         ErrorKind::kUnsupported, "volumes with cubic interpolation or reflection");
  refuse({"GridSample", {volume[0], pattern({1, 1, 1, 3, 2}, 1)}}, ErrorKind::kShape,
         "expected a grid [N, d, h, w, 3]");
  refuse({"GridSample", {pattern({1, 1, 3}, 0), pattern({1, 3, 1}, 1)}}, ErrorKind::kUnsupported,
         "expected images of rank 4 or 5");
}

TEST(DeformConv, MovesTheTapsOfAWindow) {
  const std::vector<Operand> inputs{kImage, pattern({1, 1, 2, 2}, 1), pattern({1, 8, 2, 2}, 2),
                                    pattern({1}, 3), pattern({1, 4, 2, 2}, 4)};
  expect_output({"DeformConv", inputs}, {0.36412F, 0.39964F, 0.41478F, 0.4321F});
  refuse({"DeformConv", {kImage, pattern({1, 1, 2, 2}, 1), pattern({1, 4, 2, 2}, 2)}},
         ErrorKind::kShape, "offsets [1, 4, 2, 2] do not fit the window");
  refuse({"DeformConv", {pattern({1, 1, 3}, 0), pattern({1, 1, 2}, 1), pattern({1, 2, 2}, 2)}},
         ErrorKind::kUnsupported, "expected images, weights and offsets of four axes");
}

TEST(CenterCropPad, KeepsTheMiddle) {
  expect_output({"CenterCropPad", {pattern({3, 4}, 0), whole({2}, {5, 1})}},
                {0, 0.2F, -0.3F, 0.3F, 0});
  refuse({"CenterCropPad", {pattern({3, 4}, 0), whole({1}, {5})}}, ErrorKind::kShape,
         "shape: expected 2 extents, found 1");
}

TEST(CumProd, MultipliesInOrder) {
  expect_output({"CumProd", {pattern({5}, 0), whole({}, {0})}, flags({"exclusive", "reverse"})},
                {-0.002F, -0.01F, 0.05F, 0.1F, 1});
  refuse({"CumProd", {pattern({1025}, 0), whole({}, {0})}}, ErrorKind::kUnsupported,
         "expected an axis of 1 to 1024 elements");
}

TEST(SwiGlu, IsAGatedProduct) {
  expect_output({"SwiGLU",
                 {pattern({2, 2}, 0), pattern({2, 2}, 1)},
                 [](NodeProto& n) { set(n, "alpha", 0.5F); }},
                {0.0437823F, 0.0524979F, -0.00950042F, -0.0843265F});
  refuse({"SwiGLU", {pattern({2, 2}, 0), pattern({2}, 1)}}, ErrorKind::kShape,
         "expected two inputs of one shape");
}

/// Tokens 1 and 3, and the pair 1 1, which one token parts.
OperatorCase grams(const std::string& mode, const Ints& columns = {0, 3, 1}) {
  return {"TfIdfVectorizer", {whole({1, 4}, {1, 2, 1, 3})}, [=](NodeProto& n) {
            set(n, "mode", mode);
            set(n, "max_gram_length", std::int64_t{2});
            set(n, "min_gram_length", std::int64_t{1});
            set(n, "max_skip_count", std::int64_t{1});
            set(n, "ngram_counts", Ints{0, 2});
            set(n, "ngram_indexes", columns);
            set(n, "pool_int64s", Ints{1, 3, 1, 1});
            auto& weights = *n.add_attribute();
            weights.set_name("weights");
            weights.set_type(onnx_pb::AttributeProto::FLOATS);
            for (const float w : {2.0F, 1.0F, 5.0F, 4.0F}) weights.add_floats(w);
          }};
}

TEST(TfIdf, CountsRunsOfTokens) {
  expect_output(grams("TFIDF"), {4, 1, 0, 4});
  expect_output(grams("TF"), {2, 1, 0, 1});
  expect_output(grams("IDF"), {2, 1, 0, 4});
  refuse(grams("TF", {0, 1}), ErrorKind::kFormat, "expected a column for each of 3 n-grams");
  refuse(grams("TF", {0, 0, 1}), ErrorKind::kUnsupported, "two n-grams in one column");
  refuse(grams("IDF", {0, 2, 1}), ErrorKind::kFormat, "weights: expected 3, found 4");
  refuse({"TfIdfVectorizer", {whole({1}, {1})}}, ErrorKind::kUnsupported, "n-grams of strings");
  refuse(
      {"TfIdfVectorizer", {pattern({2}, 0)}, [](NodeProto& n) { set(n, "pool_int64s", Ints{1}); }},
      ErrorKind::kShape, "expected integers [tokens] or [batch, tokens]");
  refuse({"TfIdfVectorizer",
          {whole({1}, {1})},
          [](NodeProto& n) {
            set(n, "pool_int64s", Ints{1});
            set(n, "ngram_counts", Ints{0, 0});
          }},
         ErrorKind::kFormat, "ngram_counts: expected the starts of whole n-grams");
  refuse(
      {"TfIdfVectorizer", {whole({1}, {1})}, [](NodeProto& n) { set(n, "pool_int64s", Ints{1}); }},
      ErrorKind::kFormat, "expected n-grams, found none");
}

TEST(Selections, OfConstantsHaveKnownSizes) {
  const auto numbers = OperatorCase{
      "Unique", {whole({5}, {2, 1, 1, 3, 2})}, [](NodeProto& n) {
        set(n, "sorted", std::int64_t{0});
      }}.run(4);
  EXPECT_EQ(numbers, (std::vector<Floats>{{2, 1, 3}, {0, 1, 3}, {0, 1, 1, 2, 0}, {2, 2, 1}}));
  const auto rows = OperatorCase{
      "Unique", {whole({3, 2}, {2, 1, 1, 3, 2, 1})}, [](NodeProto& n) {
        set(n, "axis", std::int64_t{0});
      }}.run(4);
  EXPECT_EQ(rows, (std::vector<Floats>{{1, 3, 2, 1}, {1, 0}, {1, 0, 1}, {1, 2}}));
  const OperatorCase places{"NonZero", {whole({2, 2}, {1, 0, 5, 1})}};
  EXPECT_EQ(places.run()[0], (Floats{0, 1, 1, 0, 0, 1}));
  refuse({"NonZero", {whole({}, {1})}}, ErrorKind::kUnsupported, "a scalar");
}

}  // namespace
}  // namespace halftone::formats::onnx
