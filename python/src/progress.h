// SPDX-License-Identifier: Apache-2.0
// Work without the GIL that reports to Python, and that Python can stop.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/progress.h"

namespace halftone::python {

/// Calls Python between two pieces of work. Where a signal handler raises, as for Ctrl-C, or the
/// callback does, the work ends and the exception goes on.
class Reporter {
 public:
  /// @param callback  None, or called as callback(fraction, activity)
  explicit Reporter(nanobind::object callback) : callback_(std::move(callback)) {}
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  /// Must not outlive this.
  [[nodiscard]] ProgressSink sink() {
    return [this](double fraction, std::string_view activity) { report(fraction, activity); };
  }

  /// Runs `work` without the GIL.
  template <typename Work>
  auto run(const Work& work) {
    try {
      const nanobind::gil_scoped_release no_gil;
      return work();
    } catch (const Error&) {
      // The library's own error replaces that of Python.
      if (raised_) throw nanobind::python_error(*raised_);
      throw;
    }
  }

  /// Runs `body` with the GIL, from within run().
  /// @throws Error kInterrupted if a signal handler or the body has raised
  template <typename Body>
  void with_python(const Body& body) {
    const nanobind::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
      body();
    } catch (const nanobind::python_error& error) {
      raised_.emplace(error);
    }
    if (raised_) fail(ErrorKind::kInterrupted, "stopped");
  }

 private:
  void report(double fraction, std::string_view activity);

  using Clock = std::chrono::steady_clock;
  nanobind::object callback_;
  Clock::time_point next_ = Clock::now();
  std::string activity_;
  std::optional<nanobind::python_error> raised_;
};

}  // namespace halftone::python
