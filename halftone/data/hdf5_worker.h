// SPDX-License-Identifier: Apache-2.0
// A process of its own for the HDF5 library, which is not ours to mend: some damaged files make it
// crash, loop or ask for any amount of memory. There it takes nothing but itself along.
// Private to this folder.
//
//     parent                                     child (forked, not executed)
//       |  ------------- fork ------------------>  |  opens the file
//       |  <---- Hdf5Contents, or an Error ------  |
//       |  ------------- Hdf5Range ------------->  |  reads
//       |  <---- raw elements, or an Error ------  |  ...
//       |  closes its end of the socket            |  ends
//
// Forking is fine though the parent may have threads: the child calls the HDF5 library, which the
// parent never does, and malloc, which survives a fork; it takes no lock of the parent's.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "halftone/data/hdf5_contents.h"

namespace halftone::data {

/// Samples [first, first + count) of an input.
struct Hdf5Range {
  std::uint64_t input = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// An open file, as the child sees it.
class Hdf5Service {
 public:
  Hdf5Service() = default;
  Hdf5Service(const Hdf5Service&) = delete;
  Hdf5Service& operator=(const Hdf5Service&) = delete;
  virtual ~Hdf5Service() = default;

  [[nodiscard]] virtual const Hdf5Contents& contents() const = 0;
  /// The elements of whole samples, each in the type of its input.
  [[nodiscard]] virtual std::vector<std::byte> read(const Hdf5Range& range) const = 0;
};

/// The child, from the parent's side. What goes wrong over there, a crash included, is an Error
/// here. Safe from several threads, one request at a time.
class Hdf5Worker {
 public:
  /// Starts the child.
  /// @param open  called in the child; sees the parent's memory as it is now
  /// @throws Error kIo if no process can be started; kFormat if it dies; whatever `open` throws
  explicit Hdf5Worker(const std::function<std::unique_ptr<Hdf5Service>()>& open);
  Hdf5Worker(const Hdf5Worker&) = delete;
  Hdf5Worker& operator=(const Hdf5Worker&) = delete;
  /// Ends the child.
  ~Hdf5Worker();

  [[nodiscard]] const Hdf5Contents& contents() const { return contents_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

  /// @param dst  exactly the bytes of the range
  /// @throws Error kFormat if the child dies, has died before or sends nonsense; whatever the
  ///         service throws
  void read(const Hdf5Range& range, std::span<std::byte> dst);

 private:
  Hdf5Worker() = default;

  std::size_t receive_size(const std::string& doing);
  void receive(std::span<std::byte> dst, const std::string& doing);
  void stop();
  [[noreturn]] void fail_stopped(const std::string& doing);
  [[noreturn]] void fail_nonsense(const std::string& answer, const std::string& doing);

  std::mutex mutex_;
  int socket_ = -1;
  pid_t pid_ = -1;
  std::string cause_;  ///< what the child did at last, once it has stopped
  Hdf5Contents contents_;
};

}  // namespace halftone::data
