// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/check_weights.h"

#include <limits>

#include "halftone/base/testing.h"
#include "halftone/lm/quantize/testing.h"

namespace halftone::lm {
namespace {

TEST(CheckWeights, NamesTheFirstThatIsBad) {
  const Description d = small_description("llama", {.vocabulary = 300});
  RandomWeights random;
  check_weights(tiny_model(d, random));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), -1.1e15F}) {
    const ModelParts model = tiny_model(d, [&](const WeightId& id, std::size_t size) {
      std::vector<float> values(size, 1);
      if (id.role == WeightRole::kTokenEmbedding) values[290 * 8 + 3] = values[295 * 8] = bad;
      return values;
    });
    expect_error(ErrorKind::kFormat,
                 "tensor 'token_embd.weight': row 290, column 3: expected a number of magnitude up "
                 "to 1e15, found ",
                 [&] { check_weights(model); });
  }
  const ModelParts model = tiny_model(d, [&](const WeightId& id, std::size_t size) {
    return std::vector<float>(size, id.role == WeightRole::kFinalNorm ? 1e16F : 1e15F);
  });
  expect_error(ErrorKind::kFormat,
               "tensor 'output_norm.weight': row 0, column 0: ", [&] { check_weights(model); });
}

}  // namespace
}  // namespace halftone::lm
