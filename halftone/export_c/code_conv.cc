// SPDX-License-Identifier: Apache-2.0
// Convolutions of codes: a loop over the pixels of the output, in which kernels gather a window,
// multiply it and finish the outputs.
#include <algorithm>
#include <cmath>
#include <vector>

#include "halftone/export_c/code_layers.h"
#include "halftone/export_c/even_layer.h"
#include "halftone/export_c/level_products.h"
#include "halftone/export_c/pack/pack.h"
#include "halftone/export_c/write_layers.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/depthwise_conv.h"
#include "halftone/runtime/convolution/convolution.h"

namespace halftone::export_c {
namespace {

kernels::ConvShape shape_of(const Scope& scope, const ir::Conv& conv) {
  const auto extent = [](ir::Dim dim) { return static_cast<std::size_t>(dim); };
  const ir::Shape& w = scope.input(1).shape;
  return {1,
          runtime::conv_axes(conv.window, ir::kernel_extents(w), scope.input(0).shape,
                             scope.output().shape),
          extent(scope.input(0).shape.back()), extent(w[0]), extent(conv.groups)};
}

/// So few bases of a depthwise convolution are stored, more are computed, which takes code.
constexpr std::size_t kFewBases = 200;

/// Writes one convolution.
class CodeConv {
 public:
  CodeConv(Scope& scope, const ir::Conv& conv, const ir::EncodedTensor& weights)
      : scope_(scope),
        conv_(conv),
        weights_(weights),
        extents_(window_extents(scope, conv.window, ir::kernel_extents(scope.input(1).shape))),
        shape_(shape_of(scope, conv)),
        patterns_(shape_),
        outputs_(shape_.outputs) {}

  void write(bool is_bits) {
    scope_.reads("x", 0);
    if (scope_.has_input(3)) {
      if (scope_.constant(3) != nullptr) scope_.refuse("a constant that is added");
      if (scope_.is_by_pixel(scope_.what().inputs[3])) {
        scope_.scratch("residual", "float", outputs_);
      } else {
        scope_.reads("residual", 3);
      }
    }
    if (is_by_pixel()) {
      scope_.write_by_pixel();
    } else {
      scope_.writes("y");
    }
    const bool is_depthwise = ir::is_depthwise(conv_, scope_.input(1).shape) && !is_bits;
    if (!is_depthwise && conv_.groups != 1) scope_.refuse("groups of channels");
    if (is_bits && write_even_bits()) return;
    if (is_bits) {
      write_bits();
    } else if (is_depthwise) {
      write_depthwise();
    } else {
      write_levels();
    }
    finish();
  }

 private:
  [[nodiscard]] bool is_by_pixel() const { return scope_.is_by_pixel(scope_.what().output); }

  /// Begins the loop over pixels, behind declarations; `base` and `sums` are those of the pixel.
  /// @param name  of the bases, [patterns, outputs]
  void begin_loop(const std::string& name) {
    const bool is_encoded = conv_.codes != nullptr;
    if (is_encoded) {
      scope_.scratch("sums", "float", outputs_);
      encoder_ = add_encoder(scope_, *conv_.codes, follower_activation(), scope_.output_codes());
    }
    begin_pixels();
    scope_.line("  const float *base = " + name + of_pattern(outputs_) + ";");
    if (!is_encoded && !is_by_pixel()) {
      scope_.line("  float *sums = y + p * " + std::to_string(outputs_) + ";");
    }
  }

  /// Begins the loop over pixels p, with the index of their `pattern` if there are several.
  void begin_pixels() {
    const bool has_patterns = patterns_.count() > 1;
    if (has_patterns) add_patterns();
    if (!is_by_pixel()) {
      scope_.line("for (int32_t p = 0; p < " +
                  std::to_string(extents_.out_height * extents_.out_width) + "; ++p) {");
    }
    if (!has_patterns) return;
    const std::string width = std::to_string(extents_.out_width);
    scope_.line("  const int32_t pattern = row_bases[p / " + width + "] + column_bases[p % " +
                width + "];");
  }

  /// What leads from the first numbers of all patterns to those of the pixel.
  [[nodiscard]] std::string of_pattern(std::size_t numbers) const {
    return patterns_.count() > 1 ? " + pattern * " + std::to_string(numbers) : "";
  }

  /// Which row of the bases a pixel has.
  void add_patterns() {
    std::vector<std::int16_t> rows;
    for (ir::Dim y = 0; y < extents_.out_height; ++y) {
      rows.push_back(static_cast<std::int16_t>(patterns_.line(0, static_cast<std::size_t>(y))));
    }
    std::vector<std::int16_t> columns;
    for (const std::size_t each : patterns_.along_line()) {
      columns.push_back(static_cast<std::int16_t>(each));
    }
    const std::string row_name = scope_.array<std::int16_t>("row_bases", rows);
    const std::string column_name = scope_.array<std::int16_t>("column_bases", columns);
    scope_.line("const int16_t *row_bases = " + row_name + ";");
    scope_.line("const int16_t *column_bases = " + column_name + ";");
  }

  /// What the encoder applies: nothing, if the activation has limits.
  [[nodiscard]] ir::Activation follower_activation() const {
    return ir::limits_of(conv_.activation) ? ir::Activation{} : conv_.activation;
  }

  void finish() {
    const std::string n = std::to_string(outputs_);
    if (scope_.has_input(3)) {
      const bool asks = scope_.is_by_pixel(scope_.what().inputs[3]);
      if (asks) scope_.compute_pixel(3, "p", "residual");
      scope_.call_within("add_to_f32",
                         arguments(asks ? "residual" : "residual + p * " + n, n, "sums"));
    }
    const bool is_encoded = conv_.codes != nullptr;
    if (!is_encoded || ir::limits_of(conv_.activation)) {
      add_activation(scope_, conv_.activation, "sums", outputs_, true);
    }
    if (is_encoded) {
      add_row_codes(scope_, scope_.output_codes(), encoder_, "sums", "p");
      if (may_overwrite()) scope_.may_overwrite();
    }
    if (!is_by_pixel()) scope_.line("}");
  }

  /// Whether codes of a pixel never lie where inputs of it or of a later one do, even if both
  /// images begin at one address.
  [[nodiscard]] bool may_overwrite() const {
    if (scope_.has_input(3)) return false;
    const std::size_t from = scope_.input_codes().row_bits();
    const std::size_t to = scope_.output_codes().row_bits();
    if (shape_.is_pointwise()) return to <= from;
    if (!reads_lines_) return false;
    for (ir::Dim y = 0; y < extents_.out_height; ++y) {
      const ir::Dim read = y * extents_.stride_y - extents_.pad_top +
                           (extents_.kernel_height - 1) * extents_.dilation_y + 1;
      if (read >= extents_.height) break;
      const auto written = static_cast<std::size_t>((y + 1) * extents_.out_width) * to;
      if (read <= 0 || written > static_cast<std::size_t>(read * extents_.width) * from)
        return false;
    }
    return true;
  }

  [[nodiscard]] std::vector<float> bases_of(std::span<const std::vector<double>> tap_sums,
                                            double offset, double zero) const {
    const std::span<const float> bias = bias_of(scope_);
    std::vector<float> all(patterns_.count() * outputs_);
    std::vector<double> bases(patterns_.count());
    for (std::size_t o = 0; o < outputs_; ++o) {
      const double b = bias.empty() ? 0 : static_cast<double>(bias[o]);
      kernels::padded_bases(patterns_, tap_sums[o], {b, offset, zero}, bases);
      for (std::size_t p = 0; p < bases.size(); ++p) {
        all[p * outputs_ + o] = static_cast<float>(bases[p]);
      }
    }
    return all;
  }

  /// Whether kernels read a window in x itself, not one that is gathered.
  [[nodiscard]] bool is_in_place() const {
    const CodeMemory memory = scope_.input_codes().memory;
    return shape_.is_pointwise() && !copies_window_ &&
           (memory == CodeMemory::kBytes || memory == CodeMemory::kPlanes);
  }
  /// "p / 5, p % 5"
  [[nodiscard]] std::string pixel() const {
    const std::string width = std::to_string(extents_.out_width);
    return arguments("p / " + width, "p % " + width);
  }
  /// The names of the levels of packed codes.
  std::string add_levels(const kernels::Int8Levels& levels) {
    const std::size_t count = std::size_t{1} << scope_.input(0).encoding.codes->bits;
    return scope_.array<std::int8_t>("levels", std::span(levels.q).first(count), true);
  }

  /// What does not depend on the inputs, [patterns, outputs].
  [[nodiscard]] std::vector<float> bit_bases(const numerics::Basis& x) const {
    std::vector<std::vector<double>> tap_sums;
    for (std::size_t o = 0; o < outputs_; ++o) {
      tap_sums.push_back(kernels::tap_sums(shape_, weights_.codes, o, basis_of(o)));
    }
    return bases_of(tap_sums, static_cast<double>(x.offset), static_cast<double>(x.value(0)));
  }
  [[nodiscard]] numerics::Basis basis_of(std::size_t output) const {
    return weights_.encoding->basis(output, 0, weights_.codes.cols);
  }
  [[nodiscard]] bool has_offset() const { return !weights_.encoding->is_centred(); }

  /// Adds the window and where it is gathered.
  void add_bit_window(std::size_t planes) {
    if (is_in_place()) return;
    add_window(scope_, extents_);
    scope_.scratch("window_of_p", "uint32_t", planes * ((weights_.codes.cols + 31) / 32));
  }
  /// The expression of the window of pixel p: a pixel of x, or what a kernel has gathered.
  std::string bit_window(std::size_t planes) {
    const CodeRows from = scope_.input_codes();
    if (is_in_place()) return from.at("x", "p");
    scope_.call_within("gather_bits", arguments("x", planes, from.plane_bits(), "&window", pixel(),
                                                0, extents_.channels, "window_of_p"));
    return "window_of_p";
  }
  /// Adds what a window of bytes is gathered by.
  void add_byte_window(const kernels::Int8Levels& levels) {
    if (is_in_place()) return;
    add_window(scope_, extents_);
    scope_.scratch("window_of_p", "int8_t", weights_.codes.cols);
    if (scope_.input_codes().memory == CodeMemory::kPacked) levels_ = add_levels(levels);
  }
  std::string byte_window() {
    const CodeRows from = scope_.input_codes();
    if (is_in_place()) return from.at("x", "p");
    if (from.is_bytes()) {
      scope_.call_within("gather_bytes", arguments("x", 0, "&window", pixel(), 0, extents_.channels,
                                                   "window_of_p"));
    } else {
      scope_.call_within("gather_packed",
                         arguments("x", from.bits, levels_, "&window", pixel(), "window_of_p"));
    }
    return "window_of_p";
  }

  void write_bits() {
    const numerics::BitPlanes& w = weights_.codes;
    const numerics::Basis x = scope_.input(0).encoding.codes->basis(0);
    std::vector<float> scales;
    std::vector<float> offsets;
    for (std::size_t o = 0; o < outputs_; ++o) {
      const numerics::Basis basis = basis_of(o);
      scales.insert(scales.end(), basis.a().begin(), basis.a().end());
      offsets.push_back(basis.offset);
    }
    const auto digits = numerics::split_digits(x, shape_.inputs());
    const PackedWeights weights =
        pack_digits(w, digits, static_cast<std::size_t>(x.bits), scope_.what().core);
    const Product product{w.cols, outputs_, static_cast<std::size_t>(x.bits), digits.size(),
                          static_cast<std::size_t>(w.bits)};
    scope_.multiplies(weights.kernel, product);
    scope_.takes_steps(text_of(weights.kernel),
                       scope_.rows() * outputs_ * product.x_digits * product.w_planes);
    const std::string digit_arguments = add_digits(digits);
    const std::string packed = scope_.array<std::uint32_t>("weights", weights.words);
    const std::string a = scope_.array<float>("scales", scales);
    const std::string c = has_offset() ? scope_.array<float>("offsets", offsets) : "0";
    scope_.line("static const ht_bit_conv layer = {" +
                arguments(w.cols, x.bits, w.bits, outputs_, digit_arguments, a, c) + "};");
    const auto planes = static_cast<std::size_t>(x.bits);
    add_bit_window(planes);
    begin_loop(scope_.array<float>("bases", bit_bases(x)));
    multiply_bits(weights, bit_window(planes), packed);
  }

  /// The outputs of each pattern as functions of the sums of even levels.
  [[nodiscard]] std::vector<OutputOfSum> even_outputs(const EvenLayer& layer,
                                                      std::span<const float> bases) const {
    RoundedSum inputs;
    std::vector<double> reaches;
    for (const numerics::Digit& digit : layer.digits) {
      reaches.push_back(std::abs(double{digit.unit}) * static_cast<double>(digit.reach()) *
                        static_cast<double>(layer.inputs));
      inputs.add(reaches.back(), 1);
    }
    std::vector<OutputOfSum> outputs;
    for (std::size_t i = 0; i < bases.size(); ++i) {
      const std::size_t o = i % outputs_;
      const numerics::Basis basis = basis_of(o);
      RoundedSum sum;  // as text/conv_bits_f32.c adds
      sum.add(std::abs(double{bases[i]}), 0);
      for (const double reach : reaches) {
        for (const float a : basis.a()) sum.add(reach * std::abs(double{a}), 2);
      }
      const double c = std::abs(double{basis.offset});
      sum.add(c * inputs.reach(), 1, c * inputs.error());
      outputs.push_back({layer.scale * layer.steps[o],
                         double{bases[i]} - layer.steps[o] * layer.rests[o],
                         0x1p-24 * sum.error()});
    }
    return outputs;
  }

  /// Writes a convolution whose codes follow from integers; false if it is none.
  bool write_even_bits() {
    if (conv_.codes == nullptr || scope_.has_input(3)) return false;
    const numerics::Basis x = scope_.input(0).encoding.codes->basis(0);
    const ir::Activation limited =
        ir::limits_of(conv_.activation) ? conv_.activation : ir::Activation{};
    const CodeRows to = scope_.output_codes();
    const auto encoder = sum_encoder(*conv_.codes, follower_activation(), limited, to);
    const auto layer = encoder ? even_layer(weights_, x) : std::nullopt;
    if (!layer) return false;
    const std::vector<float> bases = bit_bases(x);
    const auto codes =
        find_sum_codes(even_outputs(*layer, bases), layer->largest, encoder->counter);
    if (!codes) return false;
    // Floats read the window again, when codes have been written.
    copies_window_ = may_overwrite() && !codes->unsure.empty();
    const EvenNames names = add_even_layer(scope_, *layer);
    const SumThresholds thresholds = add_thresholds(scope_, *codes, *encoder);
    const auto planes = static_cast<std::size_t>(x.bits);
    add_bit_window(planes);
    if (!codes->unsure.empty()) {
      add_encoder(scope_, *conv_.codes, follower_activation(), to);
    }
    if (may_overwrite()) scope_.may_overwrite();
    begin_pixels();
    const std::string window = bit_window(planes);
    const std::string y = begin_codes(scope_, to, "p");
    add_even_sums(scope_, *layer, names, window);
    add_sum_encoder(scope_, *encoder, thresholds, patterns_.count() > 1 ? "pattern" : "", y);
    for (const UnsureSum& each : codes->unsure) {
      begin_unsure(each, bases, window);
      add_unsure_code(scope_, *encoder, each.row % outputs_, outputs_, y);
    }
    end_codes(scope_, to, "p");
    scope_.line("}");
    return true;
  }

  /// Computes `number`, an output as the runtime does, if its sum is one whose code is unsure.
  void begin_unsure(const UnsureSum& unsure, std::span<const float> bases,
                    const std::string& window) {
    const std::size_t o = unsure.row % outputs_;
    const numerics::Basis basis = basis_of(o);
    const numerics::Basis x = scope_.input(0).encoding.codes->basis(0);
    const std::string index =
        "_" + std::to_string(unsure.row) + "_" + std::to_string(unsure.sum + 32768);
    const std::string digits = add_digits(numerics::split_digits(x, shape_.inputs()), index);
    const std::string w =
        scope_.array<std::uint32_t>("weights" + index, pack_bits(weights_.codes.slice(o, 1)).words);
    const std::string a = scope_.array<float>("scales" + index, basis.a());
    const std::string c =
        has_offset() ? scope_.array<float>("offset" + index, std::span(&basis.offset, 1)) : "0";
    const std::string which =
        patterns_.count() > 1 ? "pattern == " + std::to_string(unsure.row / outputs_) + " && " : "";
    scope_.line("  if (" + which + "sums[" + std::to_string(o) +
                "] == " + std::to_string(unsure.sum) + ") { /* floats decide */");
    scope_.line("    static const ht_bit_conv unsure = {" +
                arguments(weights_.codes.cols, x.bits, weights_.codes.bits, 1, digits, a, c) +
                "};");
    scope_.line("    const float base = " + exact(bases[unsure.row]) + ";");
    scope_.line("    float number;");
    scope_.needs("conv_bits_f32");
    scope_.line("    ht_conv_bits_f32(" + arguments(window, w, "&unsure", "&base", "&number") +
                ");");
  }

  static std::string text_of(Kernel kernel) {
    return "conv_" + std::string(name_of(kernel)) + "_f32";
  }
  /// Calls the kernel that the weights are packed for.
  /// @param packed  their name
  void multiply_bits(const PackedWeights& weights, const std::string& window,
                     const std::string& packed) {
    const numerics::BitPlanes& w = weights_.codes;
    std::string memory;
    if (weights.kernel == Kernel::kPlanes) {
      scope_.scratch("digits", "uint32_t", 8 * ((w.cols + 31) / 32));
      memory += "digits, ";
    }
    if (weights.kernel != Kernel::kBits) {
      scope_.scratch("products", "int32_t", padded_columns(w));
      memory += "products, ";
    }
    scope_.call_within(text_of(weights.kernel),
                       arguments(window, packed, "&layer", "base", memory + "sums"), true);
  }

  /// @return the arguments of ht_bit_conv from the number of digits on
  std::string add_digits(std::span<const numerics::Digit> digits, const std::string& suffix = "") {
    std::vector<std::int8_t> planes;
    std::vector<std::int8_t> multiples;
    std::vector<float> units;
    for (const numerics::Digit& digit : digits) {
      for (std::size_t k = 0; k < 2; ++k) {
        planes.push_back(static_cast<std::int8_t>(digit.planes[k]));
        multiples.push_back(static_cast<std::int8_t>(digit.multiples[k]));
      }
      units.push_back(digit.unit);
    }
    const std::string p = scope_.array<std::int8_t>("planes" + suffix, planes);
    const std::string m = scope_.array<std::int8_t>("multiples" + suffix, multiples);
    const std::string u = scope_.array<float>("units" + suffix, units);
    return arguments(units.size(), p, m, u);
  }

  void write_levels() {
    if (ir::gathers_inputs(scope_.input(1).shape, weights_.encoding->group_size)) {
      scope_.refuse("so many inputs of an output, or weights in groups");
    }
    const kernels::Int8Levels levels(scope_.input(0).encoding.codes->levels(0));
    const kernels::Int8Pixels x{nullptr, levels.scale, levels.offset};
    const kernels::ByteConvWeights packed(shape_,
                                          {weights_.codes, *weights_.encoding, bias_of(scope_)}, x,
                                          kernels::ByteLayout::kBytes);
    const auto column = [&](std::size_t o) { return o; };  // one group: blocks have no gaps
    std::vector<float> bases(patterns_.count() * outputs_);
    std::vector<float> half_steps;
    std::vector<float> centers;
    for (std::size_t o = 0; o < outputs_; ++o) {
      for (std::size_t p = 0; p < patterns_.count(); ++p) {
        bases[p * outputs_ + o] = packed.base(p)[column(o)];
      }
    }
    for (std::size_t s = 0; s < packed.sections(); ++s) {
      for (std::size_t o = 0; o < outputs_; ++o) {
        half_steps.push_back(packed.half_steps(s)[column(o)]);
        centers.push_back(packed.centers(s)[column(o)]);
      }
    }
    const LevelProducts products = add_level_products(scope_, weights_.codes, *weights_.encoding);
    const std::string h = scope_.array<float>("half_steps", half_steps);
    const std::string c = packed.has_centers() ? scope_.array<float>("centers", centers) : "0";
    scope_.scratch("products", "int32_t", outputs_);
    add_byte_window(levels);
    begin_loop(scope_.array<float>("bases", bases));
    const std::string window = byte_window();
    const std::size_t inputs = weights_.codes.cols;
    if (products.groups > 1) {
      scope_.line("  memcpy(sums, base, " + std::to_string(outputs_) + " * sizeof *sums);");
      return add_group_sums(scope_, products, {window, inputs, outputs_, h, c}, "products", "sums");
    }
    scope_.call_within(
        products.text,
        arguments(window, products.weights, inputs, outputs_) + products.last + ", products", true);
    scope_.needs("sum_i8");
    scope_.call_within("conv_levels_f32",
                       arguments("products", "ht_sum_i8(" + arguments(window, inputs) + ")",
                                 outputs_, "base", h, c, "sums"));
  }

  /// Adds a call that computes the bases of a depthwise convolution as kernels::padded_bases()
  /// does: the same operations of float64, whose sums of weights are exact there.
  /// @return the name of the bases
  std::string compute_bases(const std::string& weights, std::span<const float> scales,
                            float offset) {
    std::vector<std::int16_t> pixels(2 * patterns_.count());
    for (std::size_t y = 0; y < shape_.axes[1].output; ++y) {
      for (std::size_t x = 0; x < shape_.axes[2].output; ++x) {
        const std::size_t pattern = patterns_.of(0, y, x);
        pixels[2 * pattern] = static_cast<std::int16_t>(y);
        pixels[2 * pattern + 1] = static_cast<std::int16_t>(x);
      }
    }
    const std::span<const float> bias = bias_of(scope_);
    scope_.takes_steps("depthwise_bases_f32", pixels.size() / 2 * outputs_);
    scope_.scratch("bases", "float", patterns_.count() * outputs_);
    const std::string at = scope_.array<std::int16_t>("pixels", pixels);
    const std::string b = bias.empty() ? "0" : scope_.array<float>("bias", bias);
    const std::string s = scope_.array<float>("channel_scales", scales);
    scope_.call_after("depthwise_bases_f32", arguments("&window", at, patterns_.count(), weights, b,
                                                       s, exact(offset), "bases"));
    return "bases";
  }

  void write_depthwise() {
    const kernels::Int8Levels levels(scope_.input(0).encoding.codes->levels(0));
    const std::size_t taps = shape_.taps();
    std::vector<std::vector<double>> tap_sums(outputs_, std::vector<double>(taps));
    std::vector<float> scales;
    std::vector<float> channel_scales;
    std::vector<std::int16_t> weights(taps * outputs_);
    for (std::size_t c = 0; c < outputs_; ++c) {
      const kernels::DepthwiseChannel channel(weights_.codes, *weights_.encoding, c);
      scales.push_back(channel.scale * levels.scale);
      channel_scales.push_back(channel.scale);
      for (std::size_t t = 0; t < taps; ++t) {
        tap_sums[c][t] = static_cast<double>(channel.scale) * channel.i[t];
        weights[t * outputs_ + c] = channel.i[t];
      }
    }
    const std::string w = scope_.array<std::int16_t>("weights", weights);
    const std::string s = scope_.array<float>("scales", scales);
    add_window(scope_, extents_);
    const CodeRows from = scope_.input_codes();
    reads_lines_ = from.memory == CodeMemory::kPacked;
    const ir::Dim lines =
        reads_lines_
            ? std::min(extents_.height, (extents_.kernel_height - 1) * extents_.dilation_y + 1)
            : extents_.height;
    if (reads_lines_) {
      scope_.scratch("lines", "int8_t",
                     static_cast<std::size_t>(lines * extents_.width) * outputs_);
      levels_ = add_levels(levels);
    }
    const auto offset = static_cast<double>(levels.offset);
    const std::vector<float> bases = bases_of(tap_sums, offset, offset);
    begin_loop(patterns_.count() > 1 && outputs_ * patterns_.count() > kFewBases
                   ? compute_bases(w, channel_scales, levels.offset)
                   : scope_.array<float>("bases", bases));
    if (reads_lines_) {
      scope_.call_within("next_lines",
                         arguments("x", from.bits, levels_, "&window", "p", lines, "lines"));
    }
    scope_.call_within(
        "depthwise_levels_f32",
        arguments(reads_lines_ ? "lines" : "x", "&window", lines, pixel(), w, "base", s, "sums"),
        true);
  }

  Scope& scope_;
  const ir::Conv& conv_;
  const ir::EncodedTensor& weights_;
  WindowExtents extents_;
  kernels::ConvShape shape_;
  kernels::PaddingPatterns patterns_;
  std::size_t outputs_;
  bool copies_window_ = false;  ///< whether a window is copied that could be read in x
  bool reads_lines_ = false;    ///< whether lines of x are unpacked before they are read
  std::string levels_;          ///< the name of those of packed codes
  std::string encoder_;         ///< the kernel that encodes outputs
};

}  // namespace

void write_code_conv(Scope& scope, const ir::Conv& conv, const ir::EncodedTensor& weights,
                     bool is_bits) {
  CodeConv(scope, conv, weights).write(is_bits);
}

}  // namespace halftone::export_c
