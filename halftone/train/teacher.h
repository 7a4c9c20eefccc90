// SPDX-License-Identifier: Apache-2.0
// What a student is taught by.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/runtime/session.h"

namespace halftone::train {

/// Scores of a network for a part of a batch, by the runtime. Several threads may ask at once.
class Teacher {
 public:
  /// @param samples  of the parts it is asked for
  /// @throws Error as with_scores() and runtime::make_plan()
  Teacher(const ir::Graph& graph, std::size_t samples);

  [[nodiscard]] std::int64_t classes() const;

  /// @param inputs  float32, one per input of the graph
  /// @return        float32 [samples, classes]
  [[nodiscard]] at::Tensor scores(std::span<const at::Tensor> inputs);

 private:
  std::unique_ptr<runtime::Session> take();

  std::shared_ptr<const runtime::Plan> plan_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<runtime::Session>> free_;
};

}  // namespace halftone::train
