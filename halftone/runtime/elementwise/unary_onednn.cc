// SPDX-License-Identifier: Apache-2.0
// Functions of one number that oneDNN implements.
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/onednn/primitive.h"

namespace halftone::runtime {
namespace {

Verdict judge_unary_onednn(const NodeContext& context) {
  const ir::Activation& activation = context.op<ir::Unary>().activation;
  if (!maps_floats(context)) return refuse("the input is not float32");
  if (auto refusal = refuse_onednn(context)) return *refusal;
  if (!onednn::eltwise(activation)) {
    return refuse("oneDNN does not implement " + ir::to_string(activation));
  }
  if (context.output().shape.element_count() == 0) return refuse("there is nothing to compute");
  return accept("oneDNN implements it");
}

Kernel create_unary_onednn(const NodeContext& context) {
  const auto function = *onednn::eltwise(context.op<ir::Unary>().activation);
  const auto count = static_cast<dnnl::memory::dim>(context.output().shape.element_count());
  using Eltwise = dnnl::eltwise_forward;
  return onednn::translated([&] {
    const auto row = onednn::floats({count}, dnnl::memory::format_tag::a);
    return onednn::unary_kernel<Eltwise>({{dnnl::prop_kind::forward_inference, function.algorithm,
                                           row, function.alpha, function.beta},
                                          onednn::attributes(),
                                          onednn::engine()});
  });
}

}  // namespace

constinit const Implementation kUnaryOneDnn{
    .name = "onednn_f32", .judge = judge_unary_onednn, .create = create_unary_onednn};

}  // namespace halftone::runtime
