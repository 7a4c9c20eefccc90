// SPDX-License-Identifier: Apache-2.0
// The C API as two C++ classes: a network that any number of threads share, and the memory in which
// one thread runs it.
#pragma once

#include <halftone/halftone.h>

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace service {

/// What a call of Halftone has refused.
class HalftoneError : public std::runtime_error {
 public:
  explicit HalftoneError(halftone_status status)
      : std::runtime_error(halftone_error_message()), status_(status) {}
  [[nodiscard]] halftone_status status() const { return status_; }

 private:
  halftone_status status_;
};

/// @throws HalftoneError unless the status is HALFTONE_OK
inline void check(halftone_status status) {
  if (status != HALFTONE_OK) throw HalftoneError(status);
}

/// Ends a handle of the C API.
template <auto kDestroy>
struct Destroy {
  template <typename T>
  void operator()(T* handle) const {
    kDestroy(handle);
  }
};
using Context = std::unique_ptr<halftone_context, Destroy<halftone_context_destroy>>;
using Model = std::unique_ptr<halftone_model, Destroy<halftone_model_destroy>>;
using Plan = std::unique_ptr<halftone_plan, Destroy<halftone_plan_destroy>>;
using SessionHandle = std::unique_ptr<halftone_session, Destroy<halftone_session_destroy>>;

/// The handle that a call makes. @param make  make(&handle) returns a status
template <typename Handle>
Handle made(const auto& make) {
  typename Handle::pointer handle = nullptr;
  check(make(&handle));
  return Handle(handle);
}

/// A classifier with one float32 input and one float32 output, ready for one sample at a time.
class Network {
 public:
  /// @throws HalftoneError if the file is no network; std::runtime_error if it is of another kind
  explicit Network(const std::string& file) {
    // A request runs on the thread that received it.
    const halftone_context_options one_thread{sizeof(one_thread), 1, nullptr, 0, nullptr};
    const auto context =
        made<Context>([&](auto** handle) { return halftone_context_create(&one_thread, handle); });
    const auto model = made<Model>([&](auto** handle) {
      return halftone_model_load(context.get(), file.c_str(), nullptr, handle);
    });
    plan_ = made<Plan>(
        [&](auto** handle) { return halftone_plan_create(model.get(), nullptr, handle); });
    const bool is_single =
        halftone_plan_num_inputs(plan_.get()) == 1 && halftone_plan_num_outputs(plan_.get()) == 1;
    if (is_single) {
      check(halftone_plan_input(plan_.get(), 0, &input_));
      check(halftone_plan_output(plan_.get(), 0, &output_));
    }
    if (!is_single || input_.type != HALFTONE_FLOAT32 || output_.type != HALFTONE_FLOAT32) {
      throw std::runtime_error(file + ": expected one float32 input and one float32 output");
    }
  }

  [[nodiscard]] const halftone_plan* plan() const { return plan_.get(); }
  [[nodiscard]] std::string input_name() const { return input_.name; }
  /// Numbers of a sample.
  [[nodiscard]] std::size_t num_inputs() const { return input_.bytes / sizeof(float); }
  /// Scores of a sample.
  [[nodiscard]] std::size_t num_scores() const { return output_.bytes / sizeof(float); }

 private:
  Plan plan_;  // it keeps what it needs of the model and the context
  halftone_tensor_info input_{};
  halftone_tensor_info output_{};
};

/// For one thread at a time.
class Session {
 public:
  explicit Session(const Network& network)
      : session_(made<SessionHandle>(
            [&](auto** handle) { return halftone_session_create(network.plan(), handle); })) {}

  /// @param sample  [Network::num_inputs()]
  /// @param scores  [Network::num_scores()]
  /// @throws HalftoneError
  void run(std::span<const float> sample, std::span<float> scores) {
    const halftone_input in{sample.data(), sample.size_bytes()};
    const halftone_output out{scores.data(), scores.size_bytes()};
    check(halftone_session_run(session_.get(), &in, 1, &out, 1));
  }

 private:
  SessionHandle session_;
};

}  // namespace service
