// SPDX-License-Identifier: Apache-2.0
// Weights stored in files beside the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>

#include "halftone/base/shared_bytes.h"
#include "onnx.pb.h"

namespace halftone::formats::onnx {

/// Reads external tensors of one model. Names are relative to the model's folder. After symbolic
/// links are resolved, the files must still be in that folder.
class ExternalData {
 public:
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The first `needed` bytes of a tensor's data, in the mapped file.
  /// @throws Error kFormat if the location is outside the folder, an entry is malformed, or the
  ///         range exceeds the file; kIo if the file cannot be read
  SharedBytes read(const onnx_pb::TensorProto& tensor, std::size_t needed);
  /// The size of the files that were read.
  [[nodiscard]] std::uintmax_t file_bytes() const;

 private:
  [[nodiscard]] std::filesystem::path resolve(const std::string& location) const;

  struct File {
    SharedBytes mapped;
    std::uintmax_t bytes_read = 0;
  };

  std::filesystem::path folder_;
  std::map<std::filesystem::path, File> files_;
};

}  // namespace halftone::formats::onnx
