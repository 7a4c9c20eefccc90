// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/file_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/formats/circle/check.h"

namespace halftone::formats {

CircleFlavor circle_flavor(std::span<const std::byte> bytes) {
  if (bytes.size() < 8) {
    fail(ErrorKind::kFormat,
         "TFLite or circle: expected at least 8 bytes, found " + std::to_string(bytes.size()));
  }
  const std::string_view identifier(reinterpret_cast<const char*>(bytes.data()) + 4, 4);
  if (identifier == "TFL3") return CircleFlavor::kTflite;
  if (identifier == "CIR0") return CircleFlavor::kCircle;
  fail(ErrorKind::kFormat, "expected the file identifier TFL3 or CIR0, found neither");
}

namespace circle {
namespace {

static_assert(std::endian::native == std::endian::little, "FlatBuffers hold little-endian numbers");

/// The alignment of the widest scalar in a FlatBuffer.
constexpr std::size_t kAlignment = 16;
/// Limit for the verifier: tables may be shared, so that a small file can refer to very many.
constexpr flatbuffers::uoffset_t kMaxTables = 1000000;
constexpr flatbuffers::uoffset_t kDeepest = 16;
constexpr std::size_t kLongestName = 1024;

std::string range_text(const char* what, std::int64_t found, std::size_t count) {
  return std::string(what) + ": expected an index below " + std::to_string(count) + ", found " +
         std::to_string(found);
}

template <typename T>
const T& element(const flatbuffers::Vector<flatbuffers::Offset<T>>* vector, std::size_t index,
                 const char* what) {
  const std::size_t count = vector == nullptr ? 0 : vector->size();
  check(index < count, range_text(what, static_cast<std::int64_t>(index), count));
  return *vector->Get(static_cast<flatbuffers::uoffset_t>(index));
}

/// Copies elements of any alignment; see elements().
std::vector<std::int64_t> copied(const flatbuffers::Vector<std::int64_t>* vector) {
  std::vector<std::int64_t> result(vector == nullptr ? 0 : vector->size());
  if (!result.empty()) {
    std::memcpy(result.data(), vector->Data(), result.size() * sizeof(std::int64_t));
  }
  return result;
}

}  // namespace

FileModel::FileModel(SharedBytes file)
    : file_(std::move(file)), bytes_(file_.bytes), flavor_(circle_flavor(bytes_)) {
  if (std::bit_cast<std::uintptr_t>(bytes_.data()) % kAlignment != 0) {
    copy_ = AlignedBuffer(bytes_.size());
    std::ranges::copy(bytes_, copy_.data());
    bytes_ = copy_.bytes();
    file_ = {};
  }
  // Only data at explicit offsets may lie beyond the range that FlatBuffers can address.
  constexpr std::size_t kMax = FLATBUFFERS_MAX_BUFFER_SIZE - 1;
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes_.data()),
                                 std::min(bytes_.size(), kMax), kDeepest, kMaxTables);
  check(verifier.VerifyBuffer<schema::Model>(nullptr),
        "damaged: the tables of the file are inconsistent");
  model_ = schema::GetModel(bytes_.data());
  set_subgraph(0);
}

FileModel::FileModel(const FileModel& whole, std::size_t index)
    : file_(whole.file_), bytes_(whole.bytes_), flavor_(whole.flavor_), model_(whole.model_) {
  set_subgraph(index);
}

void FileModel::set_subgraph(std::size_t index) {
  graph_ = &element(model_->subgraphs(), index, "subgraphs");
  check(graph_->tensors() != nullptr, "the graph has no tensors");
}

bool FileModel::is_main() const { return graph_ == model_->subgraphs()->Get(0); }

FileModel FileModel::subgraph(std::size_t index) const { return {*this, index}; }

std::size_t FileModel::num_operators() const {
  return graph_->operators() == nullptr ? 0 : graph_->operators()->size();
}

const schema::Operator& FileModel::table(std::size_t op) const {
  return element(graph_->operators(), op, "operators");
}

std::vector<std::size_t> FileModel::tensors(std::span<const std::int32_t> indices,
                                            const char* what) const {
  check(indices.size() <= kMaxOperands, std::string(what) + ": expected at most " +
                                            std::to_string(kMaxOperands) + ", found " +
                                            std::to_string(indices.size()));
  std::vector<std::size_t> result;
  for (const std::int32_t index : indices) {
    check(index >= 0 && static_cast<std::size_t>(index) < num_tensors(),
          range_text(what, index, num_tensors()));
    result.push_back(static_cast<std::size_t>(index));
  }
  return result;
}

std::vector<std::size_t> FileModel::graph_inputs() const {
  return tensors(elements(graph_->inputs()), "inputs of the graph");
}

std::vector<std::size_t> FileModel::graph_outputs() const {
  return tensors(elements(graph_->outputs()), "outputs of the graph");
}

std::vector<std::optional<std::size_t>> FileModel::inputs(std::size_t op) const {
  std::vector<std::optional<std::size_t>> result;
  const auto indices = elements(table(op).inputs());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    check(i < kMaxOperands, "inputs: expected at most " + std::to_string(kMaxOperands));
    if (indices[i] == -1) {
      result.emplace_back();
    } else {
      result.emplace_back(tensors(indices.subspan(i, 1), "inputs").front());
    }
  }
  return result;
}

std::vector<std::size_t> FileModel::outputs(std::size_t op) const {
  return tensors(elements(table(op).outputs()), "outputs");
}

const schema::OperatorCode& FileModel::code_table(std::size_t op) const {
  return element(model_->operator_codes(), table(op).opcode_index(), "operator codes");
}

OperatorCode FileModel::code(std::size_t op) const {
  const schema::OperatorCode& entry = code_table(op);
  return resolve_code(flavor_, entry.deprecated_builtin_code(), entry.builtin_code());
}

std::string FileModel::custom_name(std::size_t op) const {
  const flatbuffers::String* name = code_table(op).custom_code();
  return name == nullptr ? "" : name->str().substr(0, kLongestName);
}

const schema::Tensor& FileModel::tensor(std::size_t index) const {
  return element(graph_->tensors(), index, "tensors");
}

std::string FileModel::tensor_name(std::size_t index) const {
  const flatbuffers::String* stored = tensor(index).name();
  if (stored == nullptr || stored->size() == 0) return "tensor " + std::to_string(index);
  return printable_line({stored->c_str(), std::min<std::size_t>(stored->size(), kLongestName)});
}

ir::Shape FileModel::shape(std::size_t index) const {
  const auto extents = elements(tensor(index).shape());
  check(extents.size() <= kMaxAxes, "tensor '" + tensor_name(index) + "': expected at most " +
                                        std::to_string(kMaxAxes) + " axes, found " +
                                        std::to_string(extents.size()));
  for (const std::int32_t extent : extents) {
    check(extent >= 0, "tensor '" + tensor_name(index) +
                           "': expected extents of at least 0, found " + std::to_string(extent));
  }
  return ir::Shape(std::vector<ir::Dim>(extents.begin(), extents.end()));
}

std::vector<std::size_t> FileModel::open_axes(std::size_t index) const {
  const auto signature = elements(tensor(index).shape_signature());
  std::vector<std::size_t> axes;
  if (signature.size() != elements(tensor(index).shape()).size()) return axes;
  for (std::size_t axis = 0; axis < signature.size(); ++axis) {
    if (signature[axis] == -1) axes.push_back(axis);
  }
  return axes;
}

std::optional<std::size_t> FileModel::batch_axis(std::size_t index) const {
  const std::vector<std::size_t> axes = open_axes(index);
  const bool is_batch = axes.size() == 1 || (!axes.empty() && axes[0] == 0);
  return is_batch ? std::optional(axes[0]) : std::nullopt;
}

std::span<const std::byte> FileModel::data(std::size_t index) const {
  const schema::Buffer& buffer =
      with_context("tensor '" + tensor_name(index) + "'", [&]() -> const schema::Buffer& {
        return element(model_->buffers(), tensor(index).buffer(), "buffers");
      });
  // Offsets 0 and 1 mean that the data are in the table.
  if (buffer.offset() > 1) {
    check(buffer.offset() <= bytes_.size() && buffer.size() <= bytes_.size() - buffer.offset(),
          "tensor '" + tensor_name(index) + "': its data lie beyond the end of the file");
    return bytes_.subspan(buffer.offset(), buffer.size());
  }
  return std::as_bytes(elements(buffer.data()));
}

SharedBytes FileModel::shared_data(std::size_t index) const { return shared(data(index)); }

SharedBytes FileModel::shared_options(std::size_t op) const {
  return shared(std::as_bytes(elements(table(op).custom_options())));
}

SharedBytes FileModel::shared(std::span<const std::byte> found) const {
  if (file_.owner == nullptr || found.empty()) return {nullptr, found, 0};
  return file_.part(static_cast<std::size_t>(found.data() - bytes_.data()), found.size());
}

std::optional<ir::AffineParameters> FileModel::quantization(std::size_t index) const {
  const schema::QuantizationParameters* stored = tensor(index).quantization();
  if (stored == nullptr) return std::nullopt;
  const std::string where = "tensor '" + tensor_name(index) + "': ";
  if (stored->details_type() != 0) {
    fail(ErrorKind::kUnsupported, where + "a quantization that is not affine");
  }
  const auto scales = elements(stored->scale());
  if (scales.empty()) return std::nullopt;
  const ir::Shape extents = shape(index);
  const std::int64_t axis = stored->quantized_dimension();
  const auto fits_axis = [&] {
    return axis >= 0 && static_cast<std::size_t>(axis) < extents.rank() &&
           static_cast<std::size_t>(extents[static_cast<std::size_t>(axis)]) == scales.size();
  };
  check(scales.size() == 1 || fits_axis(), where + std::to_string(scales.size()) +
                                               " scales do not fit axis " + std::to_string(axis) +
                                               " of " + extents.to_string());
  const std::size_t num_zero_points = stored->zero_point() ? stored->zero_point()->size() : 0;
  check(num_zero_points == 0 || num_zero_points == scales.size(),
        where + "expected a zero point for each of " + std::to_string(scales.size()) +
            " scales, found " + std::to_string(num_zero_points));
  const std::vector<std::int64_t> zero_points = copied(stored->zero_point());
  for (const float scale : scales) {
    check(std::isfinite(scale) && scale > 0,
          where + "scale: expected a positive number, found " + number_text(scale));
  }
  ir::AffineParameters parameters;
  parameters.scales.assign(scales.begin(), scales.end());
  parameters.zero_points.assign(scales.size(), 0);
  for (std::size_t i = 0; i < zero_points.size(); ++i) {
    check(zero_points[i] >= std::numeric_limits<std::int32_t>::min() &&
              zero_points[i] <= std::numeric_limits<std::int32_t>::max(),
          where + "zero point: expected 32 bits, found " + std::to_string(zero_points[i]));
    parameters.zero_points[i] = static_cast<std::int32_t>(zero_points[i]);
  }
  if (scales.size() > 1) parameters.axis = static_cast<std::size_t>(axis);
  return parameters;
}

}  // namespace circle
}  // namespace halftone::formats
