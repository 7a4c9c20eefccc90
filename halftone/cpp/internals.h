// SPDX-License-Identifier: Apache-2.0
// What stands behind the classes of the C++ API, and the border to what is inside.
#pragma once

#include <exception>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "halftone/api/network.h"
#include "halftone/api/resources.h"
#include "halftone/base/error.h"
#include "halftone/base/progress.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/recipe.h"
#include "halftone/data.hpp"
#include "halftone/data/dataset.h"
#include "halftone/error.hpp"
#include "halftone/ir/tensor.h"
#include "halftone/model.hpp"
#include "halftone/number_systems.hpp"
#include "halftone/numerics/encoding.h"
#include "halftone/options.hpp"
#include "halftone/quantize.hpp"
#include "halftone/recipe.hpp"
#include "halftone/run.hpp"
#include "halftone/runtime/execution_options.h"
#include "halftone/tensor.hpp"

namespace halftone::v0 {

/// The first exception that functions of the caller have thrown in a call, on whatever thread. What
/// is inside may turn it into an Error on its way.
class CallerException {
 public:
  /// Runs a function of the caller; its exception is kept, and passes.
  template <typename Function>
  auto run(Function&& function) -> decltype(function()) {
    try {
      return function();
    } catch (...) {
      keep(std::current_exception());
      throw;
    }
  }
  /// What was kept, which then is not kept any more; may be null.
  std::exception_ptr take() noexcept;

 private:
  void keep(std::exception_ptr exception) noexcept;

  std::mutex mutex_;
  std::exception_ptr first_;
};

struct Model::State {
  Network network;
};

struct Data::State {
  data::Dataset dataset;
  std::shared_ptr<CallerException> raised;  ///< by its functions, which share it; null without
};

/// From public objects to what they hold, and back.
struct Internals {
  static const Network& network(const Model& model) { return model.state_->network; }
  static Model model(Network network) {
    return Model(std::make_shared<const Model::State>(Model::State{std::move(network)}));
  }
  static const data::Dataset& dataset(const Data& data) { return data.state_->dataset; }
  static CallerException* raised(const Data& data) { return data.state_->raised.get(); }
  static Data data(data::Dataset dataset, std::shared_ptr<CallerException> raised) {
    return Data(
        std::make_shared<const Data::State>(Data::State{std::move(dataset), std::move(raised)}));
  }
  /// @param shape  of the array that it was fitted to; nullopt: any
  static Encoding encoding(numerics::MatrixEncoding encoding,
                           std::optional<Extents> shape = std::nullopt);
};

void forget(std::initializer_list<CallerException*> raised) noexcept;
/// Throws what the caller's functions have raised, else the public form of the current exception.
[[noreturn]] void throw_public(std::initializer_list<CallerException*> raised);

/// Runs `body` at the border of the library: errors from inside become public ones, what the
/// caller's own functions throw stays as it is.
/// @param raised  by these functions; each may be null
template <typename Body>
auto at_border(Body&& body, std::initializer_list<CallerException*> raised = {})
    -> decltype(std::forward<Body>(body)()) {
  forget(raised);  // what an earlier call did not pass on
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    throw_public(raised);
  }
}

runtime::ExecutionOptions execution_options(const Execution& execution);
/// @throws halftone::Error kInterrupted: the progress function returned false, always
[[noreturn]] void fail_interrupted(std::string_view activity);
/// A sink that throws halftone::Error kInterrupted where the function returns false. Refers to
/// both.
ProgressSink sink_of(const Progress& progress, CallerException& raised);

Port port_of(const ir::Value& value);
/// @throws halftone::Error kUnsupported if graphs do not hold such elements
ir::Tensor to_internal(const Tensor& tensor);
Tensor to_public(const ir::Tensor& tensor);

/// Without seconds.
/// @param name  of the network
QuantizeResult to_public(compress::QuantizedGraph result, const std::string& name);

/// @throws halftone::Error as compress::parse_recipe()
compress::Recipe recipe_of(const Recipe& recipe);

}  // namespace halftone::v0
