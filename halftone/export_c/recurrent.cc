// SPDX-License-Identifier: Apache-2.0
// Recurrent layers: a loop over the steps, in which a product of the states is added to the gates.
#include "halftone/runtime/recurrent/recurrent.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "halftone/export_c/decoded_rows.h"
#include "halftone/export_c/row_products.h"
#include "halftone/export_c/write_layers.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/ops/recurrent_gates.h"
#include "halftone/kernels/encode/encode.h"

namespace halftone::export_c {
namespace {

/// A product of states that is added to gates.
class StateRows {
 public:
  StateRows(Scope& scope, const ir::Constant& weights, ir::Arithmetic arithmetic,
            const std::string& suffix)
      : scope_(scope),
        states_(scope.op<ir::Recurrent>()->state_encoding.get()),
        is_float_(arithmetic == ir::Arithmetic::kFloat),
        suffix_(suffix) {
    const auto extent = ir::matrix_extent(ir::type_of(weights).shape);
    outputs_ = extent.rows;
    inputs_ = extent.cols;
    const auto* codes = std::get_if<ir::EncodedTensor>(&weights);
    if (is_float_) {
      if (states_ != nullptr) scope.refuse("states of few bits with the arithmetic of float32");
      if (codes != nullptr) {
        decoded_rows_ = add_decoded_rows(scope, *codes, suffix);
      } else {
        weights_ =
            scope.array<float>("weights" + suffix, std::get<ir::Tensor>(weights).as<float>());
      }
      return;
    }
    scope.scratch("product" + suffix, "float", outputs_);
    if (arithmetic == ir::Arithmetic::kBits) {
      bits_ = std::make_unique<BitRows>(scope, *codes, states_->basis(0), std::span<const float>(),
                                        suffix);
      scope.scratch("bits" + suffix, "uint32_t", bits_->words());
      return;
    }
    if (states_ != nullptr) integers_.emplace(states_->levels(0));
    levels_ = std::make_unique<LevelRows>(scope, *codes, integers_ ? integers_->offset : 0,
                                          std::span<const float>(), suffix);
    scope.scratch("q" + suffix, "int8_t", inputs_);
  }

  /// Adds lines that add the product of states h to gates y.
  void add(const std::string& h, const std::string& y) const {
    if (is_float_) return add_floats(h, y);
    const std::string product = "product" + suffix_;
    if (bits_ != nullptr) {
      scope_.call_within("encode_bits",
                         arguments(h, inputs_, "&encoder", states_->bits, "bits" + suffix_));
      bits_->multiply("bits" + suffix_, product);
    } else {
      const std::string q = "q" + suffix_;
      std::string scale = integers_ ? exact(integers_->scale) : "scale" + suffix_;
      if (integers_) {
        scope_.call_within("encode_i8", arguments(h, inputs_, "&encoder", q));
      } else {
        scope_.needs("quantize_row_f32");
        scope_.line("  const float " + scale + " = ht_quantize_row_f32(" +
                    arguments(h, inputs_, q) + ");");
      }
      levels_->multiply(q, scale, product);
    }
    scope_.call_within("add_to_f32", arguments(product, outputs_, y));
  }

 private:
  void add_floats(const std::string& h, const std::string& y) const {
    if (decoded_rows_) {
      return scope_.call_within("dense_codes_f32",
                                arguments(h, 1, outputs_, decoded_rows_->rows,
                                          decoded_rows_->levels, decoded_rows_->decoded, y),
                                true);
    }
    scope_.call_within("add_dense_f32", arguments(h, inputs_, outputs_, weights_, y), true);
  }

  Scope& scope_;
  const numerics::MatrixEncoding* states_;
  bool is_float_;
  std::string suffix_;
  std::size_t inputs_ = 0;
  std::size_t outputs_ = 0;
  std::string weights_;
  std::optional<DecodedRows> decoded_rows_;
  std::optional<kernels::Int8Levels> integers_;
  std::unique_ptr<BitRows> bits_;
  std::unique_ptr<LevelRows> levels_;
};

/// Writes one layer.
class RecurrentLayer {
 public:
  RecurrentLayer(Scope& scope, const ir::Recurrent& op)
      : scope_(scope), op_(op), extents_(ir::recurrent_extents(op, scope.input(0).shape)) {
    if (extents_.batch != 1) scope.refuse("several samples at a time");
    if (scope.has_input(ir::kSequenceLengths)) scope.refuse("sequences with lengths");
    if (scope.constant(ir::kRecurrenceWeights) == nullptr)
      scope.refuse("weights that are computed");
    scope.require_input(0, ir::ElementType::kFloat32, "the projected gates");
  }

  void write() {
    const bool is_lstm = op_.kind == ir::RecurrentKind::kLstm;
    scope_.reads("x", 0);
    const std::string first_h = state("first_h", ir::kInitialHidden);
    const std::string first_c = is_lstm ? state("first_c", ir::kInitialCell) : "";
    scope_.writes("y");
    scope_.scratch("gates", "float", extents_.gates);
    scope_.scratch("h", "float", extents_.hidden);
    if (is_lstm) scope_.scratch("c", "float", extents_.hidden);
    if (is_lstm || splits()) scope_.scratch("spare", "float", extents_.hidden);
    add_products();
    if (op_.state_encoding != nullptr && arithmetic() != ir::Arithmetic::kFloat) {
      const bool is_bits = arithmetic() == ir::Arithmetic::kBits;
      add_encoder(scope_, *op_.state_encoding, {},
                  {is_bits ? CodeMemory::kPlanes : CodeMemory::kBytes, 1, extents_.hidden,
                   op_.state_encoding->bits});
    }
    start("h", first_h);
    if (is_lstm) start("c", first_c);
    loop();
  }

 private:
  [[nodiscard]] bool splits() const {
    return op_.kind == ir::RecurrentKind::kGru && !op_.linear_before_reset;
  }
  [[nodiscard]] ir::Arithmetic arithmetic() const {
    return *ir::arithmetic_of(scope_.what().graph, scope_.what().node);
  }

  /// An optional input as a value or an array; empty if it is absent.
  std::string state(const std::string& name, std::size_t input) {
    if (!scope_.has_input(input)) return "";
    if (const ir::Constant* constant = scope_.constant(input)) {
      return scope_.array<float>(name, std::get<ir::Tensor>(*constant).as<float>());
    }
    scope_.reads(name, input);
    return name;
  }

  void add_products() {
    const ir::Constant& weights = *scope_.constant(ir::kRecurrenceWeights);
    if (!splits()) {
      products_.emplace_back(scope_, weights, arithmetic(), "");
      return;
    }
    const std::size_t early = ir::kGruNew * extents_.hidden;
    products_.emplace_back(scope_, runtime::rows_of(weights, 0, early), arithmetic(), "_zr");
    products_.emplace_back(scope_, runtime::rows_of(weights, early, extents_.hidden), arithmetic(),
                           "_n");
  }

  void start(const std::string& states, const std::string& from) {
    const std::string bytes = std::to_string(extents_.hidden) + " * sizeof *" + states;
    scope_.line(from.empty() ? "memset(" + states + ", 0, " + bytes + ");"
                             : "memcpy(" + arguments(states, from, bytes) + ");");
  }

  /// Where a gate begins.
  [[nodiscard]] std::string gate(std::size_t g) const {
    return "gates + " + std::to_string(g * extents_.hidden);
  }

  void activate(std::size_t function, const std::string& values, std::size_t count) {
    if (op_.clip != 0) {
      add_activation(scope_, {ir::ActivationKind::kClip, -op_.clip, op_.clip}, values, count, true);
    }
    add_activation(scope_, op_.activations[function], values, count, true);
  }

  void loop() {
    const std::string gates = std::to_string(extents_.gates);
    const std::string steps = std::to_string(extents_.steps);
    scope_.line("for (int32_t i = 0; i < " + steps + "; ++i) {");
    scope_.line("  const int32_t step = " +
                (op_.reverse ? std::to_string(extents_.steps - 1) + " - i;" : "i;"));
    scope_.line("  memcpy(gates, x + step * " + gates + ", " + gates + " * sizeof *gates);");
    if (op_.linear_before_reset && op_.kind == ir::RecurrentKind::kGru) load_bias();
    products_[0].add("h", "gates");
    switch (op_.kind) {
      case ir::RecurrentKind::kRnn:
        activate(0, "gates", extents_.gates);
        scope_.line("  memcpy(h, gates, " + gates + " * sizeof *h);");
        break;
      case ir::RecurrentKind::kGru:
        add_gru();
        break;
      case ir::RecurrentKind::kLstm:
        add_lstm();
        break;
    }
    const std::string hidden = std::to_string(extents_.hidden);
    const std::string to = "y + step * " + std::to_string(extents_.output);
    scope_.line("  memcpy(" + arguments(to, "h", hidden) + " * sizeof *y);");
    if (op_.with_cell) {
      scope_.line("  memcpy(" + arguments(to + " + " + hidden, "c", hidden) + " * sizeof *y);");
    }
    scope_.line("}");
  }

  /// The new gate begins with its bias, and not with its share of the input.
  void load_bias() {
    const std::string bias = state("bias", ir::kRecurrenceBias);
    const std::string n = gate(ir::kGruNew);
    const std::string bytes = std::to_string(extents_.hidden) + " * sizeof *gates";
    scope_.line("  " + (bias.empty() ? "memset(" + n + ", 0, " + bytes + ");"
                                     : "memcpy(" + arguments(n, bias, bytes) + ");"));
  }

  void add_gru() {
    const std::size_t width = extents_.hidden;
    activate(0, "gates", 2 * width);
    if (splits()) {
      scope_.call_within("multiply_f32", arguments(gate(ir::kGruReset), "h", width, "spare"));
      products_[1].add("spare", gate(ir::kGruNew));
    } else {
      const std::string x =
          "x + step * " + arguments(extents_.gates) + " + " + std::to_string(ir::kGruNew * width);
      scope_.call_within("reset_sum_f32",
                         arguments(x, gate(ir::kGruReset), width, gate(ir::kGruNew)));
    }
    activate(1, gate(ir::kGruNew), width);
    scope_.call_within("gru_states_f32",
                       arguments(gate(ir::kGruUpdate), gate(ir::kGruNew), width, "h"));
  }

  void add_peephole(std::size_t gate_index) {
    scope_.call_within("add_products_f32",
                       arguments(peepholes_ + " + " + std::to_string(gate_index * extents_.hidden),
                                 "c", extents_.hidden, gate(gate_index)));
  }

  void add_lstm() {
    const std::size_t width = extents_.hidden;
    peepholes_ = state("peepholes", ir::kPeepholes);
    const bool peeps = !peepholes_.empty();
    if (peeps) {
      add_peephole(ir::kLstmInput);
      add_peephole(ir::kLstmForget);
      activate(0, gate(ir::kLstmInput), width);
      activate(0, gate(ir::kLstmForget), width);
    } else {
      activate(0, "gates", 3 * width);
    }
    activate(1, gate(ir::kLstmNew), width);
    scope_.call_within("lstm_cells_f32", arguments(gate(ir::kLstmInput),
                                                   op_.input_forget ? "0" : gate(ir::kLstmForget),
                                                   gate(ir::kLstmNew), width, "c"));
    if (op_.cell_clip != 0) {
      add_activation(scope_, {ir::ActivationKind::kClip, -op_.cell_clip, op_.cell_clip}, "c", width,
                     true);
    }
    if (peeps) {
      add_peephole(ir::kLstmOutput);
      activate(0, gate(ir::kLstmOutput), width);
    }
    scope_.line("  memcpy(spare, c, " + std::to_string(width) + " * sizeof *spare);");
    add_activation(scope_, op_.activations[2], "spare", width, true);
    scope_.call_within("multiply_f32", arguments(gate(ir::kLstmOutput), "spare", width, "h"));
  }

  Scope& scope_;
  const ir::Recurrent& op_;
  ir::RecurrentExtents extents_;
  std::vector<StateRows> products_;
  std::string peepholes_;
};

}  // namespace

bool write_recurrent(Scope& scope) {
  const auto* op = scope.op<ir::Recurrent>();
  if (op == nullptr) return false;
  RecurrentLayer(scope, *op).write();
  return true;
}

}  // namespace halftone::export_c
