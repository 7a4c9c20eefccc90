// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/onednn/onednn.h"

#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): functions of POSIX

#include <initializer_list>

#include "halftone/base/error.h"
#include "halftone/base/memory.h"
#include "halftone/runtime/onednn/float_layer.h"
#include "halftone/runtime/onednn/primitive.h"

// The functions of libgomp that set and start oneDNN's threads. Declared here because not every
// compiler provides the <omp.h> of that library.
extern "C" {
void omp_set_num_threads(int);
int omp_get_max_threads(void);
// NOLINTNEXTLINE(readability-identifier-naming): its name in libgomp
void GOMP_parallel(void (*body)(void*), void* data, unsigned num_threads, unsigned flags);
}

namespace halftone::runtime {
namespace {

/// While it exists, signals wait, except those that an instruction itself causes. Where oneDNN's
/// matrix products, up to version 3.11.1, need more memory than fits the stack, the stack pointer
/// is in the heap while they run: a handler of a signal that arrived there would write over the
/// memory of others (https://github.com/uxlfoundation/oneDNN/issues/4845). Threads that start
/// meanwhile keep signals away for ever.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t waiting;
    sigfillset(&waiting);
    for (const int cause : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
      sigdelset(&waiting, cause);
    }
    pthread_sigmask(SIG_BLOCK, &waiting, &before_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_{};
};

/// Checks, before the team of the current thread grows, that the stacks can be mapped, and starts
/// the threads before the memory goes elsewhere: libgomp ends the process where it cannot start
/// one.
void grow_team(int threads) {
  thread_local int largest_team = 1;
  if (threads <= largest_team) return;
  std::size_t stack = 0;
#ifdef __GLIBC__
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &stack);
    pthread_attr_destroy(&attributes);
  }
#endif
  constexpr std::size_t kBesideStack = std::size_t{1} << 20;
  const auto added = static_cast<std::size_t>(threads - largest_team);
  require_address_space((stack + kBesideStack) * added, "stacks of threads");
  const SignalsWait wait;
  GOMP_parallel([](void*) {}, nullptr, static_cast<unsigned>(threads), 0);
  largest_team = threads;
}

}  // namespace

OneDnnImplementations onednn_implementations() {
  return {&kOneDnnFullyConnected, &kOneDnnMatMul, &kOneDnnConv, &kOneDnnConvTranspose,
          &kOneDnnPool};
}

OneDnnThreads::OneDnnThreads(int count) : before_(omp_get_max_threads()) {
  grow_team(count);
  omp_set_num_threads(count);
}

OneDnnThreads::~OneDnnThreads() { omp_set_num_threads(before_); }

namespace onednn {
namespace {

/// Address space for code that oneDNN generates on the first run of a primitive. Version 2.6
/// crashes if its allocation fails there.
constexpr std::size_t kCodeBytes = std::size_t{32} << 20;

void check(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  if (status == dnnl_out_of_memory) fail(ErrorKind::kMemory, "oneDNN: out of memory");
  fail(ErrorKind::kInternal,
       std::string("oneDNN: ") + what + " failed with status " + std::to_string(status));
}

/// A primitive and the memory objects of one session.
struct BoundPrimitive {
  SharedPrimitive primitive;
  dnnl::stream stream;
  std::vector<dnnl::memory> memories;  ///< owns what `arguments` points to
  std::vector<dnnl_exec_arg_t> arguments;

  void run() const {
    const SignalsWait wait;
    // Calls the C function because the C++ one builds a map of arguments on every call.
    check(dnnl_primitive_execute(primitive.get().get(), stream.get(),
                                 static_cast<int>(arguments.size()), arguments.data()),
          "execution");
    check(dnnl_stream_wait(stream.get()), "waiting");
    if (!primitive.has_run()) primitive.has_run() = true;
  }
};

}  // namespace

dnnl::memory::dims channels_first(const ir::Shape& image) {
  dnnl::memory::dims dims(image.dims().begin(), image.dims().end());
  dims.insert(dims.begin() + 1, dims.back());
  dims.pop_back();
  return dims;
}

dnnl::memory::desc image(const ir::Shape& image) {
  using Tag = dnnl::memory::format_tag;
  const std::size_t spatial = image.rank() - 2;
  return floats(channels_first(image), spatial == 1   ? Tag::nwc
                                       : spatial == 2 ? Tag::nhwc
                                                      : Tag::ndhwc);
}

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

Call bind(const SharedPrimitive& primitive, std::span<const PrimitiveArgument> arguments) {
  if (!primitive.has_run()) require_address_space(kCodeBytes, "oneDNN");
  auto bound = std::make_shared<BoundPrimitive>();
  bound->primitive = primitive;
  bound->stream = dnnl::stream(engine());
  for (const PrimitiveArgument& argument : arguments) {
    bound->memories.emplace_back(argument.desc, engine(), argument.data);
    bound->arguments.push_back({argument.role, bound->memories.back().get()});
  }
  return [bound = std::move(bound)] { bound->run(); };
}

PackedMatrix pack(const dnnl::memory::desc& from, const float* data, const dnnl::memory::desc& to) {
  PackedMatrix packed{to, std::make_shared<AlignedBuffer>(to.get_size())};
  dnnl::memory source(from, engine(), const_cast<float*>(data));
  dnnl::memory target(to, engine(), packed.buffer->data());
  dnnl::stream stream(engine());
  const SignalsWait wait;
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
  return packed;
}

dnnl::primitive_attr attributes(const std::optional<Eltwise>& fused) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (fused) {
    dnnl::post_ops operations;
    operations.append_eltwise(1, fused->algorithm, fused->alpha, fused->beta);
    attributes.set_post_ops(operations);
  }
  return attributes;
}

std::optional<Eltwise> eltwise(const ir::Activation& activation) {
  using dnnl::algorithm;
  using Kind = ir::ActivationKind;
  const auto [kind, alpha, beta] = activation;
  if (kind == Kind::kLeakyRelu) return Eltwise{algorithm::eltwise_relu, alpha, 0};
  if (kind == Kind::kElu) return Eltwise{algorithm::eltwise_elu, alpha, 0};
  static constexpr std::pair<Kind, Eltwise> kWithoutParameters[] = {
      {Kind::kTanh, {algorithm::eltwise_tanh, 0, 0}},
      {Kind::kSigmoid, {algorithm::eltwise_logistic, 0, 0}},
      {Kind::kHardSwish, {algorithm::eltwise_hardswish, 0, 0}},
      {Kind::kSilu, {algorithm::eltwise_swish, 1, 0}},
      {Kind::kGelu, {algorithm::eltwise_gelu_erf, 0, 0}},
      {Kind::kGeluTanh, {algorithm::eltwise_gelu_tanh, 0, 0}},
      {Kind::kSoftplus, {algorithm::eltwise_soft_relu, 0, 0}},
      {Kind::kSqrt, {algorithm::eltwise_sqrt, 0, 0}},
      {Kind::kAbs, {algorithm::eltwise_abs, 0, 0}},
      {Kind::kNeg, {algorithm::eltwise_linear, -1, 0}},
      {Kind::kSquare, {algorithm::eltwise_square, 0, 0}},
  };
  for (const auto& [known, function] : kWithoutParameters) {
    if (known == kind) return function;
  }
  return std::nullopt;
}

}  // namespace onednn
}  // namespace halftone::runtime
