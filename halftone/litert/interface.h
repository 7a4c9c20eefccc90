// SPDX-License-Identifier: Apache-2.0
// The part of LiteRT's C structs that a delegate needs. Its packages have no headers. Later
// versions append fields to these structs and never move them. Names and order are those of
// tflite/core/c/common.h and tflite_types.h of LiteRT 2.3; TensorFlow Lite 2.5 and later have the
// same. Host::tensor() checks what it reads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halftone::litert {

struct TfLiteContext;
struct TfLiteDelegate;

enum TfLiteStatus : int { kTfLiteOk = 0, kTfLiteError = 1 };

/// TfLiteType, of the elements that files of Halftone have.
enum TfLiteType : int {
  kTfLiteFloat32 = 1,
  kTfLiteInt32 = 2,
  kTfLiteUInt8 = 3,
  kTfLiteInt64 = 4,
  kTfLiteBool = 6,
  kTfLiteInt16 = 7,
  kTfLiteInt8 = 9,
  kTfLiteFloat16 = 10,
  kTfLiteUInt64 = 13,
  kTfLiteUInt32 = 16,
  kTfLiteUInt16 = 17,
  kTfLiteBFloat16 = 19
};

/// TfLiteAllocationType, as far as it matters here.
enum TfLiteAllocation : int {
  kTfLiteMmapRo = 1,   ///< a constant of the file
  kTfLiteDynamic = 4,  ///< whose extents are known when it is computed
};

/// A number of integers, and behind it these.
struct TfLiteIntArray {
  int size;
};

struct TfLiteTensor {
  TfLiteType type;
  void* data;
  TfLiteIntArray* dims;
  float scale;
  std::int32_t zero_point;
  TfLiteAllocation allocation_type;
  std::size_t bytes;
  const void* allocation;
  const char* name;
  TfLiteDelegate* delegate;
  int buffer_handle;
  bool data_is_stale;
  bool is_variable;
  int quantization_type;
  void* quantization_parameters;
  void* sparsity;
  const TfLiteIntArray* dims_signature;
};

/// Up to the last field that is read. LiteRT makes these.
struct TfLiteNode {
  TfLiteIntArray* inputs;  ///< indices of tensors; -1: absent
  TfLiteIntArray* outputs;
  TfLiteIntArray* intermediates;
  TfLiteIntArray* temporaries;
  void* user_data;  ///< what TfLiteRegistration::init has returned
  void* builtin_data;
  const void* custom_initial_data;  ///< the options of a custom operator
  int custom_initial_data_size;
};

/// TfLiteDelegateParams: what TfLiteRegistration::init of a delegate gets.
struct TfLiteDelegateParams {
  TfLiteDelegate* delegate;
  TfLiteIntArray* nodes_to_replace;
  TfLiteIntArray* input_tensors;  ///< constants too
  TfLiteIntArray* output_tensors;
};

/// builtin_code of custom operators.
inline constexpr std::int32_t kTfLiteBuiltinCustom = 32;

/// Handed over by value: LiteRT reads as many fields as its version has, and finds zeros.
struct TfLiteRegistration {
  void* (*init)(TfLiteContext*, const char*, std::size_t);
  void (*free)(TfLiteContext*, void*);
  TfLiteStatus (*prepare)(TfLiteContext*, TfLiteNode*);
  TfLiteStatus (*invoke)(TfLiteContext*, TfLiteNode*);
  const char* (*profiling_string)(const TfLiteContext*, const TfLiteNode*);
  std::int32_t builtin_code;
  const char* custom_name;
  int version;
  void* registration_external;
  void* (*async_kernel)(TfLiteContext*, TfLiteNode*);
  std::uint64_t inplace_operator;
  void* later_versions[8];
};

/// Up to the last field that is read. LiteRT makes these.
struct TfLiteContext {
  std::size_t tensors_size;
  TfLiteStatus (*get_execution_plan)(TfLiteContext*, TfLiteIntArray**);
  TfLiteTensor* tensors;
  void* impl;
  /// Takes the new extents, which are memory of C.
  TfLiteStatus (*resize_tensor)(TfLiteContext*, TfLiteTensor*, TfLiteIntArray*);
  void (*report_error)(TfLiteContext*, const char*, ...);
  void* add_tensors;
  TfLiteStatus (*get_node_and_registration)(TfLiteContext*, int, TfLiteNode**,
                                            TfLiteRegistration**);
  TfLiteStatus (*replace_nodes)(TfLiteContext*, TfLiteRegistration, const TfLiteIntArray*,
                                TfLiteDelegate*);
  int recommended_num_threads;  ///< -1: LiteRT leaves the choice
};

/// Custom operators are unknown to LiteRT: it must not prepare them before the delegate takes them.
inline constexpr std::int64_t kTfLiteAllowDynamicTensors = 1;

struct TfLiteDelegate {
  void* data;
  TfLiteStatus (*prepare)(TfLiteContext*, TfLiteDelegate*);
  void* copy_from_buffer_handle;
  void* copy_to_buffer_handle;
  void* free_buffer_handle;
  std::int64_t flags;
  void* opaque_delegate_builder;
};

}  // namespace halftone::litert
