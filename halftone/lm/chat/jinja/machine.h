// SPDX-License-Identifier: Apache-2.0
// What a template may use of the machine, and what its functions are given.
#pragma once

#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <string>
#include <vector>

#include "halftone/lm/chat/jinja/value.h"

namespace halftone::lm::jinja {

/// Counts what a template does, so that none takes for ever or all memory.
class Machine {
 public:
  explicit Machine(const std::tm& now) : now_(now) {}

  /// @throws Error kUnsupported when the work of this template becomes too much
  void work(std::size_t units = 1);
  /// Of characters that a template makes. @throws Error kUnsupported likewise
  void make(std::size_t characters);
  /// Runs something that may run something. @throws Error kUnsupported at more than 1,000 of them
  template <typename Run>
  auto deeper(const Run& run) {
    const Level level(*this);
    return run();
  }
  [[nodiscard]] const std::tm& now() const { return now_; }

  /// @throws Error kUnsupported of what cannot be called
  Value call(const Value& function, const Arguments& arguments);

 private:
  class Level {
   public:
    explicit Level(Machine& machine);
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --machine_.level_; }

   private:
    Machine& machine_;
  };

  std::tm now_;
  std::size_t work_ = 0;
  std::size_t characters_ = 0;
  std::size_t level_ = 0;
};

/// Arguments by the names of the parameters.
class Bound {
 public:
  /// @param what  "filter join": for messages
  /// @throws Error kUnsupported of more arguments, or others, than there are parameters
  Bound(const std::string& what, const Arguments& arguments,
        std::initializer_list<const char*> names);

  [[nodiscard]] bool has(std::size_t i) const { return values_[i] != nullptr; }
  /// @throws Error kUnsupported if there is no such argument
  [[nodiscard]] const Value& operator[](std::size_t i) const;
  [[nodiscard]] const Value& get(std::size_t i, const Value& usual) const {
    return has(i) ? *values_[i] : usual;
  }
  [[nodiscard]] bool flag(std::size_t i, bool usual = false) const;
  /// @throws Error kUnsupported of something else than an integer
  [[nodiscard]] std::int64_t integer(std::size_t i, std::int64_t usual) const;
  /// @throws Error kUnsupported of something else than a text
  [[nodiscard]] const Text& text(std::size_t i) const;

 private:
  std::string what_;
  std::vector<std::string> names_;
  std::vector<const Value*> values_;  ///< of the arguments; null: not given
};

[[noreturn]] void fail_type(const std::string& what, const Value& found);

}  // namespace halftone::lm::jinja
