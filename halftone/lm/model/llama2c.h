// SPDX-License-Identifier: Apache-2.0
// Checkpoints of llama2.c, version 0: a head of seven numbers, then float32 tensors.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "halftone/base/shared_bytes.h"
#include "halftone/lm/model/description.h"

namespace halftone::lm {

struct Llama2cTensor {
  std::string name;                ///< as GGUF files have it
  std::vector<std::size_t> shape;  ///< the outermost extent first
  SharedBytes bytes;               ///< float32
};

struct Llama2cFile {
  Description description;
  std::vector<Llama2cTensor> tensors{};
};

/// @throws Error kFormat unless the file is as long as its head says and the numbers fit together
Llama2cFile parse_llama2c(const SharedBytes& file);

}  // namespace halftone::lm
