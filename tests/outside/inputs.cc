// SPDX-License-Identifier: Apache-2.0
// A program of others: writes the inputs of a network.
#include <halftone/halftone.h>

#include <cstdio>

int main(int argc, char** argv) {
  halftone_context* context = nullptr;
  halftone_model* model = nullptr;
  if (argc != 2 || halftone_context_create(nullptr, &context) != HALFTONE_OK ||
      halftone_model_load(context, argv[1], nullptr, &model) != HALFTONE_OK) {
    std::fprintf(stderr, "%s\n", halftone_error_message());
    return 1;
  }
  for (std::size_t i = 0; i < halftone_model_num_inputs(model); ++i) {
    halftone_tensor_info info{};
    if (halftone_model_input(model, i, &info) != HALFTONE_OK) return 1;
    std::printf("%s %s", info.name, halftone_type_name(info.type));
    for (std::size_t axis = 0; axis < info.rank; ++axis) {
      std::printf(" %lld", static_cast<long long>(info.extents[axis]));
    }
    std::printf("\n");
  }
  halftone_model_destroy(model);
  halftone_context_destroy(context);
  return 0;
}
