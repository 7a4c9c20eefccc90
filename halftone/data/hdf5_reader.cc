// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/hdf5_reader.h"

#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/data/dataset.h"

namespace halftone::data {
namespace {

constexpr std::size_t kMaxRows = 10'000'000;
constexpr std::size_t kMaxInputs = 1'000;

std::size_t num_links(const Hdf5Handle& group) {
  H5G_info_t info{};
  if (::H5Gget_info(group.get(), &info) < 0) {
    fail(ErrorKind::kFormat, "the HDF5 library cannot list a group");
  }
  return info.nlinks;
}

std::string text(const std::vector<std::size_t>& extents) {
  return SampleShape{extents, SampleLayout::kPlain}.text();
}

std::string describe(const TableFacts& facts) {
  return std::string(to_string(facts.type)) + " " + text(facts.extents);
}

}  // namespace

Hdf5Reader::Hdf5Reader(const Hdf5Handle& file, std::size_t max_records) {
  if (has_child(file, "value")) {
    open_records(file, max_records);
  } else if (has_child(file, "x")) {
    with_context("x", [&] { open_x(file); });
    if (has_child(file, "y")) with_context("y", [&] { open_y(file); });
  } else {
    fail(ErrorKind::kFormat, "expected a group 'value' or a data set 'x', found neither");
  }
}

std::vector<std::byte> Hdf5Reader::read(const Hdf5Range& range) const {
  const Hdf5Contents::Input& input = contents_.inputs.at(range.input);
  const std::size_t sample_bytes =
      SampleShape{input.extents, SampleLayout::kPlain}.num_elements() * size_bytes(input.type);
  std::vector<std::byte> result(range.count * sample_bytes);
  if (!contents_.records) {
    read_table_rows(data_, facts_.front(), range.first, range.count, result);
    return result;
  }
  for (std::size_t i = 0; i < range.count; ++i) {
    read_record(range.first + i, range.input,
                std::span(result).subspan(i * sample_bytes, sample_bytes));
  }
  return result;
}

void Hdf5Reader::open_records(const Hdf5Handle& file, std::size_t max_records) {
  data_ = open_group(file, "value");
  raw_ = ::H5Aexists(data_.get(), "rawData") > 0;
  contents_.records = true;
  contents_.num_samples = num_links(data_);
  if (contents_.num_samples == 0) fail(ErrorKind::kFormat, "value: expected records, found none");
  if (contents_.num_samples > max_records) {
    fail(ErrorKind::kFormat, "value: expected at most " + std::to_string(max_records) +
                                 " records, found " + std::to_string(contents_.num_samples));
  }
  const Hdf5Handle first = open_group(data_, "0");
  const std::size_t num_inputs = num_links(first);
  if (num_inputs == 0 || num_inputs > kMaxInputs) {
    fail(ErrorKind::kFormat,
         "value/0: expected 1 to 1000 inputs, found " + std::to_string(num_inputs));
  }
  for (std::size_t j = 0; j < num_inputs; ++j) {
    const std::string name = std::to_string(j);
    const TableFacts facts =
        with_context("value/0/" + name, [&] { return table_facts(open_table(first, name), raw_); });
    facts_.push_back(facts);
    contents_.inputs.push_back({facts.type, facts.extents});
  }
}

/// Every record must have the types and shapes of the first.
void Hdf5Reader::read_record(std::size_t record, std::size_t input,
                             std::span<std::byte> dst) const {
  const std::string group = std::to_string(record);
  const std::string name = std::to_string(input);
  with_context("value/" + group + "/" + name, [&] {
    const Hdf5Handle table = open_table(open_group(data_, group), name);
    const TableFacts found = table_facts(table, raw_);
    if (found != facts_[input]) {
      fail(ErrorKind::kFormat,
           "expected " + describe(facts_[input]) + " as in record 0, found " + describe(found));
    }
    read_table(table, found, dst);
  });
}

void Hdf5Reader::open_x(const Hdf5Handle& file) {
  data_ = open_table(file, "x");
  facts_ = {table_facts(data_, false)};
  const auto& [type, extents, raw] = facts_.front();
  if (extents.empty() || extents[0] == 0 || extents[0] > kMaxRows) {
    fail(ErrorKind::kFormat,
         "expected 1 to 10000000 samples [N, ...], found shape " + text(extents));
  }
  contents_.num_samples = extents[0];
  contents_.inputs.push_back({type, {extents.begin() + 1, extents.end()}});
}

void Hdf5Reader::open_y(const Hdf5Handle& file) {
  const Hdf5Handle table = open_table(file, "y");
  const TableFacts facts = table_facts(table, false);
  const bool column = facts.extents.size() == 2 && facts.extents[1] == 1;
  if (facts.extents.size() != 1 && !column) {
    fail(ErrorKind::kFormat, "expected shape [N] or [N, 1], found " + text(facts.extents));
  }
  const std::size_t count = facts.extents[0];
  if (count == 0 || count > kMaxRows) {
    fail(ErrorKind::kFormat, "expected 1 to 10000000 labels, found " + text(facts.extents));
  }
  std::vector<std::byte> bytes(count * size_bytes(facts.type));
  read_table(table, facts, bytes);
  contents_.labels.resize(count);
  to_integers(facts.type, bytes, contents_.labels);
}

}  // namespace halftone::data
