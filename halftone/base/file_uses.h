// SPDX-License-Identifier: Apache-2.0
// The files of a job, and the check before its work that no output overwrites an input or another
// output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace halftone {

/// What a job does with its files. Each use has the name that messages give it: "--front", "model".
/// Empty paths are no files.
class FileUses {
 public:
  /// A file that is read. Of a folder, the files that are read of it: samples, and those of a
  /// folder of Hugging Face. With an ONNX model the files with its data: MODEL.data, MODEL_data and
  /// others that begin so, and those that it names.
  void read(const std::string& name, const std::filesystem::path& path);
  /// Samples as data::open_dataset() takes them: [NAME=]FILE[,FILE].
  void read_samples(const std::string& name, const std::string& text);
  /// A file that is replaced. With an ONNX model also MODEL.data, which a large one gets.
  void write(const std::string& name, const std::filesystem::path& path);

  /// Checks that each written path is none that is read and no other that is written. Two paths are
  /// the same if they lead to one file: through links, hard or symbolic, "." and "..", and, where
  /// names do not tell case apart, in another case. A file that is not there yet counts as where it
  /// would be made.
  /// @throws Error kUsage if one is; kIo if links form a ring
  void check() const;

 private:
  struct Use {
    std::string name;
    std::filesystem::path path;
  };

  std::vector<Use> read_;
  std::vector<Use> written_;
};

/// The check of a job with a model and an output. @throws Error as FileUses::check()
void check_output_file(const std::filesystem::path& model, const std::filesystem::path& output);

}  // namespace halftone
