// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/data/hdf5.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/data/dense_source.h"
#include "halftone/formats/data/hdf5_handle.h"

namespace halftone::formats {
namespace {

constexpr std::size_t kMostRecords = 1'000'000;
constexpr std::size_t kMostRows = 10'000'000;
constexpr std::size_t kMostInputs = 1'000;

/// A data set of either kind: bytes in the file's element type, converted by the base class.
class Hdf5Source : public SampleSource {
 public:
  Hdf5Source(Scalar type, std::size_t sample_elements, double scale)
      : type_(type), sample_elements_(sample_elements), scale_(scale) {}

  void read_floats(std::size_t first, std::size_t count, std::span<float> dst) const override {
    to_scaled_floats(type_, read_bytes(first, count), scale_, dst);
  }
  void read_integers(std::size_t first, std::size_t count,
                     std::span<std::int64_t> dst) const override {
    to_integers(type_, read_bytes(first, count), dst);
  }

 protected:
  [[nodiscard]] std::size_t sample_bytes() const { return sample_elements_ * size_bytes(type_); }

 private:
  /// Fills dst with samples [first, first + count); the library is locked.
  virtual void fill(std::size_t first, std::size_t count, std::span<std::byte> dst) const = 0;

  [[nodiscard]] std::vector<std::byte> read_bytes(std::size_t first, std::size_t count) const {
    std::vector<std::byte> bytes(count * sample_bytes());
    const Hdf5Lock lock;
    fill(first, count, bytes);
    return bytes;
  }

  Scalar type_;
  std::size_t sample_elements_;
  double scale_;
};

/// Rows of one table [N, ...].
class TableSource : public Hdf5Source {
 public:
  TableSource(Hdf5Handle table, TableFacts facts, std::size_t sample_elements, double scale)
      : Hdf5Source(facts.type, sample_elements, scale),
        table_(std::move(table)),
        facts_(std::move(facts)) {}

 private:
  void fill(std::size_t first, std::size_t count, std::span<std::byte> dst) const override {
    read_table_rows(table_, facts_, first, count, dst);
  }

  Hdf5Handle table_;
  TableFacts facts_;
};

/// /value/<record>/<input> for one input; every record must be like the first.
class RecordSource : public Hdf5Source {
 public:
  RecordSource(std::shared_ptr<const Hdf5Handle> value, std::string input, TableFacts facts,
               std::size_t sample_elements, bool raw)
      : Hdf5Source(facts.type, sample_elements, 1),
        value_(std::move(value)),
        input_(std::move(input)),
        facts_(std::move(facts)),
        raw_(raw) {}

 private:
  void fill(std::size_t first, std::size_t count, std::span<std::byte> dst) const override {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string record = std::to_string(first + i);
      with_context("value/" + record + "/" + input_, [&] {
        const Hdf5Handle table = open_table(open_group(*value_, record), input_);
        const TableFacts found = table_facts(table, raw_);
        if (found != facts_) {
          fail(ErrorKind::kFormat,
               "expected " + describe(facts_) + " as in record 0, found " + describe(found));
        }
        read_table(table, found, dst.subspan(i * sample_bytes(), sample_bytes()));
      });
    }
  }

  static std::string describe(const TableFacts& facts) {
    return std::string(to_string(facts.type)) + " " +
           SampleShape{facts.extents, SampleLayout::kPlain}.text();
  }

  std::shared_ptr<const Hdf5Handle> value_;
  std::string input_;
  TableFacts facts_;
  bool raw_;
};

std::size_t num_links(const Hdf5Handle& group) {
  H5G_info_t info{};
  if (::H5Gget_info(group.get(), &info) < 0) {
    fail(ErrorKind::kFormat, "the HDF5 library cannot list a group");
  }
  return info.nlinks;
}

/// The number of samples a file of ONE's layout has, and its inputs.
struct Records {
  std::size_t count = 0;
  std::vector<DatasetInput> inputs;
};

Records open_records(const Hdf5Handle& file) {
  const auto value = std::make_shared<const Hdf5Handle>(open_group(file, "value"));
  const bool raw = ::H5Aexists(value->get(), "rawData") > 0;
  Records records;
  records.count = num_links(*value);
  if (records.count == 0) fail(ErrorKind::kFormat, "value: expected records, found none");
  if (records.count > kMostRecords) {
    fail(ErrorKind::kFormat,
         "value: expected at most 1000000 records, found " + std::to_string(records.count));
  }
  const Hdf5Handle first = open_group(*value, "0");
  const std::size_t num_inputs = num_links(first);
  if (num_inputs == 0 || num_inputs > kMostInputs) {
    fail(ErrorKind::kFormat,
         "value/0: expected 1 to 1000 inputs, found " + std::to_string(num_inputs));
  }
  for (std::size_t j = 0; j < num_inputs; ++j) {
    DatasetInput input;
    input.name = std::to_string(j);
    const TableFacts facts = with_context(
        "value/0/" + input.name, [&] { return table_facts(open_table(first, input.name), raw); });
    input.shape.extents = facts.extents;
    input.type = facts.type;
    input.source =
        std::make_unique<RecordSource>(value, input.name, facts, input.shape.num_elements(), raw);
    records.inputs.push_back(std::move(input));
  }
  return records;
}

std::vector<std::int64_t> read_labels(const Hdf5Handle& file) {
  const Hdf5Handle table = open_table(file, "y");
  const TableFacts facts = table_facts(table, false);
  const SampleShape shape{facts.extents, SampleLayout::kPlain};
  const bool column = facts.extents.size() == 2 && facts.extents[1] == 1;
  if (facts.extents.size() != 1 && !column) {
    fail(ErrorKind::kFormat, "expected shape [N] or [N, 1], found " + shape.text());
  }
  if (facts.extents[0] == 0 || facts.extents[0] > kMostRows) {
    fail(ErrorKind::kFormat, "expected 1 to 10000000 labels, found " + shape.text());
  }
  std::vector<std::byte> bytes(facts.extents[0] * size_bytes(facts.type));
  read_table(table, facts, bytes);
  std::vector<std::int64_t> labels(facts.extents[0]);
  to_integers(facts.type, bytes, labels);
  return labels;
}

Records open_x(const Hdf5Handle& file, double scale) {
  Hdf5Handle table = open_table(file, "x");
  TableFacts facts = table_facts(table, false);
  if (facts.extents.empty() || facts.extents[0] == 0 || facts.extents[0] > kMostRows) {
    fail(ErrorKind::kFormat, "expected 1 to 10000000 samples [N, ...], found shape " +
                                 SampleShape{facts.extents, SampleLayout::kPlain}.text());
  }
  Records records;
  records.count = facts.extents[0];
  DatasetInput input;
  input.name = "x";
  input.shape = image_shape({facts.extents.begin() + 1, facts.extents.end()});
  input.type = facts.type;
  const std::size_t elements = input.shape.num_elements();
  input.source = std::make_unique<TableSource>(std::move(table), std::move(facts), elements, scale);
  records.inputs.push_back(std::move(input));
  return records;
}

Dataset open_either(const std::string& name, const Hdf5Handle& file,
                    const DatasetOptions& options) {
  Records records;
  std::vector<std::int64_t> labels;
  with_context(name, [&] {
    if (has_child(file, "value")) {
      records = open_records(file);
    } else if (has_child(file, "x")) {
      records = with_context("x", [&] { return open_x(file, options.scale); });
      if (has_child(file, "y")) labels = with_context("y", [&] { return read_labels(file); });
    } else {
      fail(ErrorKind::kFormat, "expected a group 'value' or a data set 'x', found neither");
    }
  });
  return {name, records.count, std::move(records.inputs), std::move(labels), options.limit};
}

}  // namespace

Dataset open_hdf5(const std::filesystem::path& path, const DatasetOptions& options) {
  const Hdf5Lock lock;
  const Hdf5Handle file = open_hdf5_file(path);
  return open_either(path.string(), file, options);
}

Dataset open_hdf5_image(const std::string& name, std::span<const std::byte> image,
                        const DatasetOptions& options) {
  const Hdf5Lock lock;
  const Hdf5Handle file = with_context(name, [&] { return open_hdf5_bytes(image); });
  return open_either(name, file, options);
}

}  // namespace halftone::formats
