// SPDX-License-Identifier: Apache-2.0
// A page about a network or a language model: what its layers are, lose and take.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halftone/data.hpp"
#include "halftone/export.hpp"
#include "halftone/model.hpp"
#include "halftone/options.hpp"
#include "halftone/run.hpp"
#include "halftone/types/defaults.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// A result that the program has printed with --json, to be shown on a page.
  struct PrintedResult {
    std::string name;  ///< its heading: often that of a file
    std::string json;
  };

  /// For report().
  struct ReportOptions {
    std::optional<Model> reference{};  ///< the float network
    std::vector<Model> beside{};       ///< other networks to compare with, at most four
    std::optional<Data> data{};        ///< for accuracy, errors of layers, activations, samples
    bool measure_time = false;         ///< also of each layer, on this machine
    /// Whether readers can try the network on the page: as export_wasm(), at most 16 MB.
    bool live = false;
    std::size_t samples_per_run = 0;     ///< of kernels and times; 0: 1, or that of the network
    std::size_t worst = kWorstSamples;   ///< samples to show: those with the worst answers
    std::vector<std::string> classes{};  ///< names of the classes, from class 0; may be empty
    std::size_t batch = kRunBatch;       ///< samples per run of the evaluation
    std::vector<PrintedResult> sensitivities{};  ///< of `sensitivity`, or `quantize --budget`
    std::vector<PrintedResult> searches{};       ///< of `quantize --budget`
    std::vector<PrintedResult> trainings{};      ///< of `train` or `distill`
    Resources resources{};
    Execution execution{};
    Progress progress{};  ///< may be empty
  };

  /// Values of layers for Google's Model Explorer, which takes one measure a file.
  struct NodeData {
    std::string measure;  ///< "bits", "bytes", "sqnr", "sqnr-alone" or "us"
    std::string json;     ///< the file
  };

  /// What report() returns.
  struct Report {
    std::string html;  ///< one file that needs no other and makes no request
    std::string json;  ///< the numbers of the page, with the keys of `halftone report --json`
    std::vector<NodeData> node_data;
  };

  /// Makes the page of `halftone report`. Apart from times it depends on the networks, samples and
  /// options alone. Size and format of a network that comes from no file are those of a .circle
  /// file.
  /// @throws Error as evaluate(); kFormat if a printed result is not one of its kind; kUsage if the
  ///         network is fixed to another number of samples; with `live` as export_wasm()
  HALFTONE_CPP_API Report report(const Model& model, const ReportOptions& options = {});

  /// For language_report().
  struct LanguageReportOptions {
    std::vector<std::filesystem::path> texts{};  ///< in UTF-8, to measure the model on
    std::filesystem::path reference{};           ///< a model to compare with on them; empty: none
    std::filesystem::path tokenizer{};           ///< a file, for a model of llama2.c; else empty
    bool measure_time = false;                   ///< how fast it writes on this machine
    std::size_t context = kTextWindow;           ///< tokens of a window of a text, at least 2
    std::size_t windows = 0;                     ///< of each text, at most; 0: all
    std::vector<PrintedResult> sensitivities{};  ///< of `sensitivity` of a language model
    Resources resources{};
    Progress progress{};  ///< may be empty
  };

  /// Makes the page of `halftone report` of a language model: what it is, its matrices with their
  /// types, bits and bytes, and perplexity and divergence on texts. It has no node data.
  /// @param model  a GGUF file, a folder of Hugging Face, Halftone's own file or a *.bin file of
  ///               llama2.c
  /// @throws Error kIo, kFormat, kUnsupported, kMemory as LanguageModel::open(); kUsage for a
  ///         reference without a text, or one that has other tokens for it; kFormat if a printed
  ///         result is not one of its kind; kInterrupted
  HALFTONE_CPP_API Report language_report(const std::filesystem::path& model,
                                          const LanguageReportOptions& options = {});

}  // namespace v0
}  // namespace halftone
