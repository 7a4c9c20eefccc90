// SPDX-License-Identifier: Apache-2.0
// The recurrent layer, as stored in all our formats if they have no equivalent operator: one
// definition for every codec. It is ir::Recurrent with codes as in low_bit_layer.h. Inputs:
//     0  projected gates, float32 [T, B, G H] or [B, T, G H]
//     1  basis of the states [Kx], or [Kx + 1] with the offset last; absent: float states
//     2  bases of the weights [num_bases, Kw], or [num_bases, Kw + 1]; absent: float weights
//     3  bit planes of the weights, uint8 [G H, Kw, ceil(H / 8)]; or float32 weights [G H, H]
//     4 to 8  the inputs 2 to 6 of ir::Recurrent, absent if absent there
#pragma once

#include <array>
#include <optional>
#include <string>

#include "halftone/formats/low_bit_layer.h"

namespace halftone::formats {

/// Fields of the operator in files, besides its inputs.
struct RecurrentFields {
  ir::Recurrent op;                      ///< its flags and clips; the other fields have the rest
  std::string kind;                      ///< "RNN", "GRU", "LSTM"
  std::array<std::string, 3> functions;  ///< names of ir::ActivationKind
  std::array<float, 3> alphas{};
  std::array<float, 3> betas{};
  LowBitFields codes;  ///< of the weights; the input fields describe the states
};

/// Calls visit(name, field) for every field, with its name in files, in file order.
template <typename Fields, typename Visit>
void for_each_recurrent_field(Fields& fields, Visit&& visit) {
  visit("kind", fields.kind);
  visit("reverse", fields.op.reverse);
  visit("batch_major", fields.op.batch_major);
  visit("linear_before_reset", fields.op.linear_before_reset);
  visit("input_forget", fields.op.input_forget);
  visit("with_cell", fields.op.with_cell);
  visit("carry", fields.op.carry);
  visit("clip", fields.op.clip);
  visit("cell_clip", fields.op.cell_clip);
  constexpr const char* kNames[3][3] = {{"function_0", "alpha_0", "beta_0"},
                                        {"function_1", "alpha_1", "beta_1"},
                                        {"function_2", "alpha_2", "beta_2"}};
  for (std::size_t i = 0; i < 3; ++i) {
    visit(kNames[i][0], fields.functions[i]);
    visit(kNames[i][1], fields.alphas[i]);
    visit(kNames[i][2], fields.betas[i]);
  }
  for_each_field(fields.codes, visit);
}

/// Number of activation functions of a layer.
std::size_t num_functions(ir::RecurrentKind kind);

/// @param node  a Recurrent
RecurrentFields recurrent_fields_of(const ir::Graph& graph, const ir::Node& node);
/// The operator without its state_encoding, which input 1 provides.
/// @throws Error kFormat if a name is unknown or a value is out of range
ir::Recurrent recurrent_of(const RecurrentFields& fields);

/// The layer before a Recurrent, if a format with its own recurrent operators can merge it into
/// them: dense constant weights and bias, no activation, and recurrent layers as its only readers.
struct Projection {
  ir::NodeId layer{};
  ir::ValueId x = ir::kAbsent;
  const ir::Tensor* weights = nullptr;  ///< [G H, n]
  const ir::Tensor* bias = nullptr;     ///< null: none
};
/// @param node  a Recurrent; the result points into the graph
std::optional<Projection> projection_of(const ir::Graph& graph, const ir::Node& node);

/// Whether a layer is the projection of the Recurrent that reads it, and merged into that.
/// @param merges  whether the format merges a Recurrent with its projection; implies that it has
/// one
bool is_merged_projection(const ir::Graph& graph, const ir::Node& layer,
                          bool (*merges)(const ir::Graph& graph, const ir::Node& recurrent));

/// The recurrence weights of a Recurrent; null unless they are dense and constant.
const ir::Tensor* dense_recurrence(const ir::Graph& graph, const ir::Node& node);

}  // namespace halftone::formats
