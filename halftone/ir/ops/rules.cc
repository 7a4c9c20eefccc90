// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/rules.h"

#include "halftone/base/error.h"

namespace halftone::ir {

void require(bool condition, const std::string& message) {
  if (!condition) fail(ErrorKind::kShape, message);
}

void require_float(InputTypes inputs, std::size_t index) {
  require(
      inputs[index]->is_dense(ElementType::kFloat32),
      "input " + std::to_string(index) + ": expected float32, found " + inputs[index]->to_string());
}

}  // namespace halftone::ir
