// SPDX-License-Identifier: Apache-2.0
#include "bench/suites.h"

#include <algorithm>
#include <filesystem>

#include "bench/convolutions.h"
#include "bench/layers.h"
#include "bench/onnx_runtime.h"
#include "bench/peers.h"

namespace halftone::bench {
namespace {

constexpr LayerShape kVector{1, 4096, 4096};
constexpr LayerShape kMatrix{256, 4096, 4096};

/// "W2A8 g128": bits of weights and activations; float32 activations are rounded to 8 bits.
std::string format_name(const LayerFormat& format) {
  if (format.weight_bits == 0) return "float32";
  const int input_bits = format.input_bits == 0 ? 8 : format.input_bits;
  return "W" + std::to_string(format.weight_bits) + "A" + std::to_string(input_bits) +
         (format.group == 0 ? "" : " g" + std::to_string(format.group));
}

/// The same layer with several encodings, and by peers.
class LayerCases {
 public:
  struct Options {
    std::string prefix;
    LayerShape shape;
    Residence residence = Residence::kHot;
    int threads = 1;
    std::string suffix{};  ///< of the names: "/hot"
  };
  LayerCases(std::vector<Case>& cases, Options options)
      : cases_(cases), options_(std::move(options)) {}

  /// Adds float32 and int8 peers, which are the baselines of the cases added later.
  void add_peers() {
    baselines_ = {name("oneDNN f32"), name("oneDNN u8s8")};
    add("oneDNN f32", [*this] {
      return prepare_onednn_f32(options_.shape, options_.residence, options_.threads);
    });
    add("oneDNN u8s8", [*this] {
      return prepare_onednn_int8(options_.shape, options_.residence, options_.threads);
    });
    add("OpenBLAS f32",
        [*this] { return prepare_openblas(options_.shape, options_.residence, options_.threads); });
    add(LayerFormat{});
  }
  void compare_with(std::vector<std::string> baselines) { baselines_ = std::move(baselines); }
  void add(const LayerFormat& format) {
    add(format_name(format), [*this, format] {
      return prepare_layer(options_.shape, format, options_.residence, options_.threads);
    });
  }
  [[nodiscard]] std::string name(const std::string& what) const {
    return options_.prefix + what + options_.suffix;
  }

 private:
  void add(const std::string& what, std::function<Prepared()> prepare) {
    cases_.push_back({name(what), baselines_, std::move(prepare), options_.threads});
  }

  std::vector<Case>& cases_;
  Options options_;
  std::vector<std::string> baselines_;
};

Suite gemv_suite(int threads) {
  Suite suite{"gemv", "1 x 4096 x 4096, activations quantized inside", {"x f32", "x int8"}, {}};
  for (const Residence residence : {Residence::kHot, Residence::kCold}) {
    const std::string suffix = residence == Residence::kHot ? "/hot" : "/cold";
    LayerCases cases(suite.cases, {"gemv/", kVector, residence, threads, suffix});
    cases.add_peers();
    for (const std::size_t group : {0U, 128U}) {
      for (const int bits : {1, 2, 3, 4, 8}) cases.add({bits, 0, group});
    }
    for (const int bits : {1, 2}) cases.add({bits, bits, 0});
  }
  return suite;
}

Suite threads_suite() {
  Suite suite{"threads", "1 x 4096 x 4096, hot, on one thread and on two", {"x 1 thread"}, {}};
  for (const int threads : {1, 2}) {
    const std::string suffix = threads == 1 ? "/1 thread" : "/2 threads";
    LayerCases cases(suite.cases, {"threads/", kVector, Residence::kHot, threads, suffix});
    for (const LayerFormat& format :
         {LayerFormat{}, LayerFormat{1, 0, 0}, LayerFormat{2, 0, 0}, LayerFormat{3, 0, 0},
          LayerFormat{4, 0, 0}, LayerFormat{1, 1, 0}, LayerFormat{2, 2, 0}}) {
      cases.compare_with({"threads/" + format_name(format) + "/1 thread"});
      cases.add(format);
    }
  }
  return suite;
}

Suite gemm_suite(int threads) {
  Suite suite{"gemm", "256 x 4096 x 4096, activations quantized inside", {"x f32", "x int8"}, {}};
  LayerCases cases(suite.cases, {"gemm/", kMatrix, Residence::kHot, threads});
  cases.add_peers();
  for (const int bits : {1, 2, 3}) cases.add({bits, bits, 0});
  for (const int bits : {1, 2, 4, 8}) cases.add({bits, 0, 0});
  return suite;
}

Suite small_suite(int threads) {
  Suite suite{
      "small", "1 and 32 x 784 x 700, activations quantized inside", {"x f32", "x int8"}, {}};
  for (const std::size_t rows : {1U, 32U}) {
    const std::string prefix = "small/" + std::to_string(rows) + " x ";
    LayerCases cases(suite.cases, {prefix, {rows, 784, 700}, Residence::kHot, threads});
    cases.add_peers();
    for (const int w : {1, 2, 3}) {
      for (const int x : {1, 2, 3}) cases.add({w, x, 0});
    }
    cases.add({4, 0, 0});
  }
  return suite;
}

void add_conv_cases(std::vector<Case>& cases, const ConvLayerShape& shape, int threads) {
  const std::string prefix = "conv/" + to_string(shape) + "/";
  const std::vector<std::string> baselines = {prefix + "oneDNN f32", prefix + "oneDNN u8s8"};
  const auto add = [&](const std::string& what, std::function<Prepared()> prepare) {
    cases.push_back({prefix + what, baselines, std::move(prepare), threads});
  };
  add("oneDNN f32", [=] { return prepare_onednn_conv(shape, false, threads); });
  add("oneDNN u8s8", [=] { return prepare_onednn_conv(shape, true, threads); });
  for (const int bits : {1, 2}) {
    const LayerFormat format{bits, bits, 0};
    if (shape.groups == 1) {
      add(format_name(format) + " plain", [=] { return prepare_plain_conv(shape, format); });
      add(format_name(format) + " codes", [=] { return prepare_bit_conv(shape, format); });
    }
    add(format_name(format), [=] { return prepare_conv(shape, format, threads); });
  }
  add("W4A4", [=] { return prepare_conv(shape, {4, 4, 0}, threads); });
  add("W8A8", [=] { return prepare_conv(shape, {8, 8, 0}, threads); });
}

Suite conv_suite(int threads) {
  Suite suite{"conv", "convolutions; 'codes': from bits to float32", {"x f32", "x int8"}, {}};
  for (const ConvLayerShape& shape :
       {ConvLayerShape{8, 64, 64}, ConvLayerShape{16, 32, 32}, ConvLayerShape{32, 16, 16},
        ConvLayerShape{32, 16, 32, 3, 2}, ConvLayerShape{8, 64, 64, 1},
        ConvLayerShape{16, 64, 64, 3, 1, 64}}) {
    add_conv_cases(suite.cases, shape, threads);
  }
  return suite;
}

Suite network_suite(int threads) {
  Suite suite{"network",
              "784-700-10: encode, tanh and softmax included",
              {"x f32", "x plain", "x ORT int8"},
              {}};
  for (const std::size_t batch : {1U, 32U, 64U}) {
    const std::string prefix = "network/batch " + std::to_string(batch) + "/";
    const std::string f32 = prefix + "float on oneDNN";
    const std::string int8 = prefix + "ORT int8";
    suite.cases.push_back(
        {f32, {f32, "", int8}, [=] { return prepare_network(0, batch, threads); }, threads});
    if (has_onnx_runtime()) {
      for (const auto format : {OnnxRuntimeFormat::kFloat32, OnnxRuntimeFormat::kInt8}) {
        suite.cases.push_back({prefix + to_string(format),
                               {f32, "", int8},
                               [=] { return prepare_network_peer(format, batch, threads); },
                               threads});
      }
    }
    for (const int bits : {3, 2, 1}) {
      const std::string name = prefix + std::to_string(bits) + (bits == 1 ? " bit" : " bits");
      const std::string plain = name + " plain";
      suite.cases.push_back({name,
                             {f32, plain, int8},
                             [=] { return prepare_network(bits, batch, threads); },
                             threads});
      suite.cases.push_back(
          {plain, {f32, plain, int8}, [=] { return prepare_plain_network(bits, batch); }});
    }
  }
  return suite;
}

}  // namespace

Suite model_suite(const std::vector<std::string>& files, int threads) {
  Suite suite{"model", "network files, one sample", {"x ORT f32", "x ORT int8"}, {}};
  const auto name = [](const std::string& file) {
    return "model/" + std::filesystem::path(file).filename().string();
  };
  std::vector<std::string> baselines;
  const auto add_peer = [&](const std::string& file, OnnxRuntimeFormat format) {
    suite.cases.push_back({name(file) + " on " + to_string(format), baselines,
                           [=] { return prepare_onnx_runtime(file, format, 1, threads); },
                           threads});
  };
  const auto peer =
      std::ranges::find_if(files, [](const std::string& file) { return file.ends_with(".onnx"); });
  if (peer != files.end() && has_onnx_runtime()) {
    baselines = {name(*peer) + " on ORT f32", name(*peer) + " on ORT int8"};
    add_peer(*peer, OnnxRuntimeFormat::kFloat32);
    add_peer(*peer, OnnxRuntimeFormat::kInt8);
  }
  for (const std::string& file : files) {
    suite.cases.push_back(
        {name(file), baselines, [=] { return prepare_file(file, threads); }, threads});
  }
  return suite;
}

std::vector<Suite> all_suites(int threads) {
  return {network_suite(threads), small_suite(threads), conv_suite(threads),
          gemv_suite(threads),    threads_suite(),      gemm_suite(threads)};
}

}  // namespace halftone::bench
