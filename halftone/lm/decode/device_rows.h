// SPDX-License-Identifier: Apache-2.0
// Runs the graphs of a language model on a device.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <span>

#include "halftone/gpu/graph/graph_launches.h"
#include "halftone/lm/decode/decoder.h"
#include "halftone/lm/decode/row_runner.h"

namespace halftone::lm {

/// Rows of the last run of a body, out of `rows` of them.
struct HiddenRows {
  std::size_t rows = 0;
  std::size_t first = 0;
  std::size_t count = 0;
  auto operator<=>(const HiddenRows&) const = default;
};

/// Weights, states and activations of a decoder on a device: ids go there, logits come back.
class DeviceRows final : public RowRunner {
 public:
  /// @param graphs  must outlive this
  /// @throws Error as gpu::open_device(); kUnsupported for operators without a kernel there, or if
  ///         activations are not to be rounded; kDevice if weights and states do not fit, with the
  ///         context that would
  DeviceRows(const DecoderGraphs& graphs, const DecoderOptions& options);

  /// @throws Error as gpu::GpuDevice
  void run_body(std::span<const DecoderRow> rows) override;
  /// @throws Error as gpu::GpuDevice
  void run_head(std::size_t rows, std::span<const std::size_t> wanted,
                std::span<float> logits) override;
  /// Launches of a run of the body. @throws Error as gpu::GpuDevice
  [[nodiscard]] std::size_t num_launches(std::size_t rows) {
    return body_of(rows).launches().size();
  }
  [[nodiscard]] std::size_t state_bytes() const override { return states_.size_bytes(); }

 private:
  /// @param logits  [rows.count, vocabulary]
  void run_head_of(const HiddenRows& rows, std::span<float> logits);
  gpu::GraphLaunches& body_of(std::size_t rows);
  gpu::GraphLaunches& head_of(std::size_t rows);

  const DecoderGraphs& graphs_;
  std::unique_ptr<gpu::GpuDevice> device_;
  gpu::Programs programs_;
  gpu::DeviceConstants constants_;
  gpu::DeviceStates states_;
  std::map<std::size_t, std::unique_ptr<gpu::GraphLaunches>> bodies_;  ///< by rows
  std::map<std::size_t, std::unique_ptr<gpu::GraphLaunches>> heads_;   ///< by rows
  /// A copy of the rows to a head, and the head.
  std::map<HiddenRows, std::unique_ptr<gpu::Replay>> head_replays_;
};

}  // namespace halftone::lm
