// SPDX-License-Identifier: Apache-2.0
// Products of rows with weights in groups on a device, with the bits of kernels/groups.
#pragma once

#include <cstddef>
#include <memory>

#include "halftone/gpu/programs.h"
#include "halftone/kernels/groups/packed_groups.h"

namespace halftone::gpu {

/// The macros of text/groups.cl for a format.
/// @param piece  GroupExtents::piece()
std::string group_macros(const kernels::GroupCodes& format, std::size_t piece);

/// Weights on a device: the bytes that kernels::PackedGroups packs for processors. Its rows are
/// neighbouring words, so the threads of neighbouring rows read neighbouring words.
class GroupMatrix {
 public:
  /// @throws Error kUnsupported beyond 2^32 outputs, bytes of a strip or inputs; as Device
  GroupMatrix(Programs& programs, const kernels::PackedGroups& weights);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] const kernels::GroupExtents& extents() const { return extents_; }
  [[nodiscard]] std::size_t size_bytes() const { return weights_->size_bytes(); }

 private:
  friend class GroupInputs;
  friend Launch multiply_groups(const GroupMatrix& w, const class GroupInputs& x, const Buffer& y);
  friend Launch multiply_experts(const GroupMatrix& w, const class GroupInputs& x,
                                 const struct ExpertPairs& pairs, const Buffer& y);
  friend Launch decode_rows(const GroupMatrix& table, const Buffer& ids, std::size_t count,
                            const Buffer& y);

  std::size_t rows_ = 0;
  kernels::GroupExtents extents_;
  std::size_t strip_bytes_ = 0;
  std::size_t block_bytes_ = 0;
  std::unique_ptr<Buffer> weights_;
  std::unique_ptr<Buffer> scale_table_;
  std::unique_ptr<Buffer> codewords_;
  Kernel* multiply_ = nullptr;
  Kernel* multiply_many_ = nullptr;
  Kernel* multiply_experts_ = nullptr;
  Kernel* decode_ = nullptr;
};

/// Encoded rows on a device: kernels::EncodedRows, but with codes in the order of the inputs. Each
/// part is a matrix: codes [rows, padded_cols], others [rows, num_pieces].
class GroupInputs {
 public:
  /// @throws Error as Device
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

/// kernels::multiply_groups(). @param y  [rows of x, rows of w]
Launch multiply_groups(const GroupMatrix& w, const GroupInputs& x, const Buffer& y);
/// Rows of x with the experts that they choose.
struct ExpertPairs {
  std::size_t count = 0;
  std::size_t outputs = 0;  ///< of an expert: rows e outputs to (e + 1) outputs - 1 of the weights
  const Buffer& experts;    ///< int32 [count]
};
/// y[i] = the product of expert experts[i] and row i / (count / rows of x) of x.
/// @param y  [count, outputs]
Launch multiply_experts(const GroupMatrix& w, const GroupInputs& x, const ExpertPairs& pairs,
                        const Buffer& y);
/// y[i] = the decoded row ids[i] of a table. @param ids  int32 [count], within the rows
Launch decode_rows(const GroupMatrix& table, const Buffer& ids, std::size_t count, const Buffer& y);

}  // namespace halftone::gpu
