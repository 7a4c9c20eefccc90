// SPDX-License-Identifier: Apache-2.0
// Products of rows with weights in groups on a device, with the bits of kernels/groups.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halftone/gpu/programs.h"
#include "halftone/gpu/tails.h"
#include "halftone/kernels/groups/packed_groups.h"

namespace halftone::gpu {

/// The macros of text/groups.cl for a format.
/// @param piece  GroupExtents::piece()
std::string group_macros(const kernels::GroupCodes& format, std::size_t piece);
/// The program of a format: kernels that read codes, and those that read floats.
/// @param f  of tails and gates
std::string group_text(const std::string& macros, Function f = Function::kNone);
std::string encoding_group_text(const std::string& macros, Function f = Function::kNone);

/// That of multiply_tiles(). @param units  macros in place of its instructions; empty: those of
/// CUDA
std::string tile_group_text(const std::string& macros, Function f = Function::kNone,
                            const std::string& units = "");
/// Whether a device has units that multiply small matrices of int8: CUDA from sm_75 on.
bool has_tiles(const DeviceInfo& info);

/// Rows of x from which a thread has an output of several rows, and each row is encoded once
/// before.
inline constexpr std::size_t kManyRows = 8;

/// Weights on a device: the bytes that kernels::PackedGroups packs for processors. Its rows are
/// neighbouring words, so the threads of neighbouring rows read neighbouring words.
class GroupMatrix {
 public:
  /// @throws Error kUnsupported beyond 2^32 outputs, bytes of a strip or inputs; as GpuDevice
  GroupMatrix(Programs& programs, const kernels::PackedGroups& weights)
      : GroupMatrix(programs, std::span(&weights, 1)) {}
  /// The rows of several matrices, one behind the other, each from a multiple of 64 on.
  /// @param parts  at least one; can_join() each other
  GroupMatrix(Programs& programs, std::span<const kernels::PackedGroups> parts);
  /// Whether two matrices have the same columns, and codes and scales of the same form.
  static bool can_join(const kernels::PackedGroups& a, const kernels::PackedGroups& b);

  /// Of all parts, with those that fill up strips between them.
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// Strips of 64 rows.
  [[nodiscard]] std::size_t strips() const {
    return (rows_ + kernels::kStripRows - 1) / kernels::kStripRows;
  }
  /// The first row of a part.
  [[nodiscard]] std::size_t first_row(std::size_t part) const { return first_rows_[part]; }
  [[nodiscard]] const kernels::GroupExtents& extents() const { return extents_; }
  [[nodiscard]] std::size_t size_bytes() const { return weights_->size_bytes(); }

 private:
  friend class ProductLaunch;
  friend Launch decode_rows(const GroupMatrix& table, const Buffer& ids, std::size_t count,
                            const Buffer& y);

  Programs* programs_;
  std::size_t rows_ = 0;
  std::vector<std::size_t> first_rows_;
  kernels::GroupExtents extents_;
  std::size_t strip_bytes_ = 0;
  std::size_t block_bytes_ = 0;
  std::unique_ptr<Buffer> weights_;
  std::unique_ptr<Buffer> scale_table_;
  std::unique_ptr<Buffer> codewords_;
  std::string macros_;  ///< group_macros()
};

/// Encoded rows on a device: kernels::EncodedRows, but with codes in the order of the inputs. Each
/// part is a matrix: codes [rows, padded_cols], others [rows, num_pieces].
class GroupInputs {
 public:
  /// @throws Error as GpuDevice
  GroupInputs(Programs& programs, std::size_t rows, const kernels::GroupExtents& extents);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] const kernels::GroupExtents& extents() const { return extents_; }
  [[nodiscard]] const Buffer& codes() const { return *codes_; }
  [[nodiscard]] const Buffer& scales() const { return *scales_; }
  [[nodiscard]] const Buffer& shares() const { return *shares_; }
  [[nodiscard]] const Buffer& sums() const { return *sums_; }

  /// kernels::encode_group_rows(). @param x  [rows, cols]
  [[nodiscard]] Launch encode(const Buffer& x) const;

 private:
  std::size_t rows_;
  kernels::GroupExtents extents_;
  std::unique_ptr<Buffer> codes_;
  std::unique_ptr<Buffer> scales_;
  std::unique_ptr<Buffer> shares_;
  std::unique_ptr<Buffer> sums_;
  Kernel* encode_;
};

/// Rows that are multiplied.
class ProductInput {
 public:
  ProductInput(const GroupInputs& encoded)  // NOLINT(google-explicit-constructor)
      : encoded_(&encoded), rows_(encoded.rows()) {}
  /// Rows [rows, columns of the weights] that each block of threads encodes, with the same bits:
  /// one launch less. @pre rows < kManyRows
  ProductInput(const Buffer& floats, std::size_t rows) : floats_(&floats), rows_(rows) {}
  [[nodiscard]] std::size_t rows() const { return rows_; }

 private:
  friend class ProductLaunch;
  const GroupInputs* encoded_ = nullptr;
  const Buffer* floats_ = nullptr;
  std::size_t rows_;
};

/// kernels::multiply_groups(), with tails. @param y  [rows of x, rows of w]
Launch multiply_groups(const GroupMatrix& w, const ProductInput& x, const Buffer& y,
                       const Tails& tails = {});
/// The same of many rows, by units that multiply small matrices: of devices with has_tiles().
Launch multiply_tiles(const GroupMatrix& w, const GroupInputs& x, const Buffer& y,
                      const Tails& tails = {}, const std::string& units = "");
/// Outputs whose sums are multiplied by those of as many other rows of the weights.
struct Gate {
  std::size_t outputs = 0;
  std::size_t up_row = 0;  ///< of the first one's factor
  Function f = Function::kNone;
};
/// y[r, o] = f(product with row o) * (product with row o + up_row).
/// @param x  fewer than kManyRows rows
Launch multiply_gated(const GroupMatrix& w, const ProductInput& x, const Gate& gate,
                      const Buffer& y);
/// Rows of x with the experts that they choose.
struct ExpertPairs {
  std::size_t count = 0;
  std::size_t outputs = 0;  ///< of an expert: rows e outputs to (e + 1) outputs - 1 of the weights
  const Buffer& experts;    ///< int32 [count]
};
/// y[i] = the product of expert experts[i] and row i / (count / rows of x) of x, with tails.
/// @param y  [count, outputs]
Launch multiply_experts(const GroupMatrix& w, const ProductInput& x, const ExpertPairs& pairs,
                        const Buffer& y, const Tails& tails = {});
/// y[i] = the decoded row ids[i] of a table. @param ids  int32 [count], within the rows
Launch decode_rows(const GroupMatrix& table, const Buffer& ids, std::size_t count, const Buffer& y);

}  // namespace halftone::gpu
