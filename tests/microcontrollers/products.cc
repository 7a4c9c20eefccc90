// SPDX-License-Identifier: Apache-2.0
// Writes a C program that multiplies by the kernels of halftone/export_c/text, checks the sums and
// prints the instructions of each product: a folder for scripts/microcontrollers.sh.
//   microcontroller_products TEXTS FOLDER small    the products of a test
//   microcontroller_products TEXTS FOLDER layers   those of the table in docs/microcontrollers.md
//   microcontroller_products TEXTS FOLDER costs    those that kernel_costs.cc is fitted to
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/export_c/pack/pack.h"
#include "halftone/numerics/integer_grid.h"
#include "halftone/numerics/test_data.h"

namespace halftone::export_c {
namespace {

using numerics::BitPlanes;

struct Layer {
  std::size_t inputs;
  std::size_t outputs;
};

constexpr Layer kSmall[] = {{96, 10}, {145, 7}};
/// fc 640 to 128, 3 x 3 x 64 to 64, 3 x 3 x 32 to 32, 1 x 1 x 64 to 64, 128 to 128.
constexpr Layer kLayers[] = {{640, 128}, {576, 64}, {288, 32}, {128, 128}, {64, 64}};
constexpr Layer kCosts[] = {{64, 8}, {64, 32}, {256, 8}, {256, 32}};

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// "static const TYPE name[] = {...};"
template <typename Number>
void write_array(std::ostream& to, const std::string& type, const std::string& name,
                 const std::vector<Number>& numbers) {
  to << "static const " << type << " " << name << "[] = {";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    to << (i % 12 == 0 ? "\n  " : " ") << std::to_string(numbers[i]);
    if constexpr (std::is_unsigned_v<Number>) to << "u";
    to << ",";
  }
  to << "\n};\n";
}

/// A program in the making.
class Program {
 public:
  explicit Program(std::ostream& to) : to_(to) {}

  /// The products of a layer with all kernels.
  void add(Random& random, Layer layer) {
    layer_ = layer;
    add_bits(random);
    for (const int bits : {1, 2, 4}) {
      add_levels(random, bits, true);
      if (bits > 1) add_levels(random, bits, false);
    }
    add_bytes(random);
  }

  void finish() {
    to_ << "int main(void) {\n  return 0";
    for (std::size_t i = 0; i < count_; ++i) to_ << " | run_" << i << "()";
    to_ << ";\n}\n";
  }

 private:
  static int sign(bool bit) { return bit ? 1 : -1; }

  /// sum_k of the signs of plane i of x and of a column of w.
  static std::int32_t dot(const BitPlanes& x, std::size_t i, const BitPlanes& w, std::size_t c) {
    std::int32_t sum = 0;
    for (std::size_t k = 0; k < x.cols; ++k) {
      sum += sign(x.planes.test(i, k)) * sign(w.planes.test(c, k));
    }
    return sum;
  }

  void add_bits(Random& random) {
    for (const int bits : {1, 2}) {
      const BitPlanes x = numerics::random_planes(random, 1, layer_.inputs, bits);
      const BitPlanes w = numerics::random_planes(random, layer_.outputs, layer_.inputs, bits);
      const std::string words = std::to_string((layer_.inputs + 31) / 32) + "u";
      const std::string columns = std::to_string(padded_columns(w)) + "u";
      const std::string planes = std::to_string(bits) + "u";
      std::vector<std::int32_t> sums;
      for (std::size_t c = 0; c < w.planes.rows(); ++c) {
        sums.push_back(dot(x, 0, w, c) + (bits == 2 ? 2 * dot(x, 1, w, c) : 0));
      }
      const std::string name = "W" + std::to_string(bits) + "A" + std::to_string(bits);
      if (bits == 1) {
        add_run(name, pack_signs(w), pack_bits(x).words, sums,
                "ht_signs(x, " + words + ", " + std::to_string(x.planes.count(0)) + "u, w, " +
                    columns + ", sums);");
      } else {
        const std::string digits = "static uint32_t digits[8 * " + words +
                                   "];\n  static const int8_t multiples[] = {1, 2};\n  const "
                                   "uint32_t total = ht_digits(x, x + " +
                                   words + ", " + words + ", multiples, digits);\n  ";
        add_run(name, pack_planes(w), pack_bits(x).words, sums,
                digits + "ht_planes(digits, " + words + ", 3u, total, w, " + columns + ", sums);");
        add_run(name, pack_digits_2(w), pack_bits(x).words, even_sums(x, w),
                digits + "memset(sums, 0, " + std::to_string(layer_.outputs) +
                    " * sizeof *sums);\n  ht_digits_2(digits, " + words +
                    ", (int32_t)total, -3, w, " + std::to_string(layer_.outputs) + "u, 1, sums);");
      }
      add_run(name, pack_bits(w), pack_bits(x).words, counts(x, w),
              "ht_bits(x, " + planes + ", w, " + planes + ", " + words + ", " +
                  std::to_string(layer_.outputs) + "u, (uint32_t *)sums);");
    }
  }

  /// sum_k x[k] (2 w[o][k] - 3)
  static std::vector<std::int32_t> even_sums(const BitPlanes& x, const BitPlanes& w) {
    std::vector<std::int32_t> sums(w.rows);
    for (std::size_t o = 0; o < w.rows; ++o) {
      for (std::size_t k = 0; k < x.cols; ++k) {
        sums[o] += static_cast<std::int32_t>(x.code(0, k)) *
                   (2 * static_cast<std::int32_t>(w.code(o, k)) - 3);
      }
    }
    return sums;
  }

  static std::vector<std::int32_t> counts(const BitPlanes& x, const BitPlanes& w) {
    std::vector<std::int32_t> counts;
    for (std::size_t o = 0; o < w.rows; ++o) {
      for (std::size_t i = 0; i < x.planes.rows(); ++i) {
        for (int j = 0; j < w.bits; ++j) {
          counts.push_back((static_cast<std::int32_t>(x.cols) - dot(x, i, w, w.plane(o, j))) / 2);
        }
      }
    }
    return counts;
  }

  void add_levels(Random& random, int bits, bool even) {
    const BitPlanes w = numerics::random_planes(random, layer_.outputs, layer_.inputs, bits);
    // Integers that the grid of weight_steps() has: coefficients that add up to it.
    const int steps = numerics::weight_steps(bits);
    std::vector<float> a(static_cast<std::size_t>(bits));
    int left = steps;
    for (std::size_t j = a.size(); j-- > 1;) {
      const int most = even ? steps / ((1 << bits) - 1) << j : left * 2 / 3 + 1;
      a[j] = static_cast<float>(most);
      left -= most;
    }
    a[0] = static_cast<float>(left);
    const auto encoding = numerics::tensor_encoding(numerics::make_basis(a));
    const std::vector<std::int8_t> x = bytes(random, layer_.inputs);
    std::vector<std::int32_t> sums;
    for (std::size_t o = 0; o < w.rows; ++o) {
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < w.cols; ++k) {
        sum += x[k] * static_cast<std::int32_t>(encoding.basis(0).value(w.code(o, k)));
      }
      sums.push_back(sum);
    }
    add_run("W" + std::to_string(bits) + "A8", pack_levels(w, encoding, Core::kM3), x, sums);
  }

  void add_bytes(Random& random) {
    const std::vector<std::int8_t> x = bytes(random, layer_.inputs);
    const std::vector<std::int8_t> w = bytes(random, layer_.outputs * layer_.inputs);
    std::vector<std::int32_t> sums;
    for (std::size_t o = 0; o < layer_.outputs; ++o) {
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < x.size(); ++k) sum += x[k] * w[o * x.size() + k];
      sums.push_back(sum);
    }
    add_run("W8A8", pack_bytes(MatrixView<const std::int8_t>(w, layer_.outputs, layer_.inputs)), x,
            sums);
  }

  static std::vector<std::int8_t> bytes(Random& random, std::size_t count) {
    std::vector<std::int8_t> bytes(count);
    for (auto& byte : bytes) byte = static_cast<std::int8_t>(random.next() % 256);
    return bytes;
  }

  void add_run(const std::string& bits, const PackedWeights& w, const std::vector<std::int8_t>& x,
               const std::vector<std::int32_t>& sums) {
    add_run(bits, w, x, sums,
            "ht_" + std::string(name_of(w.kernel)) + "(x, w, " + std::to_string(layer_.inputs) +
                "u, " + std::to_string(layer_.outputs) + "u, sums);");
  }

  /// A function that calls a kernel and compares the sums.
  template <typename Input>
  void add_run(const std::string& bits, const PackedWeights& w, const std::vector<Input>& x,
               const std::vector<std::int32_t>& sums, const std::string& call) {
    const std::string i = std::to_string(count_++);
    write_array(to_, std::is_same_v<Input, std::int8_t> ? "int8_t" : "uint32_t", "x_" + i, x);
    write_array(to_, "uint32_t", "w_" + i, w.words);
    write_array(to_, "int32_t", "sums_" + i, sums);
    to_ << "static int run_" << i << "(void) {\n  int32_t *const sums = output;\n"
        << "  const " << (std::is_same_v<Input, std::int8_t> ? "int8_t" : "uint32_t")
        << " *const x = x_" << i << ";\n  const uint32_t *const w = w_" << i << ";\n"
        << "  const uint32_t begin = instructions();\n  " << call << "\n  return report(\""
        << layer_.inputs << "," << layer_.outputs << "," << bits << "," << name_of(w.kernel)
        << "\", instructions() - begin, " << layer_.inputs * layer_.outputs << "u, sums_" << i
        << ", " << sums.size() << "u);\n}\n";
  }

  std::ostream& to_;
  Layer layer_{};
  std::size_t count_ = 0;
};

constexpr const char* kHead = R"(#include <stdint.h>
#include <stdio.h>
#include <string.h>
#if defined(__ARM_FEATURE_DSP)
#include <arm_acle.h>
#endif
)";

constexpr const char* kReport = R"(
uint32_t instructions(void);
static int32_t output[1024];

static int report(const char *name, uint32_t spent, uint32_t macs, const int32_t *sums,
                  uint32_t count) {
  const uint32_t hundredths = (uint32_t)((100u * (uint64_t)spent + macs / 2u) / macs);
  const int is_wrong = memcmp(output, sums, count * sizeof *sums) != 0;
  printf("%s,%lu,%lu.%02lu%s\n", name, (unsigned long)spent, (unsigned long)(hundredths / 100u),
         (unsigned long)(hundredths % 100u), is_wrong ? ",wrong sums" : "");
  return is_wrong;
}

)";

int write(const std::filesystem::path& texts, const std::filesystem::path& folder,
          std::span<const Layer> layers) {
  std::filesystem::create_directories(folder);
  std::ofstream to(folder / "main.c");
  to << kHead;
  for (const char* name :
       {"prelude", "multiply_add", "add_four", "after", "bits", "signs", "digits", "planes",
        "digits_2", "levels", "columns_1", "scale_levels", "levels_1", "levels_1_1", "levels_2",
        "levels_4", "level_table", "bytes"}) {
    to << text_of(texts / (std::string(name) + ".c"));
  }
  to << kReport;
  Random random(61);
  Program program(to);
  for (const Layer layer : layers) program.add(random, layer);
  program.finish();
  return to.good() ? 0 : 1;
}

}  // namespace
}  // namespace halftone::export_c

int main(int argc, char** argv) {
  using namespace halftone::export_c;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 3) {
    std::cerr << "expected TEXTS FOLDER small|layers|costs\n";
    return 2;
  }
  if (arguments[2] == "small") return write(arguments[0], arguments[1], kSmall);
  if (arguments[2] == "costs") return write(arguments[0], arguments[1], kCosts);
  return write(arguments[0], arguments[1], kLayers);
}
