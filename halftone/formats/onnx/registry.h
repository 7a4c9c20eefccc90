// SPDX-License-Identifier: Apache-2.0
// The ONNX operators that can be read: to add one, write its builder and list it in its family.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::formats::onnx {

class NodeBuilder;

/// Adds the operators of a node of the file to the graph.
using Builder = void (*)(NodeBuilder& node);

/// The builder of an operator, or null. "ai.onnx" is the same domain as "".
Builder find_builder(std::string_view domain, std::string_view op_type);

/// The names of all operators that can be read, with their domain unless it is ONNX's own.
std::vector<std::string> readable_operators();

/// The domain of Halftone's own operators.
inline constexpr std::string_view kHalftoneDomain = "ai.halftone";

/// The metadata of a model name its states: this and the name of an input, with that of the output
/// that the next run takes for it. To other runtimes they are inputs and outputs like others.
inline constexpr std::string_view kStateKey = "ai.halftone.state:";

/// The domain of ONNX Runtime's operators.
inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

/// The domain of ONNX's operators of classical machine learning.
inline constexpr std::string_view kMlDomain = "ai.onnx.ml";

/// The domain of ONNX's operators that its next versions may change.
inline constexpr std::string_view kPreviewDomain = "ai.onnx.preview";

/// One ONNX operator in the table of its family.
struct ReaderEntry {
  std::string_view domain;
  std::string_view op_type;
  Builder build;
};

// The operators that can be read, one table per family, in ops/FAMILY_import.cc.
std::span<const ReaderEntry> activation_readers();
std::span<const ReaderEntry> attention_readers();
std::span<const ReaderEntry> cast_readers();
std::span<const ReaderEntry> constant_readers();
std::span<const ReaderEntry> control_readers();
std::span<const ReaderEntry> convolution_readers();
std::span<const ReaderEntry> einsum_readers();
std::span<const ReaderEntry> elementwise_readers();
std::span<const ReaderEntry> encoding_readers();
std::span<const ReaderEntry> expert_readers();
std::span<const ReaderEntry> extend_readers();
std::span<const ReaderEntry> fused_attention_readers();
std::span<const ReaderEntry> fused_readers();
std::span<const ReaderEntry> grid_readers();
std::span<const ReaderEntry> grouped_attention_readers();
std::span<const ReaderEntry> indexing_readers();
std::span<const ReaderEntry> integer_readers();
std::span<const ReaderEntry> layout_readers();
std::span<const ReaderEntry> linear_readers();
std::span<const ReaderEntry> loop_readers();
std::span<const ReaderEntry> loss_readers();
std::span<const ReaderEntry> nbits_readers();
std::span<const ReaderEntry> normalize_readers();
std::span<const ReaderEntry> ml_readers();
std::span<const ReaderEntry> qoperator_readers();
std::span<const ReaderEntry> quantized_readers();
std::span<const ReaderEntry> recurrent_readers();
std::span<const ReaderEntry> reduce_readers();
std::span<const ReaderEntry> region_readers();
std::span<const ReaderEntry> resample_readers();
std::span<const ReaderEntry> rotary_readers();
std::span<const ReaderEntry> selection_readers();
std::span<const ReaderEntry> sequence_readers();
std::span<const ReaderEntry> signal_readers();
std::span<const ReaderEntry> slicing_readers();
std::span<const ReaderEntry> state_readers();
std::span<const ReaderEntry> text_readers();
std::span<const ReaderEntry> window_readers();

}  // namespace halftone::formats::onnx
