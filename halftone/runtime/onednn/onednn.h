// SPDX-License-Identifier: Apache-2.0
// The oneDNN services for kernels and sessions, without oneDNN's headers.
#pragma once

namespace halftone::runtime {

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
