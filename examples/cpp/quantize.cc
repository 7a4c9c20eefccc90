// SPDX-License-Identifier: Apache-2.0
// Quantizes a network to two bits and compares it with the original:
//
//     quantize model.onnx examples/mnist model.circle
#include <cstdio>
#include <halftone/halftone.hpp>

namespace {

/// Shows progress on one line of the terminal.
bool show(double fraction, std::string_view activity) {
  std::fprintf(stderr, "\r%3.0f %% %-40.*s", 100 * fraction, static_cast<int>(activity.size()),
               activity.data());
  return true;  // go on
}

void quantize(const char* input, const char* data, const char* output) {
  const halftone::Model network = halftone::load(input);
  halftone::Recipe recipe;
  recipe.defaults.weight_bits = 2;
  recipe.defaults.activation_bits = 2;
  halftone::QuantizeOptions options;
  options.progress = show;
  const halftone::Data samples = halftone::Data::open(data, {.split = "train", .limit = 300});
  const halftone::QuantizeResult result = halftone::quantize(network, samples, recipe, options);
  std::fputc('\n', stderr);
  result.model.save(output);
  for (const halftone::LayerReport& layer : result.layers) {
    std::printf("%s: %zu bytes in place of %zu, signal to noise %.1f dB\n", layer.name.c_str(),
                layer.encoded_bytes, layer.float_bytes, layer.sqnr_db);
  }

  halftone::EvaluateOptions with_original;
  with_original.reference = network;
  const halftone::Data test = halftone::Data::open(data, {.split = "test", .limit = 500});
  const halftone::Evaluation found = halftone::evaluate(result.model, test, with_original);
  std::printf("accuracy %.4f, same answers as the original %.4f\n", found.value,
              found.reference->agreement);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: quantize MODEL DATA OUTPUT\n");
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
