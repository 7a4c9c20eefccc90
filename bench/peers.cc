// SPDX-License-Identifier: Apache-2.0
#include "bench/peers.h"

#include <cblas.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/base/random.h"
#include "halftone/runtime/onednn/onednn.h"
#include "halftone/runtime/onednn/primitive.h"

namespace halftone::bench {
namespace {

namespace onednn = runtime::onednn;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

struct Isa {
  const char* simd;  ///< name of a SIMD target of the kernels
  dnnl::cpu_isa isa;
  const char* name;
};
constexpr std::array kIsas = {Isa{"SSE4", dnnl::cpu_isa::sse41, "SSE4.1"},
                              Isa{"", dnnl::cpu_isa::avx, "AVX"},
                              Isa{"AVX2", dnnl::cpu_isa::avx2, "AVX2"},
                              Isa{"AVX2_VNNI", dnnl::cpu_isa::avx2_vnni, "AVX2 VNNI"},
                              Isa{"AVX3", dnnl::cpu_isa::avx512_core, "AVX-512"},
                              Isa{"AVX3_DL", dnnl::cpu_isa::avx512_core_vnni, "AVX-512 VNNI"},
                              Isa{"", dnnl::cpu_isa::avx512_core_bf16, "AVX-512 VNNI, bf16"},
                              Isa{"", dnnl::cpu_isa::avx512_core_amx, "AMX"}};

/// The weights of a peer, one copy per session.
std::vector<std::shared_ptr<AlignedBuffer>> copies(std::shared_ptr<AlignedBuffer> first,
                                                   Residence residence) {
  const std::size_t count = num_copies(residence, first->size_bytes());
  std::vector<std::shared_ptr<AlignedBuffer>> all = {std::move(first)};
  while (all.size() < count) {
    all.push_back(std::make_shared<AlignedBuffer>(all.front()->size_bytes()));
    std::ranges::copy(all.front()->bytes(), all.back()->data());
  }
  return all;
}

Work work_of(const LayerShape& shape, std::size_t weight_bytes, Residence residence, Limit unit) {
  return {static_cast<double>(weight_bytes),
          residence == Residence::kCold ? Limit::kDram : level_that_holds(weight_bytes),
          2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
              static_cast<double>(shape.o),
          unit};
}

std::vector<float> random_floats(std::size_t count) {
  Random random(3);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

/// Memory and primitives of a oneDNN inner product, one primitive per copy of the weights.
struct OneDnnLayer {
  std::string layout;
  AlignedBuffer x;
  AlignedBuffer y;
  AlignedBuffer scratch;
  std::vector<std::shared_ptr<AlignedBuffer>> weights;
  std::vector<runtime::Call> calls;
  std::size_t next = 0;
  int threads = 1;

  void run() {
    const runtime::OneDnnThreads guard(threads);
    calls[next]();
    if (++next == calls.size()) next = 0;
  }
};

struct Layout {
  Tag tag;
  const char* name;
};
constexpr std::array kLayouts = {Layout{Tag::any, "any"}, Layout{Tag::ab, "oi"},
                                 Layout{Tag::ba, "io"}};

/// The inputs of all three layouts.
struct OneDnnProblem {
  LayerShape shape;
  bool int8;
  Residence residence;
  int threads;
  std::vector<float> weights;  ///< [o, n]
};

dnnl::inner_product_forward::primitive_desc describe(const OneDnnProblem& problem, Tag layout) {
  const auto m = static_cast<dnnl::memory::dim>(problem.shape.m);
  const auto n = static_cast<dnnl::memory::dim>(problem.shape.n);
  const auto o = static_cast<dnnl::memory::dim>(problem.shape.o);
  dnnl::primitive_attr attributes = onednn::attributes();
  if (problem.int8) {
    attributes.set_output_scales(1 << 1, std::vector<float>(problem.shape.o, 1.0F / 4096));
  }
  return {{dnnl::prop_kind::forward_inference,
           dnnl::memory::desc({m, n}, problem.int8 ? Type::u8 : Type::f32, Tag::ab),
           dnnl::memory::desc({o, n}, problem.int8 ? Type::s8 : Type::f32, layout),
           onednn::floats({m, o}, Tag::ab)},
          attributes,
          onednn::engine()};
}

std::shared_ptr<OneDnnLayer> make_layer(const OneDnnProblem& problem, const Layout& layout) {
  const runtime::OneDnnThreads guard(problem.threads);
  const auto desc = describe(problem, layout.tag);
  const dnnl::inner_product_forward primitive(desc);
  auto layer = std::make_shared<OneDnnLayer>();
  layer->layout = layout.name;
  layer->threads = problem.threads;
  layer->x = AlignedBuffer(desc.src_desc().get_size());
  layer->y = AlignedBuffer(desc.dst_desc().get_size());
  layer->scratch = AlignedBuffer(desc.scratchpad_desc().get_size());
  std::uint8_t next = 0;
  if (problem.int8) {
    for (std::uint8_t& value : layer->x.as<std::uint8_t>()) value = next++ & 127;
  } else {
    for (float& value : layer->x.as<float>()) value = 0.01F * static_cast<float>(next++);
  }
  const auto n = static_cast<dnnl::memory::dim>(problem.shape.n);
  const auto o = static_cast<dnnl::memory::dim>(problem.shape.o);
  layer->weights = copies(
      onednn::pack(onednn::floats({o, n}, Tag::ab), problem.weights.data(), desc.weights_desc())
          .buffer,
      problem.residence);
  for (const auto& copy : layer->weights) {
    const std::array arguments = {
        onednn::PrimitiveArgument{DNNL_ARG_SRC, desc.src_desc(), layer->x.data()},
        onednn::PrimitiveArgument{DNNL_ARG_WEIGHTS, desc.weights_desc(), copy->data()},
        onednn::PrimitiveArgument{DNNL_ARG_DST, desc.dst_desc(), layer->y.data()},
        onednn::PrimitiveArgument{DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc(),
                                  layer->scratch.data()}};
    layer->calls.push_back(onednn::bind(primitive, arguments));
  }
  return layer;
}

/// The shortest of a few runs after a warm-up.
double try_out(OneDnnLayer& layer) {
  using Clock = std::chrono::steady_clock;
  layer.run();
  double shortest = std::numeric_limits<double>::infinity();
  double total = 0;
  for (int run = 0; run < 3 || (total < 0.02 && run < 1000); ++run) {
    const auto begin = Clock::now();
    layer.run();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    shortest = std::min(shortest, seconds);
    total += seconds;
  }
  return shortest;
}

Prepared prepare_fastest(const OneDnnProblem& problem) {
  std::shared_ptr<OneDnnLayer> fastest;
  double shortest = std::numeric_limits<double>::infinity();
  for (const Layout& layout : kLayouts) {
    auto layer = onednn::translated([&] { return make_layer(problem, layout); });
    const double seconds = try_out(*layer);
    if (seconds >= shortest) continue;
    shortest = seconds;
    fastest = std::move(layer);
  }
  const std::size_t bytes = fastest->weights.front()->size_bytes();
  return {[fastest] { fastest->run(); }, "inner product, " + fastest->layout,
          work_of(problem.shape, bytes, problem.residence,
                  problem.int8 ? Limit::kInt8 : Limit::kFloat)};
}

/// y [m, o] = x [m, n] w [o, n]^T, everything row by row.
void multiply(const LayerShape& shape, const float* x, const float* w, float* y) {
  const auto m = static_cast<blasint>(shape.m);
  const auto n = static_cast<blasint>(shape.n);
  const auto o = static_cast<blasint>(shape.o);
  if (m == 1) {
    cblas_sgemv(CblasRowMajor, CblasNoTrans, o, n, 1, w, n, x, 1, 0, y, 1);
  } else {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, o, n, 1, x, n, w, n, 0, y, o);
  }
}

}  // namespace

Prepared prepare_onednn_f32(const LayerShape& shape, Residence residence, int threads) {
  return prepare_fastest({shape, false, residence, threads, random_floats(shape.o * shape.n)});
}

Prepared prepare_onednn_int8(const LayerShape& shape, Residence residence, int threads) {
  std::vector<float> weights = random_floats(shape.o * shape.n);
  for (float& w : weights) w *= 40;
  return prepare_fastest({shape, true, residence, threads, std::move(weights)});
}

Prepared prepare_openblas(const LayerShape& shape, Residence residence, int threads) {
  const std::vector<float> numbers = random_floats(shape.o * shape.n);
  auto first = std::make_shared<AlignedBuffer>(numbers.size() * sizeof(float));
  std::ranges::copy(numbers, first->as<float>().data());
  const std::size_t bytes = first->size_bytes();
  auto run = [shape, threads, x = random_floats(shape.m * shape.n),
              y = std::vector<float>(shape.m * shape.o),
              weights = copies(std::move(first), residence), next = std::size_t{0}]() mutable {
    openblas_set_num_threads(threads);
    multiply(shape, x.data(), weights[next]->as<float>().data(), y.data());
    if (++next == weights.size()) next = 0;
  };
  return {std::move(run), shape.m == 1 ? "sgemv" : "sgemm",
          work_of(shape, bytes, residence, Limit::kFloat)};
}

void restrict_onednn(const std::string& simd) {
  for (const Isa& known : kIsas) {
    if (simd != known.simd) continue;
    if (dnnl::set_max_cpu_isa(known.isa) != dnnl::status::success) {
      fail(ErrorKind::kInternal, "oneDNN does not take a restriction to " + simd + " any more");
    }
  }
}

std::string describe_onednn() {
  const dnnl_version_t* version = dnnl_version();
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  std::string text = "oneDNN " + std::to_string(version->major) + "." +
                     std::to_string(version->minor) + "." + std::to_string(version->patch);
  for (const Isa& known : kIsas) {
    if (known.isa == isa) text += std::string(", ") + known.name;
  }
  return text;
}

std::string describe_openblas() {
  std::istringstream config(openblas_get_config());
  std::string name;
  std::string version;
  config >> name >> version;
  return name + " " + version + ", " + openblas_get_corename();
}

}  // namespace halftone::bench
