// SPDX-License-Identifier: Apache-2.0
// Quantizes a network to two bits and compares it with the original:
//
//     quantize_example model.onnx examples/mnist model.circle
#include <cstdio>

#include "halftone/api/halftone.h"
#include "halftone/base/error.h"

namespace {

void quantize(const char* input, const char* data, const char* output) {
  const halftone::Network network = halftone::load(input);
  halftone::compress::Recipe recipe;
  recipe.defaults.weight_bits = 2;
  recipe.defaults.activation_bits = 2;
  const halftone::DataSource samples{{data}, {.split = "train", .limit = 300}};
  const auto result = halftone::quantize(network, samples.open(), recipe);
  halftone::save(result.graph, output);

  const halftone::DataSource test{{data}, {.split = "test", .limit = 500}};
  const auto evaluation = halftone::evaluate(result.graph, test.open(), &network);
  std::printf("accuracy %.4f, same answers as the original %.4f\n", evaluation.value,
              evaluation.reference->agreement);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: quantize_example MODEL DATA OUTPUT\n");
    return 2;
  }
  try {
    quantize(argv[1], argv[2], argv[3]);
  } catch (const halftone::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
