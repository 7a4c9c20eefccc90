// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/weight_types.h"

#include <cmath>

#include "halftone/base/testing.h"
#include "halftone/compress/fit/fit_matrix.h"

namespace halftone::lm {
namespace {

std::vector<float> waves(std::size_t size) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    values[i] = 0.1F * std::sin(static_cast<float>(i)) * std::cos(0.01F * static_cast<float>(i));
  }
  return values;
}

/// What a file's bytes represent, with the rest of the last blocks.
std::vector<float> decoded(const EncodedMatrix& matrix, std::size_t elements) {
  std::vector<float> values(elements);
  numerics::decode_blocks(*matrix.encoding, matrix.bytes.bytes, values);
  return values;
}

/// All that a fit may be stored as: weight_types(), and the systems of each kind of scales and
/// levels.
std::vector<WeightType> types_to_store() {
  std::vector<WeightType> types(weight_types().begin(), weight_types().end());
  for (const char* name :
       {"int3",       "int8/64", "affine1", "affine8", "symmetric2", "ternary", "fixed4",
        "pot4",       "log4",    "nf4",     "e4m3",    "e5m2",       "bfp5",    "mxfp8_e4m3",
        "mxfp6_e2m3", "mxint8",  "nvfp4",   "int_k5",  "affine_k3",  "posit6"}) {
    types.push_back(weight_type(name));
  }
  return types;
}

TEST(WeightTypes, StoreWhatWasFitted) {
  constexpr std::size_t kOutputs = 5;
  for (const WeightType& type : types_to_store()) {
    for (const std::size_t cols :
         {2 * type.encoding->block, type.encoding->block + type.encoding->group}) {
      const std::vector<float> values = waves(kOutputs * cols);
      const auto fit =
          compress::fit_matrix(MatrixView<const float>(values, kOutputs, cols),
                               compress::Metric<float>::identity(cols), *type.encoding);
      std::vector<float> expected(values.size());
      compress::decode(fit, *type.encoding, MatrixView<float>(expected, kOutputs, cols));
      const EncodedMatrix matrix = encode_fit(fit, type);
      ASSERT_EQ(matrix.bytes.bytes.size(), type.size_bytes(kOutputs, cols)) << type.name;
      const std::size_t padded = type.blocks_per_row(cols) * type.encoding->block;
      const std::vector<float> found = decoded(matrix, kOutputs * padded);
      for (std::size_t r = 0; r < kOutputs; ++r) {
        for (std::size_t c = 0; c < cols; ++c) {
          EXPECT_EQ(found[r * padded + c], expected[r * cols + c]) << type.name;
        }
      }
    }
  }
}

TEST(WeightTypes, HaveNamesBitsAndBlocks) {
  EXPECT_EQ(weight_type("q4_k").name, "Q4_K");
  EXPECT_EQ(weight_type("Q4_K").bits(), 4.5);
  EXPECT_EQ(weight_type("4x8").bits(), 2.125);
  EXPECT_TRUE(weight_type("Q4_K").can_hold(512));
  EXPECT_FALSE(weight_type("Q4_K").can_hold(576));
  EXPECT_TRUE(weight_type("4x8").can_hold(576));
  for (const char* name : {"Q4_0", "Q4_1", "Q5_K", "Q3_K", "Q2_K", "Q8_0", "IQ4_NL", "Q1_0", "Q2_0",
                           "TQ2_0", "4x9", "4x10", "2x6", "2x7", "2x8", "2x10"}) {
    EXPECT_EQ(weight_type(name).name, name);
  }
  EXPECT_EQ(weight_type("NVFP4").name, "nvfp4");
  EXPECT_EQ(weight_type("mxfp4").name, "MXFP4");  // that of GGUF
  EXPECT_EQ(&weight_type("int4"), &weight_type("int4/32"));
  expect_error(ErrorKind::kUsage, "as in int4", [] { (void)weight_type("int"); });
  expect_error(ErrorKind::kUsage, "expected one of Q1_0, TQ2_0", [] { (void)weight_type("Q9"); });
}

}  // namespace
}  // namespace halftone::lm
