// SPDX-License-Identifier: Apache-2.0
// Libraries that are found when they are used.
#pragma once

#include <initializer_list>
#include <string>

namespace halftone::gpu {

/// A shared library that stays loaded to the end of the program: drivers do not survive less.
class SharedLibrary {
 public:
  /// Loads the first of these that is there.
  explicit SharedLibrary(std::initializer_list<const char*> names);

  [[nodiscard]] bool is_loaded() const { return handle_ != nullptr; }
  /// Sets a pointer to a function; remembers the name if it is not there.
  template <typename Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(symbol(name));
  }
  /// Sets a pointer to a function that older libraries lack; null if it is not there.
  template <typename Function>
  void find_newer(const char* name, Function*& function) {
    const std::string missing = missing_;
    find(name, function);
    missing_ = missing;
  }
  /// The first function that was not found; empty if all were.
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* symbol(const char* name);
  void* handle_ = nullptr;
  std::string missing_;
};

}  // namespace halftone::gpu
