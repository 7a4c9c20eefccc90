// SPDX-License-Identifier: Apache-2.0
// What kernels and sessions need of oneDNN, without its headers.
#pragma once

namespace halftone::runtime {

/// While it lives, oneDNN's primitives are created and run with so many threads on this thread
/// of execution; with one, on the calling thread alone. A primitive must run with as many threads
/// as it was created with.
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
