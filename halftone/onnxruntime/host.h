// SPDX-License-Identifier: Apache-2.0
// Calls of ONNX Runtime whose failures are exceptions, and what they tell of nodes and tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halftone/onnxruntime/interface.h"

namespace halftone::onnxruntime {

/// A tensor of ONNX Runtime, valid as long as that.
struct HostTensor {
  OrtElementType type = kAnyType;
  std::vector<std::int64_t> extents;
  std::span<std::byte> bytes;
};

/// ONNX Runtime, as the library that registers with it sees it.
class Host {
 public:
  explicit Host(const OrtApi& api) : api_(&api) {}

  /// Calls a function of the table. @throws Error kUsage with ONNX Runtime's message if it fails
  template <typename Function, typename... Arguments>
  void call(Arguments... arguments) const {
    check(function_of<Function>(*api_)(arguments...));
  }
  /// The same where a failure says only that something is not there.
  template <typename Function, typename... Arguments>
  [[nodiscard]] bool succeeds(Arguments... arguments) const {
    return forget(function_of<Function>(*api_)(arguments...));
  }

  /// A status with this message, which ONNX Runtime shows and releases.
  [[nodiscard]] OrtStatus* status(OrtErrorCode code, const std::string& message) const;

  /// Text that a function writes: it is asked for the length, with the final zero, first.
  template <typename Function, typename... Arguments>
  [[nodiscard]] std::string text(Arguments... arguments) const {
    std::size_t size = 0;
    (void)succeeds<Function>(arguments..., static_cast<char*>(nullptr), &size);
    std::string result(size, '\0');
    if (size == 0) return {};
    call<Function>(arguments..., result.data(), &size);
    result.pop_back();
    return result;
  }

  /// @throws Error kUnsupported if its elements have no fixed number of bytes
  [[nodiscard]] HostTensor tensor(const OrtValue* value) const;

 private:
  void check(OrtStatus* status) const;
  [[nodiscard]] bool forget(OrtStatus* status) const;

  const OrtApi* api_;
};

}  // namespace halftone::onnxruntime
