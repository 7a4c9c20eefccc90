// SPDX-License-Identifier: Apache-2.0
// Every text compiles as CUDA C++ for all generations of cards, where NVRTC is installed.
#include "halftone/gpu/texts.h"

#include <gtest/gtest.h>

#include <cctype>
#include <charconv>

#include "halftone/base/testing.h"
#include "halftone/gpu/groups.h"
#include "halftone/gpu/norms.h"
#include "halftone/gpu/nvrtc.h"
#include "halftone/kernels/activation/math_constants.h"
#include "halftone/kernels/groups/group_testing.h"

namespace halftone::gpu {
namespace {

constexpr const char* kTargets[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100"};

void expect_compiles(const std::string& text, const std::string& what) {
  for (const char* target : kTargets) {
    std::vector<std::byte> binary;
    EXPECT_NO_THROW(binary = compile_cuda(text, target)) << what;
    EXPECT_FALSE(binary.empty()) << what << " " << target;
  }
}

class TextsForCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_nvrtc()) GTEST_SKIP() << "libnvrtc.so is not installed";
  }
};

/// Whatever the locale, which may have a comma for a point.
TEST(Texts, HaveConstantsWithAllTheirBits) {
  const std::string text = elementary_constants();
  const auto constant = [&](const std::string& name) {
    const std::string head = "#define " + name + " (";
    const auto at = text.find(head) + head.size();
    const bool is_negative = text[at] == '-';
    const char* digits = text.data() + at + (is_negative ? 3 : 2);
    float value = 0;
    std::from_chars(digits, text.data() + text.size(), value, std::chars_format::hex);
    return is_negative ? -value : value;
  };
  EXPECT_EQ(constant("LOG2_E"), kernels::math_constants::kLog2E);
  EXPECT_EQ(constant("LN2_LOW"), kernels::math_constants::kLn2Low);
  EXPECT_EQ(constant("EXP_LOW"), kernels::math_constants::kExpLow);
  EXPECT_LT(constant("EXP_LOW"), 0);
}

TEST_F(TextsForCuda, RowsAndAttentionCompile) {
  const std::string macros = "#define FUNCTION gelu_of\n#define OPERATION(a, b) divided(a, b)\n";
  expect_compiles(program_text(macros, {"elementary", "elementwise"}), "elementwise");
  for (const bool subtracts_mean : {false, true}) {
    expect_compiles(norm_text(subtracts_mean), "normalize");
    expect_compiles(encoding_norm_text(subtracts_mean, {256, 32}), "normalize and encode");
  }
  expect_compiles(program_text("", {"matmul"}), "matmul");
  expect_compiles(program_text("", {"elementary", "choice"}), "choice");
  for (const std::string type : {"FLOAT", "HALF", "INT8", "INT6", "INT4"}) {
    const std::string cache = "#define CACHE_" + type + "\n";
    expect_compiles(program_text(cache, {"elementary", "caches", "attention"}), type.c_str());
  }
  expect_compiles(program_text("#define ENCODING 32\n#define PIECE 16\n", {"encode_groups"}),
                  "encode");
}

TEST_F(TextsForCuda, NetworksCompile) {
  for (const char* units : {"", "#define WORDS\n", "#define WIDE\n"}) {
    expect_compiles(program_text(units, {"window", "window_bytes"}), "bytes");
  }
  for (const char* layer : {"#define W_BITS 3\n", "#define W_BITS 8\n#define DENSE\n"}) {
    expect_compiles(program_text(layer, {"window", "window_bits"}), "bits");
  }
  expect_compiles(program_text("", {"window", "window_floats"}), "floats");
  for (const std::string code : {"schar", "uchar", "int"}) {
    const std::string macros = "#define CODE " + code + "\n#define RESULT " + code +
                               "\n#define NUMBER float\n#define ELEMENT " + code +
                               "\n#define FUNCTION(x) hard_sigmoid_of(x, 0.5f, INFINITE)\n" +
                               "#define OPERATION(a, b) (a)\n";
    expect_compiles(program_text(macros, {"elementary", "functions", "window", "codes", "pairs"}),
                    code);
  }
}

std::vector<kernels::NamedFormat> formats_for_cuda() {
  std::vector<kernels::NamedFormat> formats = kernels::group_formats();
  for (const auto& each : kernels::vector_formats()) formats.push_back(each);
  return formats;
}

class FormatsForCuda : public TextsForCuda,
                       public testing::WithParamInterface<kernels::NamedFormat> {};

TEST_P(FormatsForCuda, Compile) {
  const auto& [name, format] = GetParam();
  const std::size_t piece = kernels::GroupExtents{256, format.group}.piece();
  const std::string macros = group_macros(format, piece);
  expect_compiles(group_text(macros, Function::kSilu), name);
  expect_compiles(encoding_group_text(macros), name + ", of floats");
  expect_compiles(tile_group_text(macros, Function::kSilu), name + ", in tiles");
}

INSTANTIATE_TEST_SUITE_P(All, FormatsForCuda, testing::ValuesIn(formats_for_cuda()),
                         [](const testing::TestParamInfo<kernels::NamedFormat>& each) {
                           std::string name = each.param.name;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

TEST_F(TextsForCuda, SaysInOneLineWhatDoesNotCompile) {
  expect_error(ErrorKind::kDevice,
               "CUDA C++ for sm_90: ", [] { return compile_cuda("no text", "sm_90"); });
}

TEST(KernelTexts, RefusesUnknownNames) {
  expect_error(ErrorKind::kInternal, "no kernel text 'none'",
               [] { return program_text("", {"none"}); });
}

TEST(KernelTexts, WithoutNvrtcSaysHowToGetIt) {
  if (has_nvrtc()) GTEST_SKIP() << "NVRTC is installed";
  expect_error(ErrorKind::kDevice, "part of the CUDA toolkit",
               [] { return compile_cuda("", "sm_90"); });
}

}  // namespace
}  // namespace halftone::gpu
