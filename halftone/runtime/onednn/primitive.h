// SPDX-License-Identifier: Apache-2.0
// oneDNN primitives with user-managed scratch memory, so that several sessions may run one
// concurrently.
#pragma once

#include <atomic>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "halftone/base/buffer.h"
#include "halftone/base/error.h"
#include "halftone/ir/ops/activation.h"
#include "halftone/ir/shape.h"
#include "halftone/runtime/kernel.h"

namespace halftone::runtime::onednn {

/// The engine of the processor.
const dnnl::engine& engine();

/// Memory in a role (DNNL_ARG_SRC, ...) of a primitive. oneDNN takes no pointers to const; the role
/// determines whether it reads or writes.
struct PrimitiveArgument {
  int role = 0;
  dnnl::memory::desc desc;
  void* data = nullptr;
};
inline void* mutable_data(const std::byte* data) { return const_cast<std::byte*>(data); }

/// A primitive that any number of sessions run.
class SharedPrimitive {
 public:
  SharedPrimitive() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): it is one
  SharedPrimitive(dnnl::primitive primitive) : primitive_(std::move(primitive)) {}

  [[nodiscard]] const dnnl::primitive& get() const { return primitive_; }
  /// Whether it has run, and so has its code, which oneDNN generates on the first run.
  [[nodiscard]] std::atomic<bool>& has_run() const { return *has_run_; }

 private:
  dnnl::primitive primitive_;
  std::shared_ptr<std::atomic<bool>> has_run_ = std::make_shared<std::atomic<bool>>(false);
};

/// Binds a primitive to the memory of one session.
Call bind(const SharedPrimitive& primitive, std::span<const PrimitiveArgument> arguments);

/// Constant values in the layout that a primitive prefers.
struct PackedMatrix {
  dnnl::memory::desc desc;
  std::shared_ptr<AlignedBuffer> buffer;  ///< shared by the plan and the calls bound to it
};
PackedMatrix pack(const dnnl::memory::desc& from, const float* data, const dnnl::memory::desc& to);

/// An elementwise function in oneDNN's terms.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0;
  float beta = 0;
};
/// Nothing for functions that oneDNN lacks, and for those with which it turns NaN into a number:
/// relu, clip and exp.
std::optional<Eltwise> eltwise(const ir::Activation& activation);

/// User-managed scratch, and optionally a function applied to the result.
dnnl::primitive_attr attributes(const std::optional<Eltwise>& fused = std::nullopt);

/// Dense float32 with these extents, row-major or in the layout of `tag`.
inline dnnl::memory::desc floats(const dnnl::memory::dims& dims, dnnl::memory::format_tag tag) {
  return {dims, dnnl::memory::data_type::f32, tag};
}

/// The extents of [N, spatial..., C] in oneDNN's axis order, [N, C, spatial...].
dnnl::memory::dims channels_first(const ir::Shape& image);
/// Dense float32 of an image [N, spatial..., C], one to three spatial axes.
dnnl::memory::desc image(const ir::Shape& image);

/// Runs `body` and converts oneDNN's exceptions to ours.
template <typename Body>
auto translated(Body&& body) -> decltype(std::forward<Body>(body)()) {
  try {
    return std::forward<Body>(body)();
  } catch (const dnnl::error& error) {
    fail(error.status == dnnl_out_of_memory ? ErrorKind::kMemory : ErrorKind::kInternal,
         std::string("oneDNN: ") + error.what());
  }
}

/// The kernel of a primitive with one input and one output.
template <typename Primitive>
Kernel unary_kernel(const typename Primitive::primitive_desc& made) {
  const auto desc = std::make_shared<const typename Primitive::primitive_desc>(made);
  Kernel kernel;
  kernel.scratch_bytes = desc->scratchpad_desc().get_size();
  kernel.bind = [desc, primitive = SharedPrimitive(Primitive(*desc))](const Buffers& buffers) {
    const PrimitiveArgument arguments[] = {
        {DNNL_ARG_SRC, desc->src_desc(), mutable_data(buffers.inputs[0])},
        {DNNL_ARG_DST, desc->dst_desc(), buffers.output},
        {DNNL_ARG_SCRATCHPAD, desc->scratchpad_desc(), buffers.scratch}};
    return translated([&] { return onednn::bind(primitive, arguments); });
  };
  return kernel;
}

}  // namespace halftone::runtime::onednn
