// SPDX-License-Identifier: Apache-2.0
// Fully connected layers and convolutions of codes of few bits.
#include "halftone/export_c/code_layers.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "halftone/export_c/decoded_rows.h"
#include "halftone/export_c/even_layer.h"
#include "halftone/export_c/pack/pack.h"
#include "halftone/export_c/row_products.h"
#include "halftone/export_c/write_layers.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/kernels/encode/encode.h"

namespace halftone::export_c {
namespace {

using numerics::Basis;

/// Weights of codes; null if they are others.
const ir::EncodedTensor* encoded_weights(const Scope& scope) {
  const ir::Constant* constant = scope.constant(1);
  return constant == nullptr ? nullptr : std::get_if<ir::EncodedTensor>(constant);
}

/// Begins the loop over rows of the input.
void begin_rows(Scope& scope) {
  const std::size_t rows = runtime::row_extent(scope.input(0).shape).rows;
  scope.line("for (int32_t r = 0; r < " + std::to_string(rows) + "; ++r) {");
}

/// The numbers that become codes, or the output.
void add_dense_output(Scope& scope) {
  if (scope.what().encode == nullptr) return scope.writes("y");
  scope.writes("codes");
  scope.scratch("y", "float", scope.output().shape.element_count());
}

/// The outputs as functions of the sums of even levels.
std::vector<OutputOfSum> even_outputs(const EvenLayer& layer, const Basis& x,
                                      const BitFloats& floats, std::span<const float> bias) {
  const auto n = static_cast<double>(layer.inputs);
  const auto w_planes = static_cast<std::size_t>(layer.w_bits);
  RoundedSum inputs;
  for (const float a : x.a()) inputs.add(n * std::abs(double{a}), 1);
  inputs.add(n * std::abs(double{x.offset}), 1);
  std::vector<OutputOfSum> outputs;
  for (std::size_t o = 0; o < layer.steps.size(); ++o) {
    RoundedSum sum;  // as text/dense_bits_f32.c adds
    for (const float a : x.a()) {
      for (std::size_t j = 0; j < w_planes; ++j) {
        sum.add(n * std::abs(double{a} * double{floats.scales[o * w_planes + j]}), 2);
      }
    }
    const double c = floats.offsets.empty() ? 0 : double{floats.offsets[o]};
    sum.add(std::abs(c) * inputs.reach(), 1, std::abs(c) * inputs.error());
    const double b = bias.empty() ? 0 : double{bias[o]};
    const double of_offset = double{x.offset} * double{floats.sums[o]};
    sum.add(std::abs(of_offset), 1);
    sum.add(std::abs(b), 0);
    const double constant = c * n * double{x.offset} + of_offset + b;
    outputs.push_back({layer.scale * layer.steps[o], constant - layer.steps[o] * layer.rests[o],
                       0x1p-24 * sum.error()});
  }
  return outputs;
}

/// A layer of bits, and the codes of its outputs.
class EvenDense {
 public:
  EvenDense(Scope& scope, const ir::EncodedTensor& weights)
      : scope_(scope),
        weights_(weights),
        x_(scope.input(0).encoding.codes->basis(0)),
        bias_(bias_of(scope)),
        floats_(bit_floats(weights, bias_)),
        outputs_(weights.codes.rows) {}

  /// False if codes do not follow from integers.
  bool write() {
    const ir::Encode* encode = scope_.what().encode;
    const ir::Activation& limited = scope_.op<ir::FullyConnected>()->activation;
    if (encode == nullptr) return false;
    const CodeRows to = scope_.output_codes();
    const auto encoder = sum_encoder(*encode->encoding, encode->activation, limited, to);
    const auto layer = encoder ? even_layer(weights_, x_) : std::nullopt;
    if (!layer) return false;
    const auto codes =
        find_sum_codes(even_outputs(*layer, x_, floats_, bias_), layer->largest, encoder->counter);
    if (!codes) return false;
    scope_.reads("x", 0);
    scope_.writes("y");
    const EvenNames names = add_even_layer(scope_, *layer);
    const SumThresholds thresholds = add_thresholds(scope_, *codes, *encoder);
    if (!codes->unsure.empty()) add_encoder(scope_, *encode->encoding, encode->activation, to);
    begin_rows(scope_);
    const std::string row = scope_.input_codes().at("x", "r");
    const std::string y = begin_codes(scope_, to, "r");
    add_even_sums(scope_, *layer, names, row);
    add_sum_encoder(scope_, *encoder, thresholds, "", y);
    for (const UnsureSum& each : codes->unsure) {
      begin_unsure(each, row);
      add_unsure_code(scope_, *encoder, each.row, outputs_, y);
    }
    end_codes(scope_, to, "r");
    scope_.line("}");
    return true;
  }

 private:
  /// Computes `number`, an output as the runtime does, if its sum is one whose code is unsure.
  void begin_unsure(const UnsureSum& unsure, const std::string& row) {
    const std::size_t o = unsure.row;
    const std::string name = "_" + std::to_string(o) + "_" + std::to_string(unsure.sum + 32768);
    const auto planes = static_cast<std::size_t>(weights_.codes.bits);
    const auto one = [&](const std::string& kind, std::span<const float> numbers,
                         std::size_t count) {
      return scope_.array<float>(kind + name, numbers.subspan(o * count, count));
    };
    const std::string w =
        scope_.array<std::uint32_t>("weights" + name, pack_bits(weights_.codes.slice(o, 1)).words);
    const std::string x_scales = scope_.array<float>("x_scales" + name, x_.a());
    const std::string a = one("scales", floats_.scales, planes);
    const std::string c = floats_.offsets.empty() ? "0" : one("offset", floats_.offsets, 1);
    const std::string t = x_.offset != 0 ? one("sum", floats_.sums, 1) : "0";
    const std::string b = bias_.empty() ? "0" : one("bias", bias_, 1);
    scope_.line("  if (sums[" + std::to_string(o) + "] == " + std::to_string(unsure.sum) +
                ") { /* floats decide */");
    scope_.line(
        "    static const ht_bit_layer unsure = {" +
        arguments(weights_.codes.cols, x_.bits, planes, 1, x_scales, exact(x_.offset), a, c, t, b) +
        "};");
    scope_.line("    float number;");
    scope_.needs("dense_bits_f32");
    scope_.line("    ht_dense_bits_f32(" + arguments(row, w, "&unsure", "&number") + ");");
  }

  Scope& scope_;
  const ir::EncodedTensor& weights_;
  Basis x_;
  std::span<const float> bias_;
  BitFloats floats_;
  std::size_t outputs_;
};

void write_dense_bits(Scope& scope, const ir::EncodedTensor& weights) {
  scope.reads("x", 0);
  add_dense_output(scope);
  const BitRows rows(scope, weights, scope.input(0).encoding.codes->basis(0), bias_of(scope));
  begin_rows(scope);
  rows.multiply("x + r * " + std::to_string(rows.words()),
                "y + r * " + std::to_string(weights.codes.rows));
  scope.line("}");
}

void write_dense_levels(Scope& scope, const ir::EncodedTensor& weights) {
  const std::size_t inputs = weights.codes.cols;
  const bool is_dense = scope.input(0).encoding.is_dense();
  const std::optional<kernels::Int8Levels> levels =
      is_dense ? std::nullopt
               : std::optional<kernels::Int8Levels>(scope.input(0).encoding.codes->levels(0));
  scope.reads("x", 0);
  add_dense_output(scope);
  const LevelRows rows(scope, weights, levels ? levels->offset : 0, bias_of(scope));
  if (is_dense) scope.scratch("q", "int8_t", inputs);
  begin_rows(scope);
  const std::string row = "x + r * " + std::to_string(inputs);
  const std::string scale =
      is_dense ? add_rounded_row(scope, row, inputs, "q") : exact(levels->scale);
  rows.multiply(is_dense ? "q" : row, scale, "y + r * " + std::to_string(weights.codes.rows));
  scope.line("}");
}

}  // namespace

std::span<const float> bias_of(const Scope& scope) {
  if (!scope.has_input(2)) return {};
  const ir::Constant* constant = scope.constant(2);
  if (constant == nullptr) scope.refuse("a bias that is computed");
  return std::get<ir::Tensor>(*constant).as<float>();
}

bool write_code_layer(Scope& scope) {
  const ir::EncodedTensor* weights = encoded_weights(scope);
  const auto* dense = scope.op<ir::FullyConnected>();
  const auto* conv = scope.op<ir::Conv>();
  if (weights == nullptr || (dense == nullptr && conv == nullptr)) return false;
  const auto arithmetic = ir::arithmetic_of(scope.what().graph, scope.what().node);
  const bool is_bits = arithmetic == ir::Arithmetic::kBits;
  if (!is_bits && arithmetic != ir::Arithmetic::kIntegers) {
    write_decoded_rows(scope, *weights);
    return true;
  }
  if (conv != nullptr) {
    write_code_conv(scope, *conv, *weights, is_bits);
    return true;
  }
  if (is_bits && EvenDense(scope, *weights).write()) return true;
  if (is_bits) {
    write_dense_bits(scope, *weights);
  } else {
    write_dense_levels(scope, *weights);
  }
  add_activation(scope, dense->activation, "y", scope.output().shape.element_count(), false);
  const ir::Encode* encode = scope.what().encode;
  if (encode != nullptr) add_encode(scope, *encode, "y");
  return true;
}

}  // namespace halftone::export_c
