// SPDX-License-Identifier: Apache-2.0
// What the child of an Hdf5Worker does: it locates the samples in an open HDF5 file, and checks
// stored chunks before the library reads them. Private to this folder.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/data/hdf5_handle.h"
#include "halftone/data/hdf5_worker.h"

namespace halftone::data {

/// Reader for either layout; open_hdf5() lists what is rejected.
class Hdf5Reader : public Hdf5Service {
 public:
  static constexpr std::size_t kMaxRecords = 1'000'000;

  /// @throws Error as open_hdf5() does
  explicit Hdf5Reader(const Hdf5Handle& file, std::size_t max_records = kMaxRecords);

  [[nodiscard]] const Hdf5Contents& contents() const override { return contents_; }
  /// @throws Error kFormat if the library cannot read them, or a record differs in type or shape
  ///         from the first
  [[nodiscard]] std::vector<std::byte> read(const Hdf5Range& range) const override;

 private:
  void open_records(const Hdf5Handle& file, std::size_t max_records);
  void open_x(const Hdf5Handle& file);
  void open_y(const Hdf5Handle& file);
  void read_record(std::size_t record, std::size_t input, std::span<std::byte> dst) const;

  Hdf5Handle data_;                ///< the group `value` or the data set `x`
  bool raw_ = false;               ///< records are raw bytes
  std::vector<TableFacts> facts_;  ///< of each input in the first record, or of x
  Hdf5Contents contents_;
};

/// Checks that every chunk with a part of rows [first, first + count) of a data set unpacks to
/// exactly the chunk size. The library assumes so and returns the memory beyond a shorter chunk.
/// Does nothing for data sets that are not chunked. Costs as much as unpacking the chunks.
/// @throws Error kFormat if a chunk has a different size or is damaged
/// @pre table_facts() accepted the data set
void check_stored_chunks(const Hdf5Handle& table, std::size_t first, std::size_t count);

}  // namespace halftone::data
