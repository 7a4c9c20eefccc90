// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/tails.h"

#include "halftone/gpu/launches.h"

namespace halftone::gpu {

std::string function_macro(Function f) {
  constexpr const char* kNames[] = {"",        "silu_of",    "gelu_of", "gelu_tanh_of",
                                    "relu_of", "sigmoid_of", "tanh_of", "exp_of"};
  return std::string("#define FUNCTION ") + kNames[static_cast<std::size_t>(f)] + "\n";
}

void add_tails(std::vector<KernelArgument>& arguments, const Tails& tails, const Buffer& unused) {
  for (std::size_t i = 0; i < kMaxTails; ++i) {
    const Tail tail = i < tails.size() ? tails[i] : Tail{};
    const bool is_there = tail.operand != nullptr;
    arguments.emplace_back(is_there ? *tail.operand : unused);
    arguments.emplace_back(number(tail.count));
    arguments.emplace_back(number(!is_there ? 0 : tail.op == Operation::kAdd ? 1 : 2));
  }
}

}  // namespace halftone::gpu
