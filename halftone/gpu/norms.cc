// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/norms.h"

#include "halftone/gpu/launches.h"
#include "halftone/gpu/texts.h"

namespace halftone::gpu {
namespace {

constexpr std::size_t kNormThreads = 256;

/// The arguments that both kernels have.
std::vector<KernelArgument> norm_arguments(const NormShape& shape, const Buffer& x, const Buffer& y,
                                           const Tails& tails) {
  std::vector<KernelArgument> arguments = {x, y, number(shape.cols), shape.epsilon};
  add_tails(arguments, tails, x);
  return arguments;
}

std::string mean_macro(bool subtracts_mean) {
  return function_macro(Function::kNone) + (subtracts_mean ? "#define SUBTRACTS_MEAN\n" : "");
}

}  // namespace

std::string norm_text(bool subtracts_mean) {
  return program_text(mean_macro(subtracts_mean), {"tails", "normalize"});
}

std::string encoding_norm_text(bool subtracts_mean, const kernels::GroupExtents& extents) {
  constexpr std::size_t kChunkInputs = 1024;
  const std::string macros = mean_macro(subtracts_mean) + "#define ENCODES\n#define ENCODING " +
                             std::to_string(extents.encoding()) + "\n#define PIECE " +
                             std::to_string(extents.piece()) + "\n#define CHUNK_INPUTS " +
                             std::to_string(kChunkInputs) + "\n";
  return program_text(macros, {"tails", "encode_chunk", "normalize"});
}

Launch normalize(Programs& programs, const NormShape& shape, const Buffer& x, const Buffer& y,
                 const Tails& tails) {
  return {&programs.kernel(norm_text(shape.subtracts_mean), "normalize_rows"),
          {shape.rows, 1, kNormThreads},
          norm_arguments(shape, x, y, tails)};
}

Launch normalize_and_encode(Programs& programs, const NormShape& shape, const Buffer& x,
                            const NormOutputs& to, const Tails& tails) {
  const GroupInputs& encoded = to.encoded;
  Launch launch{&programs.kernel(encoding_norm_text(shape.subtracts_mean, encoded.extents()),
                                 "normalize_and_encode"),
                {shape.rows, 1, kNormThreads},
                norm_arguments(shape, x, to.y, tails)};
  for (const Buffer* each :
       {&encoded.codes(), &encoded.scales(), &encoded.shares(), &encoded.sums()}) {
    launch.arguments.emplace_back(*each);
  }
  launch.arguments.emplace_back(number(encoded.extents().padded_cols()));
  return launch;
}

}  // namespace halftone::gpu
