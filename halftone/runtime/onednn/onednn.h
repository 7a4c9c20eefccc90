// SPDX-License-Identifier: Apache-2.0
// What plans and sessions use of oneDNN, without its headers. A program links one of two libraries
// that define this: runtime_onednn, or runtime_without_onednn, where there is nothing to use.
#pragma once

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// The implementation with oneDNN of each operator that has one; null where it is not linked.
struct OneDnnImplementations {
  const Implementation* fully_connected = nullptr;
  const Implementation* matmul = nullptr;
  const Implementation* conv = nullptr;
  const Implementation* conv_transpose = nullptr;
  const Implementation* pool = nullptr;
};
OneDnnImplementations onednn_implementations();

/// While it exists, the calling thread creates and runs oneDNN primitives with this number of
/// threads; with one, on the calling thread alone. A primitive must run with as many threads as it
/// was created with.
class OneDnnThreads {
 public:
  explicit OneDnnThreads(int count);
  ~OneDnnThreads();
  OneDnnThreads(const OneDnnThreads&) = delete;
  OneDnnThreads& operator=(const OneDnnThreads&) = delete;

 private:
  int before_;
};

}  // namespace halftone::runtime
