// SPDX-License-Identifier: Apache-2.0
// A description of hardware as TOML whose values can be replaced.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "halftone/accel/accelerator_toml.h"
#include "halftone/accel/explore/space.h"

namespace halftone::accel {

class Description {
 public:
  /// @param name  put before messages
  /// @throws Error kUsage if it is no TOML
  Description(std::string_view toml_text, std::string name);

  /// Adds or replaces a value.
  /// @throws Error kUsage if the key has another form than in Setting, or there is no such unit or
  ///         memory
  void set(const Setting& setting);
  /// @throws Error kUsage likewise, or if the value is no number or absent
  [[nodiscard]] double number(const std::string& key);
  /// @throws Error as read_accelerator()
  [[nodiscard]] Accelerator read() const { return read_accelerator(root_); }

 private:
  /// The table that holds a value, and the name of the value there.
  struct Place {
    toml::table* table;
    std::string key;
  };
  [[nodiscard]] Place place_of(const std::string& key);

  toml::table root_;
  std::string name_;
};

}  // namespace halftone::accel
