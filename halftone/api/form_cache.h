// SPDX-License-Identifier: Apache-2.0
// Forms of texts that were asked for before.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "halftone/lm/constrain/constraint.h"

namespace halftone {

/// The last forms by what they were made of: many requests have the same schema. Any number of
/// threads may use it.
class FormCache {
 public:
  static constexpr std::size_t kMaxForms = 16;

  /// The form of a key. @param make  gives it; called if it is not there
  template <typename Make>
  std::shared_ptr<lm::TextForm> get(const std::string& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (auto each = forms_.begin(); each != forms_.end(); ++each) {
      if (each->first != key) continue;
      forms_.splice(forms_.begin(), forms_, each);
      return forms_.front().second;
    }
    forms_.emplace_front(key, make());
    if (forms_.size() > kMaxForms) forms_.pop_back();
    return forms_.front().second;
  }

 private:
  std::mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<lm::TextForm>>> forms_;  // the last used first
};

}  // namespace halftone
