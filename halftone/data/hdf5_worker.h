// SPDX-License-Identifier: Apache-2.0
// Runs the HDF5 library in a separate process. Some damaged files make the library crash, loop or
// request any amount of memory; that must not affect the caller. Private to this folder.
//
//     parent                                     child (forked, not executed)
//       |  ------------- fork ------------------>  |  opens the file
//       |  <---- Hdf5Contents, or an Error ------  |
//       |  ------------- Hdf5Range ------------->  |  reads
//       |  <---- raw elements, or an Error ------  |  ...
//       |  closes its end of the socket            |  ends
//
// Forking is safe although the parent may have threads. The child calls only the HDF5 library,
// which the parent never does, and malloc, which works after a fork. It takes no lock of the
// parent.
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

/// An open file. Implemented and used in the child.
class Hdf5Service {
 public:
  Hdf5Service() = default;
  Hdf5Service(const Hdf5Service&) = delete;
  Hdf5Service& operator=(const Hdf5Service&) = delete;
  virtual ~Hdf5Service() = default;

  [[nodiscard]] virtual const Hdf5Contents& contents() const = 0;
  /// The elements of whole samples, in the stored type of the input.
  [[nodiscard]] virtual std::vector<std::byte> read(const Hdf5Range& range) const = 0;
};

/// The parent's side of the child process. Every failure of the child, a crash included, becomes an
/// Error here. Thread-safe; handles one request at a time.
class Hdf5Worker {
 public:
  /// Starts the child.
  /// @param open  called in the child, with a copy of the parent's memory at this moment
  /// @throws Error kIo if no process can be started; kFormat if it dies; the Error that `open`
  ///         throws
  explicit Hdf5Worker(const std::function<std::unique_ptr<Hdf5Service>()>& open);
  Hdf5Worker(const Hdf5Worker&) = delete;
  Hdf5Worker& operator=(const Hdf5Worker&) = delete;
  /// Ends the child.
  ~Hdf5Worker();

  [[nodiscard]] const Hdf5Contents& contents() const { return contents_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

  /// @param dst  as many bytes as the range has
  /// @throws Error kFormat if the child dies, has died before or sends a malformed answer; the
  ///         Error that the service throws
  void read(const Hdf5Range& range, std::span<std::byte> dst);

 private:
  Hdf5Worker() = default;

  std::size_t receive_size(const std::string& doing);
  void receive(std::span<std::byte> dst, const std::string& doing);
  void stop();
  [[noreturn]] void fail_stopped(const std::string& doing);
  [[noreturn]] void fail_malformed(const std::string& answer, const std::string& doing);

  std::mutex mutex_;
  int socket_ = -1;
  pid_t pid_ = -1;
  std::string cause_;  ///< how the child ended, once it has
  Hdf5Contents contents_;
};

}  // namespace halftone::data
