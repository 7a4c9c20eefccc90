// SPDX-License-Identifier: Apache-2.0
// Calls of LiteRT whose failures are exceptions, and what they tell of nodes and tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halftone/base/element_type.h"
#include "halftone/litert/interface.h"

namespace halftone::litert {

/// A tensor of LiteRT, valid until it is resized.
struct HostTensor {
  ElementType type{};
  std::vector<std::int64_t> extents;
  std::span<std::byte> bytes;  ///< empty where LiteRT has not allocated it
  bool is_constant = false;
};

/// A node that a delegate may take.
struct HostNode {
  const TfLiteNode* node = nullptr;
  std::string custom_name;  ///< empty for operators of LiteRT
  [[nodiscard]] std::span<const std::byte> options() const;
};

[[nodiscard]] std::span<const int> elements(const TfLiteIntArray* array);

/// The graph of an interpreter, as LiteRT shows it to a delegate and its kernels.
class Host {
 public:
  explicit Host(TfLiteContext& context) : context_(&context) {}

  [[nodiscard]] std::vector<int> execution_plan() const;
  [[nodiscard]] HostNode node(int index) const;
  [[nodiscard]] std::string tensor_name(int index) const;
  /// @throws Error kUnsupported for elements other than numbers of 8 to 64 bits and booleans, or if
  ///         the size is not that of the elements: another version of LiteRT has other structs
  [[nodiscard]] HostTensor tensor(int index) const;
  [[nodiscard]] bool is_dynamic(int index) const;
  /// Lets the size of a tensor be set when it is computed.
  void make_dynamic(int index) const;
  /// @throws Error kUsage if LiteRT refuses; kMemory if there is none for the extents
  void resize(int index, std::span<const std::int64_t> extents) const;
  /// The threads of the interpreter; 0: it leaves the choice.
  [[nodiscard]] int num_threads() const;
  /// Has nodes computed by kernels of a delegate. @throws Error kUsage if LiteRT refuses
  void replace(std::span<const int> nodes, const TfLiteRegistration& kernel,
               TfLiteDelegate& delegate) const;
  /// Gives LiteRT a message, which its callers see in front of LiteRT's own.
  void report(const std::string& message) const;

 private:
  [[nodiscard]] TfLiteTensor& at(int index) const;

  TfLiteContext* context_;
};

}  // namespace halftone::litert
