// SPDX-License-Identifier: Apache-2.0
#include "halftone/litert/host.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "halftone/base/error.h"

namespace halftone::litert {
namespace {

ElementType element_of(TfLiteType type) {
  switch (type) {
    case kTfLiteFloat32:
      return ElementType::kFloat32;
    case kTfLiteInt32:
      return ElementType::kInt32;
    case kTfLiteUInt8:
      return ElementType::kUint8;
    case kTfLiteInt64:
      return ElementType::kInt64;
    case kTfLiteBool:
      return ElementType::kBool;
    case kTfLiteInt16:
      return ElementType::kInt16;
    case kTfLiteInt8:
      return ElementType::kInt8;
    case kTfLiteFloat16:
      return ElementType::kFloat16;
    case kTfLiteUInt64:
      return ElementType::kUint64;
    case kTfLiteUInt32:
      return ElementType::kUint32;
    case kTfLiteUInt16:
      return ElementType::kUint16;
    case kTfLiteBFloat16:
      return ElementType::kBfloat16;
  }
  fail(ErrorKind::kUnsupported,
       "elements of LiteRT's type " + std::to_string(type) + ": expected numbers of 8 to 64 bits");
}

void check(TfLiteStatus status, const std::string& what) {
  if (status != kTfLiteOk) fail(ErrorKind::kUsage, "LiteRT refuses to " + what);
}

}  // namespace

std::span<const int> elements(const TfLiteIntArray* array) {
  if (array == nullptr) return {};
  return {&array->size + 1, static_cast<std::size_t>(array->size)};
}

std::span<const std::byte> HostNode::options() const {
  return {static_cast<const std::byte*>(node->custom_initial_data),
          static_cast<std::size_t>(node->custom_initial_data_size)};
}

std::vector<int> Host::execution_plan() const {
  TfLiteIntArray* plan = nullptr;
  check(context_->get_execution_plan(context_, &plan), "show its plan");
  const std::span<const int> nodes = elements(plan);
  return {nodes.begin(), nodes.end()};
}

HostNode Host::node(int index) const {
  TfLiteNode* node = nullptr;
  TfLiteRegistration* registration = nullptr;
  check(context_->get_node_and_registration(context_, index, &node, &registration),
        "show node " + std::to_string(index));
  const bool is_custom = registration->builtin_code == kTfLiteBuiltinCustom;
  const char* name = is_custom ? registration->custom_name : nullptr;
  return {node, name == nullptr ? "" : name};
}

TfLiteTensor& Host::at(int index) const { return context_->tensors[index]; }

std::string Host::tensor_name(int index) const {
  const char* name = at(index).name;
  return name == nullptr ? "tensor " + std::to_string(index) : name;
}

HostTensor Host::tensor(int index) const {
  const TfLiteTensor& found = at(index);
  HostTensor result;
  result.type = element_of(found.type);
  const std::span<const int> extents = elements(found.dims);
  result.extents.assign(extents.begin(), extents.end());
  result.is_constant = found.allocation_type == kTfLiteMmapRo;
  const auto count = std::reduce(result.extents.begin(), result.extents.end(), std::int64_t{1},
                                 std::multiplies<>());
  const std::size_t bytes = static_cast<std::size_t>(count) * size_bytes(result.type);
  if (found.bytes != bytes && (found.data != nullptr || result.is_constant)) {
    fail(ErrorKind::kUnsupported, "tensor '" + tensor_name(index) + "': expected " +
                                      std::to_string(bytes) + " bytes, found " +
                                      std::to_string(found.bytes) +
                                      "; this LiteRT has other structs than version 2.3");
  }
  if (found.data != nullptr) result.bytes = {static_cast<std::byte*>(found.data), bytes};
  return result;
}

bool Host::is_dynamic(int index) const { return at(index).allocation_type == kTfLiteDynamic; }

void Host::make_dynamic(int index) const {
  TfLiteTensor& tensor = at(index);
  if (tensor.allocation_type == kTfLiteDynamic) return;
  tensor.allocation_type = kTfLiteDynamic;
  tensor.data = nullptr;
}

void Host::resize(int index, std::span<const std::int64_t> extents) const {
  // LiteRT takes the extents and frees them as memory of C: no owner of ours can have them.
  auto* dims = static_cast<TfLiteIntArray*>(std::calloc(1 + extents.size(), sizeof(int)));
  if (dims == nullptr) fail(ErrorKind::kMemory, "the extents of a tensor: no memory");
  dims->size = static_cast<int>(extents.size());
  std::ranges::transform(extents, &dims->size + 1,
                         [](std::int64_t extent) { return static_cast<int>(extent); });
  check(context_->resize_tensor(context_, &at(index), dims), "resize '" + tensor_name(index) + "'");
}

int Host::num_threads() const { return std::max(context_->recommended_num_threads, 0); }

void Host::replace(std::span<const int> nodes, const TfLiteRegistration& kernel,
                   TfLiteDelegate& delegate) const {
  std::vector<int> array = {static_cast<int>(nodes.size())};
  array.insert(array.end(), nodes.begin(), nodes.end());
  check(context_->replace_nodes(context_, kernel,
                                reinterpret_cast<const TfLiteIntArray*>(array.data()), &delegate),
        "let the delegate take its operators");
}

void Host::report(const std::string& message) const {
  context_->report_error(context_, "%s\n", message.c_str());
}

}  // namespace halftone::litert
