// SPDX-License-Identifier: Apache-2.0
// Weights that lie in files beside the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "onnx.pb.h"

namespace halftone::formats::onnx {

/// Reads external tensors of one model. Names are relative to the model's folder, and where they
/// lead, symbolic links followed, must lie in it too.
class ExternalData {
 public:
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The first `needed` bytes of a tensor's data.
  /// @throws Error kFormat if the location leaves the folder, an entry is malformed, or the range
  ///         does not lie in the file; kIo if the file cannot be read
  std::vector<std::byte> read(const onnx_pb::TensorProto& tensor, std::size_t needed);

 private:
  [[nodiscard]] std::filesystem::path resolve(const std::string& location) const;

  std::filesystem::path folder_;
  std::map<std::filesystem::path, std::uintmax_t> bytes_read_;  ///< by file
};

}  // namespace halftone::formats::onnx
